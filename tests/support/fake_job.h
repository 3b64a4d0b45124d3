#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/store/storage.h"
#include "common/block/block_reader.h"
#include "common/block/block_writer.h"
#include "common/line/template.h"
#include "common/model/stream.h"

namespace logarithm::test {

// A job in memory, of real blocks: what queries see, without a store. All in shard 1.
class FakeJob final : public aggregator::JobSnapshot {
 public:
  std::size_t add_stream(StreamId id, std::vector<StreamAttributes> versions) {
    aggregator::StreamFacts facts;
    facts.id = id;
    facts.versions = std::move(versions);
    streams_.push_back(std::move(facts));
    return streams_.size() - 1;
  }

  void add_process(aggregator::ProcessFacts process) { processes_.push_back(std::move(process)); }

  // Lines in offset order, of one version.
  void add_block(std::size_t stream, std::uint32_t version, const std::vector<Line>& lines) {
    BlockWriter writer(streams_[stream].id, version);
    for (const Line& line : lines) {
      writer.add(line);
      if (line.wrapper_rank) wrapper_ranks_.insert(*line.wrapper_rank);
    }
    auto encoded = writer.finish(0);
    LGR_ASSERT(encoded.ok());
    for (TemplateDef& definition : encoded->templates) {
      if (definition.kind == TemplateKind::body) bodies_.insert(definition.id);
      templates_[definition.id] = std::move(definition.text);
    }
    const BlockHeader& header = encoded->header;
    aggregator::BlockRef block;
    block.shard = 1;
    block.id = blocks_.size();
    block.stream = stream;
    block.attributes_version = version;
    block.first = header.first;
    block.end = header.end;
    block.lines = header.lines;
    block.time_min = header.time.min;
    block.time_max = header.time.max;
    aggregator::StreamFacts& facts = streams_[stream];
    facts.lines += header.lines;
    facts.raw_bytes += header.raw_bytes;
    facts.ranges.push_back(Range{header.first, header.end});
    if (facts.ranges.size() > 1) {
      Range& last = facts.ranges[facts.ranges.size() - 2];
      if (last.end == header.first) {
        last.end = header.end;
        facts.ranges.pop_back();
      }
    }
    blocks_.push_back({block, header, std::move(encoded->bytes)});
  }

  // One flipped bit, as a bad disk would do it.
  void damage_block(std::size_t block, std::size_t byte) { blocks_[block].bytes[byte] ^= 1; }
  std::size_t block_size(std::size_t block) const { return blocks_[block].bytes.size(); }

  std::vector<aggregator::StreamFacts>& facts() { return streams_; }
  int blocks_read = 0;
  std::map<std::string, std::vector<aggregator::IterationStart>> starts;  // by process

  // By axis and level: node -> hash.
  std::map<std::string, std::map<unsigned, std::map<std::int64_t, std::uint64_t>>> nodes;

  const std::vector<aggregator::StreamFacts>& streams() const override { return streams_; }
  const std::vector<aggregator::ProcessFacts>& processes() const override { return processes_; }
  const std::set<std::int32_t>& wrapper_ranks() const override { return wrapper_ranks_; }

  Result<std::vector<aggregator::BlockRef>> candidates(
      BlockingToken&, const aggregator::BlockFilter& filter) override {
    std::vector<aggregator::BlockRef> out;
    for (const Block& block : blocks_) {
      const BlockHeader& header = block.header;
      if (filter.start && header.time.max < *filter.start) continue;
      if (filter.end && header.time.min >= *filter.end) continue;
      if (filter.streams && !filter.streams->contains(block.ref.stream)) continue;
      if ((header.severities & filter.severities) == 0) continue;
      const bool all = header.all_have_iteration;  // else a line may get one from the process
      if (filter.iteration && all &&
          (!header.iteration || header.iteration->max < filter.iteration->min ||
           header.iteration->min > filter.iteration->max)) {
        continue;
      }
      out.push_back(block.ref);
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const auto& a, const auto& b) { return a.time_min < b.time_min; });
    return out;
  }

  Result<std::vector<aggregator::IterationStart>> iterations(BlockingToken&,
                                                             const std::string& process) override {
    const auto found = starts.find(process);
    return found == starts.end() ? std::vector<aggregator::IterationStart>() : found->second;
  }

  Result<std::vector<aggregator::IterationNode>> iteration_nodes(BlockingToken&,
                                                                 const std::string& axis,
                                                                 unsigned level, std::int64_t first,
                                                                 std::int64_t last) override {
    std::vector<aggregator::IterationNode> out;
    for (const auto& [node, hash] : nodes[axis][level]) {
      if (node >= first && node <= last) out.push_back({node, hash});
    }
    return out;
  }

  Result<std::vector<aggregator::TemplateText>> body_templates(BlockingToken&) override {
    std::vector<aggregator::TemplateText> out;
    for (const TemplateId id : bodies_) out.push_back({id, templates_.at(id)});
    return out;
  }

  Result<std::vector<aggregator::BlockRef>> blocks_from(BlockingToken&, std::size_t stream,
                                                        std::uint64_t offset,
                                                        std::size_t most) override {
    std::vector<aggregator::BlockRef> out;
    for (const Block& block : blocks_) {
      if (block.ref.stream == stream && block.ref.end > offset) out.push_back(block.ref);
    }
    std::sort(out.begin(), out.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    if (out.size() > most) out.resize(most);
    return out;
  }

  Result<std::string> block_header(BlockingToken&, const aggregator::BlockRef& block) override {
    const std::string& bytes = blocks_[block.id].bytes;
    LGR_TRY(std::size_t size, header_bytes(bytes));
    return bytes.substr(0, size);
  }

  Result<std::string> block_bytes(BlockingToken&, const aggregator::BlockRef& block) override {
    ++blocks_read;
    return blocks_[block.id].bytes;
  }

  Result<std::optional<std::string_view>> template_text(BlockingToken&, std::uint64_t,
                                                        TemplateId id) override {
    auto found = templates_.find(id);
    if (found == templates_.end()) return std::optional<std::string_view>();
    return std::optional<std::string_view>(found->second);
  }

  Result<std::set<TemplateId>> templates_containing(BlockingToken&, std::uint64_t,
                                                    std::string_view literal, bool) override {
    std::set<TemplateId> out;
    for (const auto& [id, text] : templates_) {
      if (text.find(literal) != std::string::npos) out.insert(id);
    }
    return out;
  }

 private:
  struct Block {
    aggregator::BlockRef ref;
    BlockHeader header;
    std::string bytes;
  };
  std::vector<aggregator::StreamFacts> streams_;
  std::vector<aggregator::ProcessFacts> processes_;
  std::vector<Block> blocks_;
  std::map<TemplateId, std::string> templates_;
  std::set<TemplateId> bodies_;
  std::set<std::int32_t> wrapper_ranks_;
};

// A plain line: the body begins at `body_begin`, everything before is header.
inline Line make_line(std::uint64_t offset, UnixNanos time, std::string text,
                      std::uint32_t body_begin = 0) {
  Line line;
  line.offset = offset;
  line.head = offset;
  line.length = text.size() + 1;
  line.terminator = Terminator::lf;
  line.raw = std::move(text);
  line.body_begin =
      std::min<std::uint32_t>(body_begin, static_cast<std::uint32_t>(line.raw.size()));
  line.time = line.observed = time;
  line.template_id = template_of(body_of(line));
  return line;
}

}  // namespace logarithm::test
