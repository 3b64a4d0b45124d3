#include "common/block/block_writer.h"

#include <algorithm>
#include <optional>
#include <set>

#include "common/block/block_limits.h"
#include "common/block/facts_section.h"
#include "common/block/fields_section.h"
#include "common/block/header_codec.h"
#include "common/block/section.h"
#include "common/block/text_section.h"
#include "common/line/template.h"

namespace logarithm {
namespace {

using namespace block;

constexpr std::size_t kKeptLines = 64;

template <typename T>
void widen(MinMax<T>& range, T value) {
  range.min = std::min(range.min, value);
  range.max = std::max(range.max, value);
}

template <typename T>
void widen(std::optional<MinMax<T>>& range, const std::optional<T>& value) {
  if (!value) return;
  if (!range) range = MinMax<T>{*value, *value};
  widen(*range, *value);
}

template <typename T>
void sort_unique(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

void summarize(const std::vector<Line>& lines, BlockHeader& header) {
  header.lines = static_cast<std::uint32_t>(lines.size());
  header.all_have_iteration = !lines.empty();
  header.no_output_said = true;
  if (!lines.empty()) {
    header.time = {lines.front().time, lines.front().time};
    header.observed = {lines.front().observed, lines.front().observed};
  }
  std::set<std::string_view> callsites;
  for (const Line& line : lines) {
    widen(header.time, line.time);
    widen(header.observed, line.observed);
    widen(header.iteration, line.iteration);
    widen(header.wrapper_rank, line.wrapper_rank);
    header.all_have_iteration = header.all_have_iteration && line.iteration.has_value();
    header.severities = static_cast<std::uint8_t>(header.severities |
                                                  1u << static_cast<std::uint8_t>(line.severity));
    header.flags_any |= line.flags;
    header.no_output_said = header.no_output_said && line.output == Output::unset;
    header.body_templates.push_back(line.template_id);
    if (!line.callsite.empty()) callsites.insert(line.callsite);
  }
  sort_unique(header.body_templates);
  header.callsites.assign(callsites.begin(), callsites.end());
  header.has_callsite = !callsites.empty();
}

// What a reader would refuse must not be written.
Status check_items(const std::vector<Line>& lines, ItemBudget& budget) {
  for (const Line& line : lines) {
    std::size_t bytes = line.callsite.size();
    for (const MetaPair& pair : line.meta) {
      const auto* text = std::get_if<std::string>(&pair.value);
      bytes += pair.key.size() + (text != nullptr ? text->size() : 0);
    }
    for (const EventMark& event : line.events) {
      bytes += event.rule.size() + event.kind.size() + event.klass.size();
    }
    // Twice: once in the lists of shapes, once in the lines.
    const std::size_t items = 2 * (line.meta.size() + line.events.size()) + line.extents.size();
    if (!budget.items.take(items) || !budget.bytes.take(bytes)) {
      return Error(ErrorCode::too_large, "block: too much metadata");
    }
  }
  return {};
}

Status check_order(const std::vector<Line>& lines, const BlockHeader& header) {
  std::uint64_t least = header.first;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    if (line.offset < least || line.length > header.end - std::min(line.offset, header.end)) {
      return Error(ErrorCode::invalid, "block: lines out of order or out of range");
    }
    least = line.offset + 1;
  }
  return header.first <= header.end ? Status()
                                    : Error(ErrorCode::invalid, "block: first after end");
}

}  // namespace

class BlockWriter::Impl {
 public:
  Impl(StreamId stream, std::uint32_t attributes_version)
      : stream_(stream), attributes_version_(attributes_version) {}

  Result<EncodedBlock> encode(std::uint32_t tail_crc);
  // The place for a few lines stays: small blocks are made one after the other.
  void reset() {
    const bool plain = plain_;
    std::vector<Line> lines = std::move(lines_);
    *this = Impl(stream_, attributes_version_);
    plain_ = plain;
    lines.clear();
    if (lines.capacity() <= kKeptLines) lines_ = std::move(lines);
  }

  BlockHeader identity(std::uint32_t tail_crc) const;

  StreamId stream_;
  std::uint32_t attributes_version_;
  std::vector<Line> lines_;
  std::vector<Gap> gaps_;
  std::optional<std::uint64_t> first_;
  std::uint64_t end_ = 0;
  std::size_t raw_bytes_ = 0;
  bool plain_ = false;
};

BlockHeader BlockWriter::Impl::identity(std::uint32_t tail_crc) const {
  BlockHeader header;
  header.stream = stream_;
  header.attributes_version = attributes_version_;
  header.first = first_.value_or(end_);
  header.end = end_;
  header.raw_bytes = raw_bytes_;
  header.tail_crc = tail_crc;
  header.mask_version = kMaskVersion;
  header.gaps = gaps_;
  return header;
}

Result<EncodedBlock> BlockWriter::Impl::encode(std::uint32_t tail_crc) {
  if (lines_.size() > block_format::kMaxLines || raw_bytes_ > block_format::kMaxRawBytes) {
    return Error(ErrorCode::too_large, "block: too many lines or bytes");
  }
  EncodedBlock out;
  out.header = identity(tail_crc);
  ItemBudget budget;
  LGR_CHECK(check_order(lines_, out.header));
  LGR_CHECK(check_items(lines_, budget));
  summarize(lines_, out.header);

  std::string sections;
  std::vector<SectionEntry> directory;
  const auto pack = [&](SectionId id, const std::string& raw) -> Status {
    if (raw.empty()) return {};
    LGR_TRY(SectionEntry entry, pack_section(id, raw, sections));
    directory.push_back(entry);
    return {};
  };
  LGR_CHECK(pack(SectionId::facts, encode_facts(lines_, out.header)));
  LGR_CHECK(pack(SectionId::fields, encode_fields(lines_, budget.dictionary, out.header)));
  LGR_CHECK(pack(SectionId::text,
                 encode_text(lines_, plain_, budget.dictionary, out.header, out.templates)));
  if (std::max({out.header.callsites.size(), out.header.fields.size(), out.header.events.size(),
                out.header.gaps.size()}) > kMaxHeaderItems) {
    return Error(ErrorCode::too_large, "block: too many keys, call sites, events or gaps");
  }
  out.bytes = encode_header(out.header, directory, sections);
  if (out.bytes.size() + sections.size() > block_format::kMaxBlockBytes) {
    return Error(ErrorCode::too_large, "block: encoded size");
  }
  out.bytes += sections;
  return out;
}

BlockWriter::BlockWriter(StreamId stream, std::uint32_t attributes_version)
    : impl_(std::make_unique<Impl>(stream, attributes_version)) {}
BlockWriter::~BlockWriter() = default;
BlockWriter::BlockWriter(BlockWriter&&) noexcept = default;
BlockWriter& BlockWriter::operator=(BlockWriter&&) noexcept = default;

void BlockWriter::add(const Line& line) {
  if (!impl_->first_) impl_->first_ = line.offset;
  impl_->end_ = std::max(impl_->end_, line.end());
  impl_->raw_bytes_ += line.raw.size() + bytes_of(line.terminator).size();
  if (impl_->lines_.capacity() == 0) impl_->lines_.reserve(kKeptLines / 4);
  impl_->lines_.push_back(line);
}

void BlockWriter::add_gap(const Gap& gap) {
  if (!impl_->first_) impl_->first_ = gap.from;
  impl_->end_ = std::max(impl_->end_, gap.to.value_or(gap.from));
  impl_->gaps_.push_back(gap);
}

void BlockWriter::set_first(std::uint64_t first) { impl_->first_ = first; }
void BlockWriter::set_end(std::uint64_t end) { impl_->end_ = end; }
void BlockWriter::set_plain(bool plain) { impl_->plain_ = plain; }

bool BlockWriter::empty() const { return impl_->lines_.empty() && impl_->gaps_.empty(); }
std::size_t BlockWriter::lines() const { return impl_->lines_.size(); }
std::size_t BlockWriter::raw_bytes() const { return impl_->raw_bytes_; }

Result<EncodedBlock> BlockWriter::finish(std::uint32_t tail_crc) {
  Result<EncodedBlock> out = impl_->encode(tail_crc);
  impl_->reset();
  return out;
}

}  // namespace logarithm
