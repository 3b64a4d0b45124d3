#include "aggregator/http/lines_task.h"

#include <algorithm>

#include "aggregator/http/views.h"

namespace logarithm::aggregator {

Result<std::unique_ptr<JobView>> open_job(BlockingToken& token, Storage& storage,
                                          const JobKey& job) {
  auto snapshot = storage.snapshot(token, job);
  if (!snapshot.ok()) {
    if (snapshot.error().code() != ErrorCode::not_found) return snapshot.error();
    return Error(ErrorCode::not_found, "no such job: " + job.job);
  }
  return std::make_unique<JobView>(job, std::move(snapshot).value());
}

LinesTask::LinesTask(Storage& storage, LinesRequest request)
    : storage_(storage), request_(std::move(request)) {}

Status LinesTask::open(BlockingToken& token) {
  scanner_.reset();
  LGR_TRY(auto view, open_job(token, storage_, request_.job));
  if (view_) damage_ = view_->damage();
  view->take_damage(damage_);
  view_ = std::move(view);
  ScanLimits limits;
  limits.memory = request_.memory;
  if (request_.limit) limits.keep = static_cast<std::size_t>(*request_.limit) + 1;
  ScanPlan plan = request_.plan;
  if (last_) plan.after = last_;
  scanner_ = std::make_unique<Scanner>(*view_, std::move(plan), limits);
  if (request_.clock != nullptr) opened_ = request_.clock->now();
  return {};
}

// Only once lines were given: until then there is no place to go on from.
bool LinesTask::is_old() const {
  return request_.clock != nullptr && last_ && request_.clock->now() - opened_ > kSnapshotAge;
}

std::shared_ptr<void> LinesTask::park() {
  struct Held {
    std::unique_ptr<JobView> view;
    std::unique_ptr<Scanner> scanner;  // refers to the view
  };
  // Without a last line there is no place to go on from; a renewal needs the clock, too.
  if (!view_ || !last_ || finished_ || request_.clock == nullptr) return nullptr;
  damage_ = view_->damage();
  auto held = std::make_shared<Held>();
  held->view = std::move(view_);
  held->scanner = std::move(scanner_);
  return held;
}

void LinesTask::end_with_cursor() {
  finished_ = true;
  if (!last_) return;
  Cursor cursor;
  cursor.direction = request_.plan.direction;
  cursor.query_hash = request_.query_hash;
  cursor.after = *last_;
  cursor.start = request_.plan.start;
  cursor.end = request_.plan.end;
  next_ = cursor;
}

Result<bool> LinesTask::step(BlockingToken& token, const std::function<bool()>& time_is_up) {
  if (!view_ || is_old()) LGR_CHECK(open(token));
  ScanTurn turn;
  turn.max_rows = kPieceRows;
  turn.max_bytes = kPieceBytes;
  turn.time_is_up = time_is_up;
  // One more than wanted tells whether there is a next page.
  if (request_.limit) {
    turn.max_rows = std::min<std::uint64_t>(turn.max_rows, *request_.limit + 1 - written_);
  }
  std::vector<QueryLine> rows;
  LGR_TRY(ScanState state, scanner_->next(token, turn, rows));
  for (const QueryLine& row : rows) {
    const bool full = (request_.limit && written_ == *request_.limit) ||
                      (!request_.ndjson && writer_.text().size() >= kMaxPageBytes);
    if (full) {
      end_with_cursor();
      return true;
    }
    write_line(writer_, row);
    if (request_.ndjson) writer_.newline();
    last_ = key_of(row);
    ++written_;
  }
  if (state == ScanState::finished) finished_ = true;
  return finished_ || (request_.ndjson && !rows.empty());
}

Result<bool> CountTask::step(BlockingToken& token, const std::function<bool()>& time_is_up) {
  if (!view_) {
    LGR_TRY(view_, open_job(token, storage_, job_));
    counter_ = std::make_unique<Counter>(*view_, plan_);
  }
  LGR_TRY(ScanState state, counter_->next(token, time_is_up));
  return state == ScanState::finished;
}

}  // namespace logarithm::aggregator
