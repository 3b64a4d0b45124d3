#include "aggregator/http/points_task.h"

#include <algorithm>

#include "aggregator/http/lines_task.h"
#include "aggregator/query/series.h"

namespace logarithm::aggregator {

void PointsTask::write_points(const QueryLine& row) {
  const Line& line = row.line;
  const StreamJoin& join = *row.join;
  for (const MetaPair& pair : line.meta) {
    if (!point_of(pair, request_.metrics)) continue;
    writer_.begin_object().key("metric").string(pair.key).key("value");
    if (const auto* integer = std::get_if<std::int64_t>(&pair.value)) {
      writer_.integer(*integer);
    } else {
      writer_.real(std::get<double>(pair.value));
    }
    writer_.key("time").time(line.time);
    writer_.optional_integer("attempt", join.attempt);
    writer_.optional_integer("rank", rank_of(line, join));
    writer_.optional_integer("iteration", line.iteration);
    writer_.optional_string("host", join.attributes->host);
    writer_.optional_string("stream", stream_name(line, join));
    writer_.key("line").string(join.stream_text + ":" + std::to_string(line.offset));
    writer_.end_object();
    ++written_;
  }
}

Result<bool> PointsTask::step(BlockingToken& token, const std::function<bool()>& time_is_up) {
  if (!view_) {
    LGR_TRY(view_, open_job(token, storage_, request_.job));
    LGR_CHECK(check_named(*view_, request_.named));
    ScanLimits limits;
    limits.memory = request_.memory;
    scanner_ = std::make_unique<Scanner>(*view_, request_.plan, limits);
  }
  ScanTurn turn;
  turn.max_rows = kTurnRows;
  turn.time_is_up = time_is_up;
  std::vector<QueryLine> rows;
  LGR_TRY(ScanState state, scanner_->next(token, turn, rows));
  for (const QueryLine& row : rows) {
    const auto& meta = row.line.meta;
    const bool has_point = std::any_of(meta.begin(), meta.end(), [&](const MetaPair& pair) {
      return point_of(pair, request_.metrics).has_value();
    });
    if (!has_point) continue;
    if (written_ >= request_.limit) {
      Cursor cursor;
      cursor.direction = request_.plan.direction;
      cursor.query_hash = request_.query_hash;
      cursor.after = *last_;
      cursor.start = request_.plan.start;
      cursor.end = request_.plan.end;
      next_ = cursor;
      return true;
    }
    write_points(row);
    last_ = key_of(row);
  }
  return state == ScanState::finished;
}

}  // namespace logarithm::aggregator
