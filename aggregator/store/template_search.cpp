#include "aggregator/store/template_search.h"

#include <algorithm>
#include <string>

namespace logarithm::aggregator {
namespace {

char fold(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

// The longest run of printable ASCII. Only there the tokenizer sees the same characters in the
// literal as in a template, whatever bytes (invalid UTF-8, NUL, slots) are beside them.
std::string_view longest_ascii(std::string_view literal) {
  std::string_view best;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= literal.size(); ++i) {
    const bool ascii = i < literal.size() && literal[i] >= 0x20 && literal[i] <= 0x7e;
    if (ascii) continue;
    if (i - begin > best.size()) best = literal.substr(begin, i - begin);
    begin = i + 1;
  }
  return best;
}

// An FTS5 string: nothing in it is syntax.
std::string quoted(std::string_view words) {
  std::string out = "\"";
  for (char c : words) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

}  // namespace

bool contains_folded(std::string_view text, std::string_view literal) {
  return std::search(text.begin(), text.end(), literal.begin(), literal.end(),
                     [](char a, char b) { return fold(a) == fold(b); }) != text.end() ||
         literal.empty();
}

Result<std::set<TemplateId>> search_templates(BlockingToken& token, Database& reader,
                                              std::string_view literal, bool fold_case) {
  const std::string_view words = longest_ascii(literal);
  const bool indexed = words.size() >= 3;
  LGR_TRY(Statement rows,
          reader.prepare(indexed ? "SELECT t.id, t.text FROM template_index i JOIN templates t ON "
                                   "t.seq=i.rowid WHERE i.template_index MATCH ?"
                                 : "SELECT id, text FROM templates WHERE kind=0"));
  const std::string query = quoted(words);
  if (indexed) rows.bind_all(query);
  std::set<TemplateId> found;
  for (;;) {
    LGR_TRY(bool more, rows.step(token));
    if (!more) return found;
    const std::string_view text = rows.bytes(1);
    const bool contains =
        fold_case ? contains_folded(text, literal) : text.find(literal) != std::string_view::npos;
    if (contains) found.insert(rows.u64(0));
  }
}

}  // namespace logarithm::aggregator
