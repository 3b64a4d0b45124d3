#include "common/block/facts_section.h"

#include <algorithm>
#include <limits>

namespace logarithm::block {
namespace {

enum Column : std::uint64_t {
  kOffsetSkip = 1,  // offset - end of the line before (the first: - header.first)
  kLength = 2,
  kTerminator = 3,
  kOutput = 4,
  kTransport = 5,
  kFlags = 6,
  kHeadDistance = 7,  // offset - head
  kTime = 8,
  kObserved = 9,
  kSeverity = 10,
  kCallsite = 11,     // 0 or 1 + index into header.callsites
  kTemplate = 12,     // index into header.body_templates
  kWrapperRank = 13,  // 0 or 1 + zigzag
  kHasIteration = 14,
  kIteration = 15,  // of the lines that have one
  kExtentCount = 16,
  kExtentOffset = 17,  // of all extents: offset - the line's offset
  kExtentLength = 18,
  kExtentPrefix = 19,
};

using Ints = std::vector<std::uint64_t>;

template <typename Value>
void add(ColumnWriter& out, Column id, const std::vector<Line>& lines, Value&& value) {
  Ints ints;
  ints.reserve(lines.size());
  for (const Line& line : lines) ints.push_back(static_cast<std::uint64_t>(value(line)));
  out.add_ints(id, ints);
}

template <typename T>
std::uint64_t index_of(const std::vector<T>& sorted, const T& value) {
  return static_cast<std::uint64_t>(std::lower_bound(sorted.begin(), sorted.end(), value) -
                                    sorted.begin());
}

void add_extents(ColumnWriter& out, const std::vector<Line>& lines) {
  Ints offsets, lengths, prefixes;
  for (const Line& line : lines) {
    for (const Extent& extent : line.extents) {
      offsets.push_back(extent.offset - line.offset);
      lengths.push_back(extent.length);
      prefixes.push_back(extent.prefix);
    }
  }
  out.add_ints(kExtentOffset, offsets);
  out.add_ints(kExtentLength, lengths);
  out.add_ints(kExtentPrefix, prefixes);
}

// A column whose values must be less than a limit, read into any narrow type.
template <typename T>
T narrow(IntCursor& column, std::uint64_t limit) {
  return static_cast<T>(column.next_below(limit));
}

struct Cursors {
  explicit Cursors(const ColumnMap& columns)
      : skip(columns.ints(kOffsetSkip)),
        length(columns.ints(kLength)),
        terminator(columns.ints(kTerminator)),
        output(columns.ints(kOutput)),
        transport(columns.ints(kTransport)),
        flags(columns.ints(kFlags)),
        head(columns.ints(kHeadDistance)),
        time(columns.ints(kTime)),
        observed(columns.ints(kObserved)),
        severity(columns.ints(kSeverity)),
        callsite(columns.ints(kCallsite)),
        templates(columns.ints(kTemplate)),
        rank(columns.ints(kWrapperRank)),
        has_iteration(columns.ints(kHasIteration)),
        iteration(columns.ints(kIteration)),
        extents(columns.ints(kExtentCount)),
        extent_offset(columns.ints(kExtentOffset)),
        extent_length(columns.ints(kExtentLength)),
        extent_prefix(columns.ints(kExtentPrefix)) {}

  bool ok() const {
    for (const IntCursor* cursor :
         {&skip, &length, &terminator, &output, &transport, &flags, &head, &time, &observed,
          &severity, &callsite, &templates, &rank, &has_iteration, &iteration, &extents,
          &extent_offset, &extent_length, &extent_prefix}) {
      if (!cursor->ok()) return false;
    }
    return true;
  }

  IntCursor skip, length, terminator, output, transport, flags, head, time, observed, severity,
      callsite, templates, rank, has_iteration, iteration, extents, extent_offset, extent_length,
      extent_prefix;
};

constexpr std::uint64_t kU32 = std::uint64_t{1} << 32;

Status corrupt() { return Error(ErrorCode::corrupt, "block: facts"); }

bool decode_extents(Cursors& in, ItemBudget& budget, Line& line) {
  const std::uint64_t count = in.extents.next();
  if (!budget.items.take(count)) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    Extent& extent = line.extents.emplace_back();
    extent.offset = line.offset + in.extent_offset.next();
    extent.length = narrow<std::uint32_t>(in.extent_length, kU32);
    extent.prefix = narrow<std::uint32_t>(in.extent_prefix, kU32);
  }
  return true;
}

bool decode_line(Cursors& in, const BlockHeader& header, ItemBudget& budget, Line& line) {
  line.length = in.length.next();
  line.terminator = narrow<Terminator>(in.terminator, 4);
  line.output = narrow<Output>(in.output, 3);
  line.transport = narrow<std::uint8_t>(in.transport, 256);
  line.flags = narrow<std::uint32_t>(in.flags, kU32);
  line.head = line.offset - in.head.next();
  line.time = static_cast<UnixNanos>(in.time.next());
  line.observed = static_cast<UnixNanos>(in.observed.next());
  line.severity = narrow<Severity>(in.severity, 7);
  const std::uint64_t callsite = in.callsite.next_below(header.callsites.size() + 1);
  if (callsite > 0) {
    const std::string& text = header.callsites[callsite - 1];
    if (!budget.bytes.take(text.size())) return false;
    line.callsite = text;
  }
  const std::uint64_t index = in.templates.next_below(header.body_templates.size());
  if (!in.templates.ok()) return false;
  line.template_id = header.body_templates[index];
  const std::uint64_t rank = in.rank.next_below(kU32 + 1);
  if (rank > 0) line.wrapper_rank = static_cast<std::int32_t>(unzigzag(rank - 1));
  if (in.has_iteration.next_below(2) == 1) {
    line.iteration = static_cast<std::int64_t>(in.iteration.next());
  }
  return decode_extents(in, budget, line);
}

// Past lines that nobody wants; the bytes of the file that they take.
std::uint64_t skip_lines(Cursors& in, std::uint32_t count) {
  for (IntCursor* column :
       {&in.terminator, &in.output, &in.transport, &in.flags, &in.head, &in.time, &in.observed,
        &in.severity, &in.callsite, &in.templates, &in.rank}) {
    column->skip(count);
  }
  in.iteration.skip(in.has_iteration.sum(count));
  const std::uint64_t extents = in.extents.sum(count);
  for (IntCursor* column : {&in.extent_offset, &in.extent_length, &in.extent_prefix}) {
    column->skip(extents);
  }
  return in.skip.sum(count) + in.length.sum(count);
}

}  // namespace

std::string encode_facts(const std::vector<Line>& lines, const BlockHeader& header) {
  std::string out;
  ColumnWriter columns(out);
  std::uint64_t end = header.first;
  add(columns, kOffsetSkip, lines, [&end](const Line& line) {
    const std::uint64_t skip = line.offset - end;
    end = line.end();
    return skip;
  });
  add(columns, kLength, lines, [](const Line& line) { return line.length; });
  add(columns, kTerminator, lines, [](const Line& line) { return line.terminator; });
  add(columns, kOutput, lines, [](const Line& line) { return line.output; });
  add(columns, kTransport, lines, [](const Line& line) { return line.transport; });
  add(columns, kFlags, lines, [](const Line& line) { return line.flags; });
  add(columns, kHeadDistance, lines, [](const Line& line) { return line.offset - line.head; });
  add(columns, kTime, lines, [](const Line& line) { return line.time; });
  add(columns, kObserved, lines, [](const Line& line) { return line.observed; });
  add(columns, kSeverity, lines, [](const Line& line) { return line.severity; });
  add(columns, kCallsite, lines, [&header](const Line& line) {
    return line.callsite.empty() ? 0 : 1 + index_of(header.callsites, line.callsite);
  });
  add(columns, kTemplate, lines,
      [&header](const Line& line) { return index_of(header.body_templates, line.template_id); });
  add(columns, kWrapperRank, lines,
      [](const Line& line) { return line.wrapper_rank ? 1 + zigzag(*line.wrapper_rank) : 0; });
  add(columns, kHasIteration, lines, [](const Line& line) { return line.iteration.has_value(); });
  Ints iterations;
  for (const Line& line : lines) {
    if (line.iteration) iterations.push_back(static_cast<std::uint64_t>(*line.iteration));
  }
  columns.add_ints(kIteration, iterations);
  add(columns, kExtentCount, lines, [](const Line& line) { return line.extents.size(); });
  add_extents(columns, lines);
  return out;
}

Status decode_facts(const ColumnMap& columns, const BlockHeader& header, const RowSet& rows,
                    ItemBudget& budget, std::vector<Line>& lines) {
  Cursors in(columns);
  std::uint64_t end = header.first;
  std::uint32_t row = 0;
  auto line = lines.begin();
  for (const RowRange& range : rows.ranges()) {
    end += skip_lines(in, range.first - row);
    for (row = range.first; row < range.end; ++row, ++line) {
      line->offset = end + in.skip.next();
      if (!decode_line(in, header, budget, *line)) return corrupt();
      end = line->end();
    }
  }
  return in.ok() ? Status() : corrupt();
}

Result<std::vector<RowMark>> decode_row_marks(const ColumnMap& columns, const BlockHeader& header,
                                              const RowSet& rows) {
  IntCursor skip = columns.ints(kOffsetSkip), length = columns.ints(kLength);
  IntCursor time = columns.ints(kTime), rank = columns.ints(kWrapperRank);
  IntCursor has_iteration = columns.ints(kHasIteration), iteration = columns.ints(kIteration);
  std::vector<RowMark> out;
  out.reserve(rows.count());
  std::uint64_t end = header.first;
  std::uint32_t row = 0;
  for (const RowRange& range : rows.ranges()) {
    const std::uint32_t passed = range.first - row;
    end += skip.sum(passed) + length.sum(passed);
    time.skip(passed);
    rank.skip(passed);
    iteration.skip(has_iteration.sum(passed));
    for (row = range.first; row < range.end; ++row) {
      RowMark& mark = out.emplace_back();
      mark.offset = end + skip.next();
      end = mark.offset + length.next();
      mark.time = static_cast<UnixNanos>(time.next());
      const std::uint64_t number = rank.next_below(kU32 + 1);
      if (number > 0) mark.wrapper_rank = static_cast<std::int32_t>(unzigzag(number - 1));
      if (has_iteration.next_below(2) == 1) {
        mark.iteration = static_cast<std::int64_t>(iteration.next());
      }
    }
  }
  for (const IntCursor* cursor : {&skip, &length, &time, &rank, &has_iteration, &iteration}) {
    if (!cursor->ok()) return corrupt().error();
  }
  return out;
}

Result<RowSet> rows_at(const ColumnMap& columns, const BlockHeader& header,
                       const std::vector<std::uint64_t>& offsets) {
  IntCursor skip = columns.ints(kOffsetSkip), length = columns.ints(kLength);
  RowSet out;
  std::uint64_t end = header.first;
  auto wanted = offsets.begin();
  for (std::uint32_t row = 0; row < header.lines && wanted != offsets.end(); ++row) {
    const std::uint64_t offset = end + skip.next();
    end = offset + length.next();
    while (wanted != offsets.end() && *wanted < offset) ++wanted;
    if (wanted != offsets.end() && *wanted == offset) out.add(row, row + 1);
  }
  if (!skip.ok() || !length.ok()) return corrupt().error();
  return out;
}

IntCursor time_column(const ColumnMap& facts) { return facts.ints(kTime); }
IntCursor template_column(const ColumnMap& facts) { return facts.ints(kTemplate); }
bool has_transports(const ColumnMap& facts) { return facts.find(kTransport).has_value(); }

}  // namespace logarithm::block
