#include "aggregator/triage/checkpoints.h"

#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "aggregator/query/open_block.h"

namespace logarithm::aggregator::triage {
namespace {

constexpr std::size_t kLastWords = 3;  // of a rank in a block

bool speaks_of_checkpoint(std::string_view text) {
  std::string low(text);
  for (char& c : low) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return low.find("checkpoint") != std::string::npos || low.find("ckpt") != std::string::npos;
}

}  // namespace

Status note_checkpoints(BlockingToken& token, JobView& view, const BlockRef& block,
                        BlockSurvey& survey) {
  std::map<std::uint64_t, TailLine*> unknown;  // by offset
  for (auto& [number, rank] : survey.ranks) {
    for (std::size_t i = 0; i < rank.tail.size(); ++i) {
      TailLine& line = rank.tail[i];
      LGR_TRY(auto text, view.snapshot().template_text(token, block.shard, line.template_id));
      if (text) line.checkpoint = speaks_of_checkpoint(*text);
      if (!text && i + kLastWords >= rank.tail.size()) unknown[line.line.offset] = &line;
    }
  }
  if (unknown.empty()) return {};
  std::vector<std::uint64_t> offsets;
  for (const auto& [offset, line] : unknown) offsets.push_back(offset);
  LGR_TRY(const OpenBlock open, OpenBlock::open(token, view, block));
  LGR_TRY(const RowSet rows, open.reader().rows_at(offsets));
  LGR_TRY(const auto lines, open.lines(token, view, BlockPart::facts | BlockPart::text, rows));
  for (const Line& line : lines) {
    const auto found = unknown.find(line.offset);
    if (found != unknown.end()) found->second->checkpoint = speaks_of_checkpoint(text_of(line));
  }
  return {};
}

}  // namespace logarithm::aggregator::triage
