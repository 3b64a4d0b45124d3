#include <algorithm>
#include <array>

#include "common/block/bytes_column.h"
#include "common/block/template_book.h"
#include "common/block/text_section.h"
#include "common/block/token_collector.h"

namespace logarithm::block {
namespace {

using Ints = std::vector<std::uint64_t>;

struct LineParts {
  bool whole = false;
  std::array<Part, 3> parts;  // prefix, header, body
};

// Positions are of the text without ANSI, and redraws are a class of their own: both stay uncut.
bool is_whole(const Line& line) {
  return line.has(line_flag::ansi) || line.has(line_flag::progress) || line.transport != 0 ||
         line.text_begin > line.header_begin || line.header_begin > line.body_begin ||
         line.body_begin > line.raw.size();
}

LineParts cut(const Line& line, TemplateBook& book) {
  LineParts out;
  out.whole = is_whole(line);
  const std::string_view raw = line.raw;
  if (out.whole) {
    out.parts[2].bytes = raw;
    return out;
  }
  out.parts[0] = book.add(raw.substr(0, line.header_begin), TemplateKind::prefix, nullptr);
  out.parts[1] = book.add(raw.substr(line.header_begin, line.body_begin - line.header_begin),
                          TemplateKind::header, nullptr);
  out.parts[2] = book.add(raw.substr(line.body_begin), TemplateKind::body, &line.template_id);
  return out;
}

class TextWriter {
 public:
  TextWriter(const std::vector<Line>& lines, BlockHeader& header)
      : lines_(lines), header_(header) {}

  std::vector<TemplateDef> choose_templates(bool plain);
  std::string encode(Budget& dictionary);

 private:
  struct Variables {
    std::vector<std::vector<std::string_view>> slots;
    std::vector<std::int64_t> times;  // of the lines, for headers
  };

  void add_line(const Line& line, const LineParts& cut_line);
  // A stored part's variables, or the plain bytes; the reference for the ref columns.
  std::uint64_t add_part(const Part& part, const Line& line, Ints& plain_lengths);
  void add_tokens(const Line& line, const LineParts& cut_line);

  const std::vector<Line>& lines_;
  BlockHeader& header_;
  TemplateBook book_;
  std::vector<LineParts> cut_;
  std::vector<Variables> variables_;
  std::vector<TemplateKind> kinds_;  // of stored templates
  Ints body_mode_, prefix_ref_, header_ref_, text_begin_;
  Ints prefix_length_, header_length_, body_length_, whole_header_, whole_body_;
  std::string plain_;
  TokenCollector tokens_;
  std::vector<Span> breaks_;
};

std::vector<TemplateDef> TextWriter::choose_templates(bool plain) {
  cut_.reserve(lines_.size());
  for (const Line& line : lines_) cut_.push_back(cut(line, book_));
  std::vector<TemplateDef> definitions;
  if (!plain) definitions = book_.choose();
  variables_.resize(definitions.size());
  for (const TemplateBook::Entry& entry : book_.entries()) {
    if (entry.is_stored) variables_[entry.stored].slots.resize(entry.slots);
  }
  for (const TemplateDef& definition : definitions) {
    header_.stored_templates.push_back(definition.id);
    kinds_.push_back(definition.kind);
  }
  return definitions;
}

std::uint64_t TextWriter::add_part(const Part& part, const Line& line, Ints& plain_lengths) {
  if (!book_.is_stored(part)) {
    plain_lengths.push_back(part.bytes.size());
    plain_ += part.bytes;
    header_.has_plain_text = header_.has_plain_text || !part.bytes.empty();
    return 0;
  }
  const std::uint32_t stored = book_.entries()[part.entry].stored;
  Variables& variables = variables_[stored];
  for (std::uint32_t i = 0; i < part.spans; ++i) {
    const Span& span = book_.spans()[part.first_span + i];
    variables.slots[i].push_back(part.bytes.substr(span.begin, span.length));
  }
  if (kinds_[stored] == TemplateKind::header && part.spans > 0) {
    variables.times.push_back(line.time);
  }
  return 1 + std::uint64_t{stored};
}

void TextWriter::add_line(const Line& line, const LineParts& cut_line) {
  text_begin_.push_back(line.text_begin);
  if (cut_line.whole) {
    body_mode_.push_back(static_cast<std::uint64_t>(BodyMode::whole));
    whole_header_.push_back(line.header_begin);
    whole_body_.push_back(line.body_begin);
    add_part(cut_line.parts[2], line, body_length_);
    return;
  }
  prefix_ref_.push_back(add_part(cut_line.parts[0], line, prefix_length_));
  header_ref_.push_back(add_part(cut_line.parts[1], line, header_length_));
  const bool templated = add_part(cut_line.parts[2], line, body_length_) != 0;
  body_mode_.push_back(
      static_cast<std::uint64_t>(templated ? BodyMode::templated : BodyMode::plain));
}

void TextWriter::add_tokens(const Line& line, const LineParts& cut_line) {
  if (line.has(line_flag::progress)) return;  // found by scan
  if (cut_line.whole) {
    tokens_.add_all(text_of(line));
    return;
  }
  breaks_.clear();
  std::uint32_t at = 0;
  for (const Part& part : cut_line.parts) {
    const auto size = static_cast<std::uint32_t>(part.bytes.size());
    if (book_.is_stored(part)) {
      breaks_.push_back({at, 0});
      for (std::uint32_t i = 0; i < part.spans; ++i) {
        const Span& span = book_.spans()[part.first_span + i];
        breaks_.push_back({at + span.begin, span.length});
      }
    } else if (size > 0) {
      breaks_.push_back({at, size});
    }
    at += size;
  }
  tokens_.add_broken(line.raw, line.text_begin, breaks_);
}

std::string TextWriter::encode(Budget& dictionary) {
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    add_line(lines_[i], cut_[i]);
    add_tokens(lines_[i], cut_[i]);
  }
  header_.filter = tokens_.filter();
  std::string out;
  ColumnWriter columns(out);
  columns.add_ints(kBodyMode, body_mode_);
  columns.add_ints(kPrefixRef, prefix_ref_);
  columns.add_ints(kHeaderRef, header_ref_);
  columns.add_ints(kTextBegin, text_begin_);
  columns.add_ints(kPrefixLength, prefix_length_);
  columns.add_ints(kHeaderLength, header_length_);
  columns.add_ints(kBodyLength, body_length_);
  columns.add_ints(kWholeHeader, whole_header_);
  columns.add_ints(kWholeBody, whole_body_);
  columns.add(kPlainBytes, plain_);
  std::string encoded, slot;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    encoded.clear();
    for (const auto& values : variables_[i].slots) {
      slot.clear();
      encode_bytes(values, variables_[i].times, dictionary, slot);
      ByteWriter(encoded).sized(slot);
    }
    columns.add(kFirstVariables + i, encoded);
  }
  return out;
}

}  // namespace

std::string encode_text(const std::vector<Line>& lines, bool plain, Budget& dictionary,
                        BlockHeader& header, std::vector<TemplateDef>& templates) {
  TextWriter writer(lines, header);
  templates = writer.choose_templates(plain);
  return writer.encode(dictionary);
}

}  // namespace logarithm::block
