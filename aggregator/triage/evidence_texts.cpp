#include "aggregator/triage/evidence_texts.h"

#include <string>
#include <utility>
#include <vector>

#include "aggregator/query/block_rows.h"
#include "common/base/utf8.h"

namespace logarithm::aggregator::triage {
namespace {

constexpr std::size_t kTextBytes = 400;

Result<std::string> text_of_line(BlockingToken& token, JobView& view, const LineRef& ref) {
  const auto stream = view.find_stream(ref.stream);
  if (!stream) return Error(ErrorCode::not_found, "no such stream");
  LGR_TRY(std::vector<BlockRef> blocks, view.snapshot().blocks_from(token, *stream, ref.offset, 1));
  if (blocks.empty()) return Error(ErrorCode::not_found, "no such line");
  LGR_TRY(std::vector<Line> lines,
          read_lines(token, view, blocks.front(), BlockPart::facts | BlockPart::text));
  for (const Line& line : lines) {
    if (line.offset == ref.offset) return sanitize_utf8(text_of(line)).substr(0, kTextBytes);
  }
  return Error(ErrorCode::not_found, "no such line");
}

}  // namespace

Status fill_texts(BlockingToken& token, JobView& view, JobView* host_view, Verdict& verdict) {
  for (Evidence& evidence : verdict.evidence) {
    if (evidence.lines.empty()) continue;
    auto text = text_of_line(token, view, evidence.lines.front());
    if (!text.ok() && host_view != nullptr) {
      text = text_of_line(token, *host_view, evidence.lines.front());
    }
    if (text.ok()) {
      evidence.text = std::move(*text);
    } else if (text.error().code() != ErrorCode::not_found) {
      return text.error();
    }
  }
  return {};
}

}  // namespace logarithm::aggregator::triage
