#include "common/block/text_search.h"

#include <algorithm>
#include <string>
#include <vector>

#include "common/base/utf8.h"
#include "common/block/bytes_column.h"
#include "common/block/facts_section.h"
#include "common/block/text_section.h"
#include "common/line/template.h"

namespace logarithm::block {
namespace {

// More pairs of a header and a body than this are not worth telling apart.
constexpr std::size_t kMostPairs = 1u << 16;
// Of templates' texts together: whoever says more at length is not searched for free.
constexpr std::size_t kMostBytes = 4u << 20;
// After so many changes of the prefix from one line to the next neither are prefixes.
constexpr std::size_t kMostChanges = 64;

// The longest run of bytes of `literal` that are not in `bytes`; empty when each of them is.
std::string_view longest_run(std::string_view literal, const ByteSet& bytes) {
  std::string_view best;
  for (std::size_t at = 0; at < literal.size();) {
    std::size_t end = at;
    while (end < literal.size() && !bytes.test(static_cast<unsigned char>(literal[end]))) ++end;
    if (end - at > best.size()) best = literal.substr(at, end - at);
    at = std::max(end, at + 1);
  }
  return best;
}

// A stored template: what it says, and the bytes that its variables hold.
struct Searched {
  std::string_view text;
  ByteSet bytes;
};

// Where a line may contain a literal; `in_body`: nowhere else.
enum class May : std::uint8_t { unknown, no, in_body, anywhere };

class TextSearch {
 public:
  TextSearch(const ColumnMap& columns, const BlockHeader& header, std::string_view literal)
      : columns_(columns), header_(header), literal_(literal) {}

  Status open(const TemplateLookup& lookup) {
    for (std::size_t i = 0; i < header_.stored_templates.size(); ++i) {
      const auto text = lookup(header_.stored_templates[i]);
      if (!text) return Error(ErrorCode::not_found, "block text: a template is unknown");
      Searched& searched = templates_.emplace_back();
      searched.text = *text;
      ByteReader column = columns_.reader(kFirstVariables + i);
      const auto slots = std::count(text->begin(), text->end(), kSlot);
      for (std::ptrdiff_t slot = 0; slot < slots; ++slot) {
        add_bytes_of_column(column.sized(), searched.bytes);
      }
      if (!column.ok()) return Error(ErrorCode::corrupt, "block text: variables");
    }
    return {};
  }

  // May a line contain the literal that is made of these templates (0: none, else 1 + index)? Yes
  // when too much was looked at already.
  May may_contain(std::uint64_t prefix, std::uint64_t head, std::uint64_t body) {
    if (exhausted_) return May::anywhere;
    ByteSet bytes;
    std::string text;
    std::size_t body_begin = 0;
    for (const std::uint64_t part : {prefix, head, body}) {
      body_begin = text.size();
      if (part == 0) continue;
      const Searched& searched = templates_[static_cast<std::size_t>(part - 1)];
      bytes |= searched.bytes;
      exhausted_ = exhausted_ || !left_.take(searched.text.size());
      if (exhausted_) return May::anywhere;
      text += searched.text;
    }
    // A slot in between is a byte of no literal.
    const std::string_view run = longest_run(literal_, bytes);
    if (run.empty()) return May::anywhere;
    const std::size_t at = text.find(run);
    if (at == std::string::npos) return May::no;
    // A variable has a byte at least: what lies before the run begins no further back than here.
    const auto before = static_cast<std::size_t>(run.data() - literal_.data());
    return at >= body_begin + before ? May::in_body : May::anywhere;
  }

 private:
  const ColumnMap& columns_;
  const BlockHeader& header_;
  std::string_view literal_;
  std::vector<Searched> templates_;
  Budget left_{kMostBytes};
  bool exhausted_ = false;
};

// Of the rows, one after another, what their texts are made of.
class Composition {
 public:
  Composition(const ColumnMap& columns, const ColumnMap& facts, const BlockHeader& header)
      : template_(template_column(facts)),
        mode_(columns.ints(kBodyMode)),
        prefix_(columns.ints(kPrefixRef)),
        head_(columns.ints(kHeaderRef)),
        prefix_length_(columns.ints(kPrefixLength)),
        head_length_(columns.ints(kHeaderLength)),
        limit_(header.stored_templates.size() + 1) {
    for (const TemplateId id : header.body_templates) {
      const auto& stored = header.stored_templates;
      const auto at = std::lower_bound(stored.begin(), stored.end(), id);
      const bool known = at != stored.end() && *at == id;
      bodies_.push_back(known ? static_cast<std::uint64_t>(at - stored.begin()) + 1 : 0);
    }
  }

  // Rows that have the mode and the prefix in common.
  struct Run {
    std::uint32_t rows = 1;
    BodyMode mode = BodyMode::plain;
    bool plain = false;  // the prefix or the body is
    std::uint64_t prefix = 0;
  };
  // At most `most` rows, one at least.
  Run next_run(std::uint32_t most) {
    Run run;
    std::uint64_t same = mode_.same_ahead();
    run.mode = static_cast<BodyMode>(mode_.next_below(3));
    // Lines that are stored whole have no prefix.
    const bool whole = run.mode == BodyMode::whole;
    bool length = false;
    if (!whole) {
      same = std::min(same, prefix_.same_ahead());
      run.prefix = prefix_.next_below(limit_);
      length = run.prefix == 0;
    }
    // Without a template a part is plain, and mostly empty.
    if (length) {
      same = std::min(same, prefix_length_.same_ahead());
      run.plain = prefix_length_.next() > 0;
    }
    run.plain = run.plain || run.mode != BodyMode::templated;
    run.rows = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(same, 1, std::max<std::uint32_t>(most, 1)));
    mode_.skip(run.rows - 1);
    if (!whole) prefix_.skip(run.rows - 1);
    if (length) prefix_length_.skip(run.rows - 1);
    return run;
  }

  struct Parts {
    bool plain = false;  // some of it is
    std::uint64_t head = 0, body = 0;
  };
  // Of the next row of a run. What is read past a damage counts for nothing: see ok().
  Parts next(const Run& run) {
    Parts out;
    out.plain = run.plain;
    const std::uint64_t index = template_.next_below(bodies_.size());
    if (run.mode == BodyMode::whole) return out;
    out.head = head_.next_below(limit_);
    if (out.head == 0 && head_length_.next() > 0) out.plain = true;
    if (index < bodies_.size()) out.body = bodies_[static_cast<std::size_t>(index)];
    out.plain = out.plain || out.body == 0;
    return out;
  }
  bool ok() const {
    return template_.ok() && mode_.ok() && prefix_.ok() && head_.ok() && prefix_length_.ok() &&
           head_length_.ok();
  }

 private:
  IntCursor template_, mode_, prefix_, head_, prefix_length_, head_length_;
  std::uint64_t limit_;
  std::vector<std::uint64_t> bodies_;  // by index of the body template
};

}  // namespace

Result<std::optional<TextRows>> rows_with_text(const ColumnMap& text, const ColumnMap& facts,
                                               const BlockHeader& header,
                                               const TemplateLookup& lookup,
                                               std::string_view literal) {
  const std::size_t templates = header.stored_templates.size() + 1;
  // What is ill-formed is shown as U+FFFD: these bytes, or a part of them, may lie in any such
  // line.
  const bool shown_otherwise = literal.find("\xEF\xBF\xBD") != std::string_view::npos ||
                               literal.find(kSlot) != std::string_view::npos ||
                               !valid_utf8(literal);
  if (literal.empty() || shown_otherwise || templates * templates > kMostPairs) {
    return std::optional<TextRows>();
  }
  TextSearch search(text, header, literal);
  LGR_CHECK(search.open(lookup));
  Composition rows(text, facts, header);
  // By header and body. Prefixes are few: the last one is remembered.
  std::vector<May> known(templates * templates, May::unknown);
  std::uint64_t prefix = 0;
  std::size_t changes = 0;
  RowSet found;
  TextMatch match;
  match.literal = literal;
  match.in_body = true;
  for (std::uint32_t row = 0; row < header.lines;) {
    const Composition::Run run = rows.next_run(header.lines - row);
    if (!rows.ok()) return Error(ErrorCode::corrupt, "block text: parts");
    if (!run.plain && run.prefix != prefix) {
      if (++changes > kMostChanges) return std::optional<TextRows>();
      prefix = run.prefix;
      std::fill(known.begin(), known.end(), May::unknown);
    }
    for (const std::uint32_t end = row + run.rows; row < end; ++row) {
      const Composition::Parts parts = rows.next(run);
      if (!parts.plain) {
        May& may = known[static_cast<std::size_t>(parts.head * templates + parts.body)];
        if (may == May::unknown) may = search.may_contain(prefix, parts.head, parts.body);
        if (may == May::no) continue;
        match.in_body = match.in_body && may == May::in_body;
      }
      found.add(row, row + 1);
    }
  }
  if (!rows.ok()) return Error(ErrorCode::corrupt, "block text: parts");
  match.raw_is_text =
      (header.flags_any & line_flag::ansi) == 0 && !has_transports(facts) && valid_utf8(literal);
  TextRows out;
  out.exact = match.raw_is_text;
  if (found.count() > 0) {
    LGR_TRY(out.rows, rows_containing(text, facts, header, lookup, found, match));
  }
  return std::optional<TextRows>(std::move(out));
}

}  // namespace logarithm::block
