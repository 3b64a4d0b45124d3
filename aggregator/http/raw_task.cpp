#include "aggregator/http/raw_task.h"

#include <algorithm>
#include <set>

#include "aggregator/http/lines_task.h"
#include "aggregator/query/block_rows.h"

namespace logarithm::aggregator {

namespace {

// The pieces of a joined line lie where they lay in the file: lines of another output may have come
// between them.
void append_raw(const std::vector<const Line*>& lines, std::string& out) {
  struct Piece {
    std::uint64_t offset;
    std::string_view bytes;
    Terminator terminator;
  };
  std::vector<Piece> pieces;
  bool sorted = true;
  for (const Line* line : lines) {
    std::string_view rest = line->raw;
    for (std::size_t i = 0; i + 1 < line->extents.size(); ++i) {
      const std::string_view piece = rest.substr(0, line->extents[i].length);
      rest.remove_prefix(piece.size());
      pieces.push_back({line->extents[i].offset, piece, Terminator::none});
    }
    const std::uint64_t at = line->extents.empty() ? line->offset : line->extents.back().offset;
    pieces.push_back({at, rest, line->terminator});
    sorted = sorted && line->extents.empty();
  }
  if (!sorted) {
    std::stable_sort(pieces.begin(), pieces.end(),
                     [](const Piece& a, const Piece& b) { return a.offset < b.offset; });
  }
  for (const Piece& piece : pieces) {
    out += piece.bytes;
    out += bytes_of(piece.terminator);
  }
}

}  // namespace

Status RawTask::open(BlockingToken& token) {
  LGR_TRY(view_, open_job(token, storage_, request_.job));
  auto stream = view_->find_stream(request_.stream);
  if (!stream) {
    return Error(ErrorCode::not_found, "no such stream in the job: " + to_text(request_.stream));
  }
  stream_ = *stream;
  BlockFilter filter;
  filter.streams = std::set<std::size_t>{stream_};
  LGR_TRY(blocks_, view_->snapshot().candidates(token, filter));
  const std::uint64_t from = std::max(request_.from, done_);
  std::erase_if(blocks_, [&](const BlockRef& block) {
    return block.end <= from || block.first >= request_.to;
  });
  std::sort(blocks_.begin(), blocks_.end(),
            [](const BlockRef& a, const BlockRef& b) { return a.first < b.first; });
  next_ = 0;
  if (request_.clock != nullptr) opened_at_ = request_.clock->now();
  return {};
}

Result<bool> RawTask::step(BlockingToken& token, const std::function<bool()>& time_is_up) {
  if (!opened_) {
    LGR_CHECK(open(token));
    opened_ = true;
    return true;
  }
  const bool old = request_.clock != nullptr && request_.clock->now() - opened_at_ > kSnapshotAge;
  if (!view_ || old) LGR_CHECK(open(token));
  piece_.clear();
  while (next_ < blocks_.size() && piece_.size() < kPieceBytes) {
    if (time_is_up()) return !piece_.empty();
    LGR_TRY(std::vector<Line> lines, read_lines(token, *view_, blocks_[next_]));
    std::vector<const Line*> wanted;
    wanted.reserve(lines.size());
    for (const Line& line : lines) {
      if (line.offset < std::max(request_.from, done_) || line.offset >= request_.to) continue;
      wanted.push_back(&line);
    }
    append_raw(wanted, piece_);
    done_ = std::max(done_, blocks_[next_].end);
    ++next_;
  }
  return true;
}

std::shared_ptr<void> RawTask::park() {
  if (!opened_ || finished() || !view_) return nullptr;
  return std::shared_ptr<void>(std::move(view_));
}

std::size_t RawTask::gaps() const {
  const StreamFacts& facts = view_->snapshot().streams()[stream_];
  const auto inside = [&](const Gap& gap) {
    return gap.from < request_.to && gap.to.value_or(UINT64_MAX) > request_.from;
  };
  const auto number =
      static_cast<std::size_t>(std::count_if(facts.gaps.begin(), facts.gaps.end(), inside));
  // What is missing between stored ranges without a gap that says so is still to come.
  return number + (facts.ranges.size() > 1 && facts.gaps.empty() ? facts.ranges.size() - 1 : 0);
}

}  // namespace logarithm::aggregator
