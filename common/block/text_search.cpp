#include "common/block/text_search.h"

#include <algorithm>
#include <string>
#include <vector>

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

  // May a line contain the literal that is made of these templates (0: none, else 1 + index)?
  // True when too much was looked at already.
  bool may_contain(std::uint64_t prefix, std::uint64_t head, std::uint64_t body) {
    if (exhausted_) return true;
    ByteSet bytes;
    std::string text;
    for (const std::uint64_t part : {prefix, head, body}) {
      if (part == 0) continue;
      const Searched& searched = templates_[static_cast<std::size_t>(part - 1)];
      bytes |= searched.bytes;
      exhausted_ = exhausted_ || !left_.take(searched.text.size());
      if (exhausted_) return true;
      text += searched.text;
    }
    // A slot in between is a byte of no literal.
    const std::string_view run = longest_run(literal_, bytes);
    return run.empty() || text.find(run) != std::string::npos;
  }

 private:
  const ColumnMap& columns_;
  const BlockHeader& header_;
  std::string_view literal_;
  std::vector<Searched> templates_;
  Budget left_{kMostBytes};
  bool exhausted_ = false;
};

// Of each row, what its text is made of.
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

  struct Parts {
    bool plain = false;  // some of it is
    std::uint64_t prefix = 0, head = 0, body = 0;
  };
  Parts next() {
    Parts out;
    const std::uint64_t index = template_.next_below(bodies_.size());
    const auto mode = static_cast<BodyMode>(mode_.next_below(3));
    if (mode == BodyMode::whole) {
      out.plain = true;
      return out;
    }
    out.prefix = prefix_.next_below(limit_);
    out.head = head_.next_below(limit_);
    // Without a template a part is plain, and mostly empty.
    if (out.prefix == 0 && prefix_length_.next() > 0) out.plain = true;
    if (out.head == 0 && head_length_.next() > 0) out.plain = true;
    if (mode == BodyMode::plain) out.plain = true;
    if (out.plain || !ok()) return out;
    out.body = bodies_[static_cast<std::size_t>(index)];
    out.plain = out.body == 0;
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

Result<std::optional<RowSet>> rows_with_text(const ColumnMap& text, const ColumnMap& facts,
                                             const BlockHeader& header,
                                             const TemplateLookup& lookup,
                                             std::string_view literal) {
  const std::size_t templates = header.stored_templates.size() + 1;
  const bool shown_otherwise = literal.find("\xEF\xBF\xBD") != std::string_view::npos ||
                               literal.find(kSlot) != std::string_view::npos;
  if (literal.empty() || shown_otherwise || templates * templates > kMostPairs) {
    return std::optional<RowSet>();
  }
  TextSearch search(text, header, literal);
  LGR_CHECK(search.open(lookup));
  Composition rows(text, facts, header);
  // By header and body: 0 not asked yet, 1 no, 2 may. Prefixes are few: the last one is remembered.
  std::vector<std::uint8_t> known(templates * templates);
  std::uint64_t prefix = 0;
  std::size_t changes = 0;
  RowSet out;
  for (std::uint32_t row = 0; row < header.lines; ++row) {
    const Composition::Parts parts = rows.next();
    if (!rows.ok()) return Error(ErrorCode::corrupt, "block text: parts");
    if (!parts.plain) {
      if (parts.prefix != prefix) {
        if (++changes > kMostChanges) return std::optional<RowSet>();
        prefix = parts.prefix;
        std::fill(known.begin(), known.end(), std::uint8_t{0});
      }
      std::uint8_t& may = known[static_cast<std::size_t>(parts.head * templates + parts.body)];
      if (may == 0) may = search.may_contain(parts.prefix, parts.head, parts.body) ? 2 : 1;
      if (may == 1) continue;
    }
    out.add(row, row + 1);
  }
  return std::optional<RowSet>(std::move(out));
}

}  // namespace logarithm::block
