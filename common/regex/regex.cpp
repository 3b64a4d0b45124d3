#include "common/regex/regex.h"

#include <re2/re2.h>

#include <algorithm>
#include <set>

#include "common/regex/backtracker.h"
#include "common/regex/required_literals.h"

namespace logarithm {

struct Regex::Impl {
  Impl(std::string_view text, const re2::RE2::Options& options)
      : pattern(text), re(re2::StringPiece(pattern.data(), pattern.size()), options) {}
  std::string pattern;
  re2::RE2 re;
  std::vector<std::string> names;
  std::vector<std::string> literals, any;
  std::unique_ptr<const Backtracker> fast;  // rules: tried first
};

namespace {

constexpr std::int64_t kRuleMemory = 2 << 20;  // per rule: an agent holds a few hundred of them
constexpr std::int64_t kQueryMemory = 8 << 20;

re2::StringPiece piece(std::string_view text) {
  // RE2 marks a group that took no part with a null pointer, so the text must not have one.
  return text.data() == nullptr ? re2::StringPiece("", 0)
                                : re2::StringPiece(text.data(), text.size());
}

std::vector<std::int32_t>& places() {
  thread_local std::vector<std::int32_t> scratch;
  return scratch;
}

Error compile_error(const re2::RE2& re, std::string_view pattern,
                    std::optional<std::size_t>* position) {
  std::string message = re.error();
  const std::size_t at =
      re.error_arg().empty() ? std::string_view::npos : pattern.find(std::string(re.error_arg()));
  if (at != std::string_view::npos && position != nullptr) *position = at;
  if (at != std::string_view::npos) message += " (at character " + std::to_string(at + 1) + ")";
  return Error(ErrorCode::invalid, message);
}

}  // namespace

Result<Regex> Regex::compile(std::string_view pattern, RegexMode mode, bool fold_case,
                             std::optional<std::size_t>* position) {
  if (pattern.size() > kMaxPattern) {
    return Error(ErrorCode::too_large, "a pattern has at most " + std::to_string(kMaxPattern) +
                                           " bytes, this one " + std::to_string(pattern.size()));
  }
  const bool utf8 = mode == RegexMode::utf8;
  const auto foreign = std::find_if(pattern.begin(), pattern.end(), [](char c) { return c < 0; });
  if (!utf8 && foreign != pattern.end()) {
    return Error(ErrorCode::invalid,
                 "non-ASCII character (at character " +
                     std::to_string(foreign - pattern.begin() + 1) +
                     "): this pattern works on bytes; write '.' or an \\xHH byte instead");
  }
  re2::RE2::Options options;
  options.set_encoding(utf8 ? re2::RE2::Options::EncodingUTF8 : re2::RE2::Options::EncodingLatin1);
  options.set_case_sensitive(!fold_case);
  options.set_log_errors(false);
  options.set_max_mem(utf8 ? kQueryMemory : kRuleMemory);
  auto impl = std::make_shared<Impl>(pattern, options);
  if (!impl->re.ok()) return compile_error(impl->re, pattern, position);

  impl->names.resize(static_cast<std::size_t>(impl->re.NumberOfCapturingGroups()) + 1);
  std::set<std::string> seen;
  for (const auto& [index, name] : impl->re.CapturingGroupNames()) {
    if (!seen.insert(name).second) {
      return Error(ErrorCode::invalid,
                   "group name '" + name + "' is used twice; give each its own");
    }
    impl->names[static_cast<std::size_t>(index)] = name;
  }
  impl->literals = required_literals_of(pattern, utf8, fold_case);
  impl->any = required_any_of(pattern, utf8, fold_case);
  if (!utf8) impl->fast = Backtracker::compile(pattern, fold_case, impl->names.size());
  return Regex(std::move(impl));
}

bool Regex::search(std::string_view text) const {
  if (impl_->fast) {
    const auto outcome = impl_->fast->search(text, 0, places());
    if (outcome != Backtracker::Outcome::gave_up) return outcome == Backtracker::Outcome::match;
  }
  return impl_->re.Match(piece(text), 0, text.size(), re2::RE2::UNANCHORED, nullptr, 0);
}

bool Regex::search(std::string_view text, Groups& groups) const {
  return search_from(text, 0, groups);
}

bool Regex::search_from(std::string_view text, std::size_t from, Groups& groups) const {
  return search_from(text, from, groups, static_cast<DigitWatch*>(nullptr));
}
bool Regex::search_from(std::string_view text, std::size_t from, Groups& groups,
                        DigitWatch& watch) const {
  return search_from(text, from, groups, &watch);
}

bool Regex::search_from(std::string_view text, std::size_t from, Groups& groups,
                        DigitWatch* watch) const {
  if (from > text.size()) return false;
  if (impl_->fast) {
    auto& found = places();
    const auto outcome = watch == nullptr ? impl_->fast->search(text, from, found)
                                          : impl_->fast->search(text, from, found, *watch);
    if (outcome == Backtracker::Outcome::no_match) return false;
    if (outcome == Backtracker::Outcome::match) {
      groups.resize(impl_->names.size());
      for (std::size_t i = 0; i < groups.size(); ++i) {
        const std::int32_t begin = found[2 * i], end = found[2 * i + 1];
        if (begin < 0 || end < 0) {
          groups[i].reset();
        } else {
          groups[i] =
              text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
        }
      }
      return true;
    }
  }
  if (watch != nullptr) watch->note_all();
  constexpr std::size_t kInline = 16;
  const std::size_t count = impl_->names.size();
  re2::StringPiece fixed[kInline];
  std::vector<re2::StringPiece> many;
  re2::StringPiece* found = fixed;
  if (count > kInline) {
    many.resize(count);
    found = many.data();
  }
  if (!impl_->re.Match(piece(text), from, text.size(), re2::RE2::UNANCHORED, found,
                       static_cast<int>(count))) {
    return false;
  }
  groups.assign(count, std::nullopt);
  for (std::size_t i = 0; i < count; ++i) {
    if (found[i].data() != nullptr) groups[i] = std::string_view(found[i].data(), found[i].size());
  }
  return true;
}

bool Regex::full_match(std::string_view text) const {
  return impl_->re.Match(piece(text), 0, text.size(), re2::RE2::ANCHOR_BOTH, nullptr, 0);
}

const std::vector<std::string>& Regex::group_names() const { return impl_->names; }
const std::string& Regex::pattern() const { return impl_->pattern; }
std::vector<std::string> Regex::required_literals() const { return impl_->literals; }
bool Regex::may_match_shape(std::string_view shape, char hole, Fill fill) const {
  if (!impl_->fast) return true;
  ByteSet bytes;
  if (fill == Fill::anything) {
    bytes.flip();
  } else {
    bytes.add_range('0', '9');
    bytes.add_range('a', 'f');
    bytes.add_range('A', 'F');
    for (const char c : std::string_view("xXnNiItTyY.+-\0\x01\x02", 15)) {
      bytes.add(static_cast<unsigned char>(c));
    }
  }
  return impl_->fast->may_match(shape, hole, bytes);
}

bool Regex::is_fast() const { return impl_->fast != nullptr; }
const std::vector<std::string>& Regex::required_any() const { return impl_->any; }

}  // namespace logarithm
