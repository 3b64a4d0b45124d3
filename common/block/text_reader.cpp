#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "common/block/bytes_column.h"
#include "common/block/facts_section.h"
#include "common/block/text_section.h"
#include "common/line/template.h"

namespace logarithm::block {
namespace {

constexpr std::uint64_t kU32 = std::uint64_t{1} << 32;

Error corrupt(const char* what) {
  return Error(ErrorCode::corrupt, std::string("block text: ") + what);
}

Error unknown_template(TemplateId id) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), id, 16).ptr;
  return Error(ErrorCode::not_found, "template " + std::string(digits.data(), end));
}

// A stored template taken apart, with its variables.
struct OpenTemplate {
  std::vector<std::string_view> literals;  // one more than slots
  std::vector<BytesCursor> slots;
  std::uint64_t skipped = 0;  // uses that the slots are behind by
};

class TextReader {
 public:
  TextReader(const ColumnMap& columns, const ColumnMap& facts, const BlockHeader& header)
      : header_(header),
        columns_(columns),
        time_(time_column(facts)),
        template_(template_column(facts)),
        body_mode_(columns.ints(kBodyMode)),
        prefix_ref_(columns.ints(kPrefixRef)),
        header_ref_(columns.ints(kHeaderRef)),
        text_begin_(columns.ints(kTextBegin)),
        prefix_length_(columns.ints(kPrefixLength)),
        header_length_(columns.ints(kHeaderLength)),
        body_length_(columns.ints(kBodyLength)),
        whole_header_(columns.ints(kWholeHeader)),
        whole_body_(columns.ints(kWholeBody)),
        plain_(columns.reader(kPlainBytes)),
        raw_left_(static_cast<std::size_t>(header.raw_bytes)) {}

  Status open(const TemplateLookup& lookup, ItemBudget& budget);
  // `whole`: whether it is stored uncut.
  bool read(Line& line, bool& whole);
  // Of a line that is made of templates the body alone (as if text began there); else all of it.
  bool read_body(Line& line, bool& whole);
  // Past lines that nobody wants.
  bool skip(std::uint32_t count);

 private:
  bool read_templated(std::uint64_t stored, std::string& out);
  bool read_plain(IntCursor& lengths, std::string& out);
  bool read_bytes(std::uint64_t length, std::string& out);
  // A prefix or header: of a stored template (1 + index), or so many plain bytes.
  struct Piece {
    std::uint64_t stored = 0, length = 0;
  };
  static Piece next_piece(IntCursor& refs, IntCursor& lengths);
  bool read_piece(const Piece& piece, std::string& out);
  bool skip_piece(const Piece& piece);
  bool read_whole(Line& line);
  bool cursors_ok() const;

  const BlockHeader& header_;
  const ColumnMap& columns_;
  IntCursor time_, template_;
  IntCursor body_mode_, prefix_ref_, header_ref_, text_begin_;
  IntCursor prefix_length_, header_length_, body_length_, whole_header_, whole_body_;
  ByteReader plain_;
  Budget raw_left_;
  std::vector<OpenTemplate> templates_;
  std::vector<std::optional<std::size_t>> bodies_;  // by index: which template, if it is stored
  std::int64_t line_time_ = 0;
};

std::vector<std::string_view> split_literals(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t begin = 0;;) {
    const std::size_t slot = text.find(kSlot, begin);
    out.push_back(text.substr(begin, slot - begin));
    if (slot == std::string_view::npos) return out;
    begin = slot + 1;
  }
}

Status TextReader::open(const TemplateLookup& lookup, ItemBudget& budget) {
  Budget slots_left(kMaxSlotColumns);
  templates_.reserve(header_.stored_templates.size());
  for (std::size_t i = 0; i < header_.stored_templates.size(); ++i) {
    const auto text = lookup(header_.stored_templates[i]);
    if (!text) return unknown_template(header_.stored_templates[i]);
    const auto slots = static_cast<std::size_t>(std::count(text->begin(), text->end(), kSlot));
    if (!slots_left.take(slots)) return corrupt("too many slots");
    OpenTemplate& open = templates_.emplace_back();
    open.literals = split_literals(*text);
    open.slots.reserve(slots);
    ByteReader column = columns_.reader(kFirstVariables + i);
    for (std::size_t slot = 0; slot < slots; ++slot) {
      open.slots.emplace_back(column.sized(), budget.dictionary);
      if (!open.slots.back().ok()) return corrupt("variables");
    }
    if (!column.ok() || !column.at_end()) return corrupt("slots do not fit the template");
  }
  const auto& stored = header_.stored_templates;
  for (const TemplateId id : header_.body_templates) {
    const auto at = std::lower_bound(stored.begin(), stored.end(), id);
    const bool known = at != stored.end() && *at == id;
    bodies_.push_back(known ? std::optional(static_cast<std::size_t>(at - stored.begin()))
                            : std::nullopt);
  }
  return {};
}

bool TextReader::read_templated(std::uint64_t stored, std::string& out) {
  if (stored >= templates_.size()) return false;
  OpenTemplate& open = templates_[static_cast<std::size_t>(stored)];
  if (open.skipped > 0) {
    for (BytesCursor& slot : open.slots) slot.skip(open.skipped);
    open.skipped = 0;
  }
  for (std::size_t i = 0; i < open.slots.size(); ++i) {
    const std::string_view value = open.slots[i].next(line_time_);
    const std::string_view literal = open.literals[i];
    if (value.empty() || !raw_left_.take(literal.size() + value.size())) return false;
    out += literal;
    out += value;
  }
  if (!raw_left_.take(open.literals.back().size())) return false;
  out += open.literals.back();
  return true;
}

bool TextReader::read_bytes(std::uint64_t length, std::string& out) {
  const std::string_view bytes = plain_.bytes(length);
  if (!plain_.ok() || !raw_left_.take(bytes.size())) return false;
  out += bytes;
  return true;
}

bool TextReader::read_plain(IntCursor& lengths, std::string& out) {
  return read_bytes(lengths.next(), out);
}

bool TextReader::read_whole(Line& line) {
  line.header_begin = static_cast<std::uint32_t>(whole_header_.next_below(kU32));
  line.body_begin = static_cast<std::uint32_t>(whole_body_.next_below(kU32));
  return read_plain(body_length_, line.raw);
}

bool TextReader::read(Line& line, bool& whole) {
  line_time_ = static_cast<std::int64_t>(time_.next());
  const std::uint64_t index = template_.next();
  line.text_begin = static_cast<std::uint32_t>(text_begin_.next_below(kU32));
  const auto mode = static_cast<BodyMode>(body_mode_.next_below(3));
  whole = mode == BodyMode::whole;
  if (whole) return read_whole(line) && cursors_ok();
  if (!read_piece(next_piece(prefix_ref_, prefix_length_), line.raw)) return false;
  line.header_begin = static_cast<std::uint32_t>(line.raw.size());
  if (!read_piece(next_piece(header_ref_, header_length_), line.raw)) return false;
  line.body_begin = static_cast<std::uint32_t>(line.raw.size());
  if (mode == BodyMode::plain) return read_plain(body_length_, line.raw) && cursors_ok();
  if (index >= bodies_.size()) return false;
  const auto& stored = bodies_[static_cast<std::size_t>(index)];
  return stored && read_templated(*stored, line.raw) && cursors_ok();
}

TextReader::Piece TextReader::next_piece(IntCursor& refs, IntCursor& lengths) {
  Piece out;
  out.stored = refs.next();
  if (out.stored == 0) out.length = lengths.next();
  return out;
}

bool TextReader::read_piece(const Piece& piece, std::string& out) {
  return piece.stored > 0 ? read_templated(piece.stored - 1, out) : read_bytes(piece.length, out);
}

bool TextReader::skip_piece(const Piece& piece) {
  if (piece.stored == 0) return true;  // of no length
  if (piece.stored > templates_.size()) return false;
  ++templates_[static_cast<std::size_t>(piece.stored - 1)].skipped;
  return true;
}

bool TextReader::read_body(Line& line, bool& whole) {
  line_time_ = static_cast<std::int64_t>(time_.next());
  const std::uint64_t index = template_.next();
  line.text_begin = static_cast<std::uint32_t>(text_begin_.next_below(kU32));
  const auto mode = static_cast<BodyMode>(body_mode_.next_below(3));
  whole = mode == BodyMode::whole;
  if (whole) return read_plain(body_length_, line.raw);
  const Piece prefix = next_piece(prefix_ref_, prefix_length_);
  const Piece head = next_piece(header_ref_, header_length_);
  if (mode == BodyMode::plain) {
    return read_piece(prefix, line.raw) && read_piece(head, line.raw) &&
           read_plain(body_length_, line.raw);
  }
  if (prefix.length > 0 || head.length > 0) {
    if (!read_piece(prefix, line.raw) || !read_piece(head, line.raw)) return false;
  } else {
    if (!skip_piece(prefix) || !skip_piece(head)) return false;
    line.text_begin = 0;
  }
  if (index >= bodies_.size()) return false;
  const auto& body = bodies_[static_cast<std::size_t>(index)];
  return body && read_templated(*body, line.raw);
}

bool TextReader::skip(std::uint32_t count) {
  if (count == 0) return true;
  time_.skip(count);
  text_begin_.skip(count);
  std::uint64_t prefixes = 0, headers = 0, plain = 0, whole = 0;  // plain ones
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t index = template_.next_below(bodies_.size());
    const auto mode = static_cast<BodyMode>(body_mode_.next_below(3));
    if (mode == BodyMode::whole) {
      ++whole;
      continue;
    }
    const std::uint64_t prefix = prefix_ref_.next_below(templates_.size() + 1);
    const std::uint64_t head = header_ref_.next_below(templates_.size() + 1);
    prefix == 0 ? ++prefixes : ++templates_[static_cast<std::size_t>(prefix - 1)].skipped;
    head == 0 ? ++headers : ++templates_[static_cast<std::size_t>(head - 1)].skipped;
    if (mode == BodyMode::plain) {
      ++plain;
      continue;
    }
    if (!template_.ok() || !bodies_[static_cast<std::size_t>(index)]) return false;
    ++templates_[*bodies_[static_cast<std::size_t>(index)]].skipped;
  }
  whole_header_.skip(whole);
  whole_body_.skip(whole);
  plain_.bytes(prefix_length_.sum(prefixes) + header_length_.sum(headers) +
               body_length_.sum(plain + whole));
  return plain_.ok() && cursors_ok();
}

bool TextReader::cursors_ok() const {
  for (const IntCursor* cursor :
       {&time_, &template_, &body_mode_, &prefix_ref_, &header_ref_, &text_begin_, &prefix_length_,
        &header_length_, &body_length_, &whole_header_, &whole_body_}) {
    if (!cursor->ok()) return false;
  }
  return true;
}

}  // namespace

Status decode_text(const ColumnMap& columns, const ColumnMap& facts, const BlockHeader& header,
                   const TemplateLookup& lookup, const RowSet& rows, ItemBudget& budget,
                   std::vector<Line>& lines) {
  TextReader reader(columns, facts, header);
  LGR_CHECK(reader.open(lookup, budget));
  std::uint32_t row = 0;
  bool whole = false;
  auto line = lines.begin();
  for (const RowRange& range : rows.ranges()) {
    if (!reader.skip(range.first - row)) return corrupt("line");
    for (row = range.first; row < range.end; ++row, ++line) {
      if (!reader.read(*line, whole)) return corrupt("line");
    }
  }
  return {};
}

Result<RowSet> rows_containing(const ColumnMap& columns, const ColumnMap& facts,
                               const BlockHeader& header, const TemplateLookup& lookup,
                               const RowSet& rows, const TextMatch& match) {
  ItemBudget budget;
  TextReader reader(columns, facts, header);
  LGR_CHECK(reader.open(lookup, budget));
  RowSet out;
  Line line;
  std::uint32_t row = 0;
  for (const RowRange& range : rows.ranges()) {
    if (!reader.skip(range.first - row)) return corrupt("line");
    for (row = range.first; row < range.end; ++row) {
      line.raw.clear();
      bool whole = false;
      const bool read = match.in_body ? reader.read_body(line, whole) : reader.read(line, whole);
      if (!read) return corrupt("line");
      std::string_view text = line.raw;
      if (match.raw_is_text) {
        text.remove_prefix(std::min<std::size_t>(line.text_begin, text.size()));
      }
      const bool kept = whole && !match.raw_is_text;
      if (kept || text.find(match.literal) != std::string_view::npos) out.add(row, row + 1);
    }
  }
  return out;
}

}  // namespace logarithm::block
