#include "aggregator/query/logql_parser.h"

#include <algorithm>
#include <array>
#include <utility>

#include "aggregator/query/logql_lexer.h"

namespace logarithm::aggregator {
namespace {

constexpr std::array<std::string_view, 13> kOtherStages = {
    "json",   "logfmt",     "regexp", "pattern", "unpack",   "line_format", "label_format",
    "unwrap", "decolorize", "drop",   "keep",    "distinct", "limit"};

class Parser {
 public:
  Parser(std::vector<Token> tokens, std::size_t& position)
      : tokens_(std::move(tokens)), error_position_(position) {}

  Result<Predicate> run() {
    std::vector<Predicate> parts;
    if (here().kind == TokenKind::open_brace) {
      LGR_CHECK(selector(parts));
    } else if (here().kind == TokenKind::identifier && looks_like_metric_query()) {
      return fail("metric queries are not supported yet: " + here().text);
    }
    while (here().kind != TokenKind::end) {
      LGR_TRY(Predicate stage, pipeline_stage());
      parts.push_back(std::move(stage));
    }
    return predicate::all_of(std::move(parts));
  }

 private:
  const Token& here() const { return tokens_[at_]; }
  const Token& after() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  void advance() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }

  Error fail(std::string message) { return fail_at(here().position, std::move(message)); }
  Error fail_at(std::size_t position, std::string message) {
    error_position_ = position;
    return Error(ErrorCode::invalid, std::move(message));
  }

  bool looks_like_metric_query() const {
    return after().kind == TokenKind::open_paren || after().text == "by" ||
           after().text == "without";
  }

  Status selector(std::vector<Predicate>& parts) {
    advance();
    while (here().kind != TokenKind::close_brace) {
      if (here().kind != TokenKind::identifier) {
        return fail("expected a field name or } in the selector");
      }
      FieldRef field = field_named(here().text);
      advance();
      const Token op = here();
      advance();
      const bool known = op.kind == TokenKind::assign || op.kind == TokenKind::not_equal ||
                         op.kind == TokenKind::match || op.kind == TokenKind::not_match;
      if (!known) {
        return fail_at(op.position, "expected =, !=, =~ or !~ after a field in the selector");
      }
      if (here().kind != TokenKind::string) {
        return fail("a selector's value is quoted: {rank=\"2\"}");
      }
      LGR_TRY(Predicate matcher, string_compare(std::move(field), op.kind));
      parts.push_back(std::move(matcher));
      if (here().kind == TokenKind::comma) {
        advance();
      } else if (here().kind != TokenKind::close_brace) {
        return fail("expected , or } in the selector");
      }
    }
    advance();
    return {};
  }

  Result<Predicate> pipeline_stage() {
    switch (here().kind) {
      case TokenKind::line_contains:
      case TokenKind::line_match:
      case TokenKind::not_equal:
      case TokenKind::not_match: return line_filter();
      case TokenKind::pipe: advance(); return label_filter();
      default: return fail("expected a line filter (|= != |~ !~) or | and a label filter");
    }
  }

  Result<Predicate> line_filter() {
    const TokenKind op = here().kind;
    const bool negative = op == TokenKind::not_equal || op == TokenKind::not_match;
    const bool regex = op == TokenKind::line_match || op == TokenKind::not_match;
    advance();
    std::vector<Predicate> choices;
    while (true) {
      if (here().kind != TokenKind::string) return fail("expected a quoted text in a line filter");
      if (regex) {
        LGR_TRY(Regex compiled, compile());
        choices.push_back(
            predicate::regex_search(FieldRef{Field::text, "text"}, std::move(compiled)));
      } else {
        choices.push_back(predicate::contains(here().text));
      }
      advance();
      if (here().kind != TokenKind::identifier || here().text != "or") break;
      advance();
    }
    Predicate out = predicate::any_of(std::move(choices));
    return negative ? predicate::negation(std::move(out)) : std::move(out);
  }

  Result<Predicate> label_filter() {
    if (here().kind == TokenKind::identifier && after().kind != TokenKind::assign &&
        std::find(kOtherStages.begin(), kOtherStages.end(), here().text) != kOtherStages.end() &&
        !is_compare(after().kind)) {
      return fail("the stage \"" + here().text + "\" is not supported yet");
    }
    return disjunction(0);
  }

  static bool is_compare(TokenKind kind) {
    switch (kind) {
      case TokenKind::assign:
      case TokenKind::equal:
      case TokenKind::not_equal:
      case TokenKind::match:
      case TokenKind::not_match:
      case TokenKind::less:
      case TokenKind::less_equal:
      case TokenKind::greater:
      case TokenKind::greater_equal: return true;
      default: return false;
    }
  }

  bool take_word(std::string_view word) {
    if (here().kind != TokenKind::identifier || here().text != word) return false;
    advance();
    return true;
  }

  Result<Predicate> disjunction(std::size_t depth) {
    std::vector<Predicate> choices;
    do {
      LGR_TRY(Predicate part, conjunction(depth));
      choices.push_back(std::move(part));
    } while (take_word("or"));
    return predicate::any_of(std::move(choices));
  }

  Result<Predicate> conjunction(std::size_t depth) {
    std::vector<Predicate> parts;
    while (true) {
      LGR_TRY(Predicate part, comparison(depth));
      parts.push_back(std::move(part));
      if (here().kind == TokenKind::comma) {
        advance();
      } else if (!take_word("and")) {
        break;
      }
    }
    return predicate::all_of(std::move(parts));
  }

  Result<Predicate> comparison(std::size_t depth) {
    if (depth >= kMaxQueryDepth) return fail("the query is nested too deeply");
    if (here().kind == TokenKind::open_paren) {
      advance();
      LGR_TRY(Predicate inner, disjunction(depth + 1));
      if (here().kind != TokenKind::close_paren) return fail("expected )");
      advance();
      return inner;
    }
    if (here().kind != TokenKind::identifier) return fail("expected a field name");
    FieldRef field = field_named(here().text);
    const std::string name = here().text;
    advance();
    const Token op = here();
    if (!is_compare(op.kind)) return fail("expected a comparison after the field " + name);
    advance();
    if (here().kind == TokenKind::string) {
      const bool textual = op.kind != TokenKind::less && op.kind != TokenKind::less_equal &&
                           op.kind != TokenKind::greater && op.kind != TokenKind::greater_equal;
      if (!textual) return fail("< and > compare with numbers, without quotes");
      return string_compare(std::move(field), op.kind);
    }
    if (here().kind != TokenKind::number) {
      return fail("expected a number or a quoted text to compare " + name + " with");
    }
    return number_compare(std::move(field), op);
  }

  Result<Predicate> number_compare(FieldRef field, const Token& op) {
    Compare compare = Compare::eq;
    switch (op.kind) {
      case TokenKind::assign:
      case TokenKind::equal: compare = Compare::eq; break;
      case TokenKind::not_equal: compare = Compare::ne; break;
      case TokenKind::less: compare = Compare::lt; break;
      case TokenKind::less_equal: compare = Compare::le; break;
      case TokenKind::greater: compare = Compare::gt; break;
      case TokenKind::greater_equal: compare = Compare::ge; break;
      default: return fail_at(op.position, "=~ and !~ need a quoted regular expression");
    }
    Number number = here().number;
    advance();
    return predicate::number(std::move(field), compare, number);
  }

  // The value is here(); `op` is one of = == != =~ !~.
  Result<Predicate> string_compare(FieldRef field, TokenKind op) {
    const bool negative = op == TokenKind::not_equal || op == TokenKind::not_match;
    Predicate out;
    if (op == TokenKind::match || op == TokenKind::not_match) {
      LGR_TRY(Regex compiled, compile());
      out = predicate::regex_full(std::move(field), std::move(compiled));
    } else {
      out = predicate::string_equal(std::move(field), here().text);
    }
    advance();
    return negative ? predicate::negation(std::move(out)) : std::move(out);
  }

  // The pattern is here().
  Result<Regex> compile() {
    auto compiled = Regex::compile(here().text, RegexMode::utf8);
    if (!compiled.ok()) return fail("regular expression: " + compiled.error().message());
    return std::move(compiled).value();
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::size_t& error_position_;
};

}  // namespace

Result<Predicate> parse_logql(std::string_view query, std::size_t& position) {
  LGR_TRY(std::vector<Token> tokens, lex_logql(query, position));
  return Parser(std::move(tokens), position).run();
}

}  // namespace logarithm::aggregator
