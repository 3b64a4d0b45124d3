#include "aggregator/store/block_facts.h"

#include <algorithm>

#include "common/line/template.h"

namespace logarithm::aggregator {
namespace {

constexpr std::uint8_t kErrorBits =
    (1u << static_cast<unsigned>(Severity::error)) | (1u << static_cast<unsigned>(Severity::fatal));

// A line without a stamp has its file's time, which a kernel's tick may have made this much too
// early, nanoseconds. An iteration that seems to begin too early would claim stamped lines that its
// rank said before it on another output.
constexpr UnixNanos kFileTimeGrain = 10'000'000;

void add_line(const Line& line, BlockFacts& facts) {
  if (line.iteration) {
    const bool stamped = !line.has(line_flag::derived_time);
    const UnixNanos time = line.time + (stamped ? 0 : kFileTimeGrain);
    auto [at, fresh] = facts.iterations.try_emplace(*line.iteration, time);
    if (!fresh) at->second = std::min(at->second, time);
    if (facts.runs.empty() || facts.runs.back().iteration != *line.iteration) {
      facts.runs.push_back(IterationRun{*line.iteration, 0, 0});
    }
    facts.runs.back().add(line.template_id);
  }
  if (!line.callsite.empty()) {
    BlockFacts::Count& count = facts.call_sites[line.callsite];
    ++count.lines;
    count.bytes += line.length;
  }
  if (line.wrapper_rank) facts.wrapper_ranks.insert(*line.wrapper_rank);
  if (line.severity >= Severity::error) ++facts.errors;
  for (const EventMark& mark : line.events) {
    BlockFacts::Event event;
    event.offset = line.offset;
    event.time = line.time;
    event.iteration = line.iteration;
    event.mark = mark;
    facts.events.push_back(std::move(event));
  }
}

// True when `line` could be shortened to end at `cut_at`.
bool shorten(Line& line, std::uint64_t cut_at) {
  const std::uint64_t keep = cut_at - line.offset;
  const bool plain = line.extents.empty() && line.transport == 0 &&
                     !line.has(line_flag::ansi | line_flag::truncated | line_flag::redacted) &&
                     line.length == line.raw.size() + bytes_of(line.terminator).size();
  if (!plain || keep > line.raw.size() || keep < line.body_begin) return false;
  line.raw.resize(keep);
  line.length = keep;
  line.terminator = Terminator::none;
  line.flags |= line_flag::partial;
  line.template_id = template_of(body_of(line));
  return true;
}

}  // namespace

Result<BlockFacts> facts_of(const BlockReader& block) {
  BlockFacts facts;
  const BlockHeader& header = block.header();
  const auto& ranks = header.wrapper_rank;
  if (ranks && ranks->min == ranks->max) facts.wrapper_ranks.insert(ranks->min);
  const bool several_ranks = ranks && ranks->min != ranks->max;
  const bool needs_lines = several_ranks || header.iteration || header.has_callsite ||
                           !header.events.empty() || (header.severities & kErrorBits) != 0;
  if (!needs_lines) return facts;
  const BlockPart parts =
      header.events.empty() ? BlockPart::facts : BlockPart::facts | BlockPart::fields;
  LGR_TRY(auto lines, block.lines(parts, [](TemplateId) { return std::nullopt; }));
  for (const Line& line : lines) add_line(line, facts);
  return facts;
}

Result<EncodedBlock> cut_block(const BlockReader& block, std::uint64_t cut_at,
                               const TemplateLookup& lookup, bool plain) {
  const BlockHeader& header = block.header();
  BlockWriter writer(header.stream, header.attributes_version);
  writer.set_plain(plain);
  LGR_TRY(auto lines, block.lines(BlockPart::facts | BlockPart::fields | BlockPart::text, lookup));
  writer.set_first(header.first);
  for (Line& line : lines) {
    if (line.offset >= cut_at) break;
    if (line.end() > cut_at && !shorten(line, cut_at)) {
      Gap gap;
      gap.from = line.offset;
      gap.to = cut_at;
      gap.reason = "overlap_cut";
      gap.at = line.observed;
      writer.add_gap(gap);
      break;
    }
    writer.add(line);
  }
  for (Gap gap : header.gaps) {
    if (gap.from >= cut_at) continue;
    if (gap.to && *gap.to > cut_at) gap.to = cut_at;
    writer.add_gap(gap);
  }
  writer.set_end(cut_at);
  return writer.finish(0);
}

}  // namespace logarithm::aggregator
