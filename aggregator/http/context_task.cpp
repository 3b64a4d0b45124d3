#include "aggregator/http/context_task.h"

#include <algorithm>
#include <set>

#include "aggregator/http/lines_task.h"

namespace logarithm::aggregator {
namespace {

bool by_offset(const QueryLine& a, const QueryLine& b) { return a.line.offset < b.line.offset; }

}  // namespace

Status ContextTask::open(BlockingToken& token) {
  const Error nothing(ErrorCode::not_found, "no such line: " + to_text(request_.stream) + ":" +
                                                std::to_string(request_.offset));
  auto job = storage_.job_of(token, request_.tenant, request_.stream);
  if (!job.ok()) return job.error().code() == ErrorCode::not_found ? nothing : job.error();
  LGR_TRY(view_, open_job(token, storage_, *job));
  auto stream = view_->find_stream(request_.stream);
  if (!stream) return nothing;
  stream_ = *stream;
  BlockFilter filter;
  filter.streams = std::set<std::size_t>{stream_};
  LGR_TRY(blocks_, view_->snapshot().candidates(token, filter));
  std::sort(blocks_.begin(), blocks_.end(),
            [](const BlockRef& a, const BlockRef& b) { return a.first < b.first; });
  const auto holds = [&](const BlockRef& block) {
    return block.first <= request_.offset && request_.offset < block.end;
  };
  const auto found = std::find_if(blocks_.begin(), blocks_.end(), holds);
  if (found == blocks_.end()) return nothing;
  low_ = static_cast<std::size_t>(found - blocks_.begin());
  high_ = low_ + 1;
  LGR_CHECK(read_block(token, *found));
  const auto exact = [&](const QueryLine& row) { return row.line.offset == request_.offset; };
  if (std::none_of(lines_.begin(), lines_.end(), exact)) return nothing;
  return {};
}

Status ContextTask::read_block(BlockingToken& token, const BlockRef& block) {
  LGR_TRY(std::vector<Line> lines, read_lines(token, *view_, block));
  const StreamJoin* join = view_->join_of(block);
  LGR_CHECK(view_->derive_iterations(token, *join, lines));
  for (Line& line : lines) lines_.push_back(QueryLine{std::move(line), join});
  std::sort(lines_.begin(), lines_.end(), by_offset);
  return {};
}

Result<bool> ContextTask::step(BlockingToken& token, const std::function<bool()>& time_is_up) {
  if (!view_) LGR_CHECK(open(token));
  return request_.all_ranks ? around_in_time(token, time_is_up)
                            : around_in_stream(token, time_is_up);
}

Result<bool> ContextTask::around_in_stream(BlockingToken& token,
                                           const std::function<bool()>& time_is_up) {
  while (true) {
    const auto centre = std::find_if(lines_.begin(), lines_.end(), [&](const QueryLine& row) {
      return row.line.offset == request_.offset;
    });
    const auto before = static_cast<std::size_t>(centre - lines_.begin());
    const std::size_t after = lines_.size() - before - 1;
    if (before < request_.before && low_ > 0) {
      LGR_CHECK(read_block(token, blocks_[--low_]));
    } else if (after < request_.after && high_ < blocks_.size()) {
      LGR_CHECK(read_block(token, blocks_[high_++]));
    } else {
      const std::size_t begin = before - std::min(before, request_.before);
      const std::size_t end = before + 1 + std::min(after, request_.after);
      std::vector<QueryLine> kept(
          std::make_move_iterator(lines_.begin() + static_cast<std::ptrdiff_t>(begin)),
          std::make_move_iterator(lines_.begin() + static_cast<std::ptrdiff_t>(end)));
      lines_ = std::move(kept);
      return true;
    }
    if (time_is_up()) return false;
  }
}

Result<bool> ContextTask::around_in_time(BlockingToken& token,
                                         const std::function<bool()>& time_is_up) {
  if (!backward_) {
    const auto centre = std::find_if(lines_.begin(), lines_.end(), [&](const QueryLine& row) {
      return row.line.offset == request_.offset;
    });
    ScanPlan plan;
    plan.predicate = predicate::everything();
    plan.after = key_of(*centre);
    std::vector<QueryLine> only;
    only.push_back(std::move(*centre));
    lines_ = std::move(only);
    ScanLimits limits;
    limits.memory = request_.memory / 2;
    limits.keep = std::max<std::size_t>(request_.before, 1);
    plan.direction = Direction::backward;
    backward_ = std::make_unique<Scanner>(*view_, plan, limits);
    limits.keep = std::max<std::size_t>(request_.after, 1);
    plan.direction = Direction::forward;
    forward_ = std::make_unique<Scanner>(*view_, plan, limits);
  }
  ScanTurn turn;
  turn.time_is_up = time_is_up;
  const auto fill = [&](Scanner& scanner, std::vector<QueryLine>& rows,
                        std::size_t wanted) -> Result<bool> {
    if (rows.size() >= wanted) return true;
    turn.max_rows = wanted - rows.size();
    LGR_TRY(ScanState state, scanner.next(token, turn, rows));
    return state == ScanState::finished || rows.size() >= wanted;
  };
  LGR_TRY(bool have_earlier, fill(*backward_, earlier_, request_.before));
  if (!have_earlier) return false;
  LGR_TRY(bool have_later, fill(*forward_, later_, request_.after));
  if (!have_later) return false;
  std::vector<QueryLine> all(std::make_move_iterator(earlier_.rbegin()),
                             std::make_move_iterator(earlier_.rend()));
  all.push_back(std::move(lines_.front()));
  std::move(later_.begin(), later_.end(), std::back_inserter(all));
  lines_ = std::move(all);
  return true;
}

}  // namespace logarithm::aggregator
