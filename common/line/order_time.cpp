#include "common/line/order_time.h"

#include <algorithm>

namespace logarithm {
namespace {

constexpr UnixNanos kSecond = 1'000'000'000;
constexpr UnixNanos kMinute = 60 * kSecond;
constexpr UnixNanos kPast = 30 * 24 * 60 * kMinute;
constexpr UnixNanos kFuture = 60 * kMinute;
constexpr UnixNanos kStale = 30 * kSecond;

int utc_offset(const PrintedTime& printed, UnixNanos local, UnixNanos observed,
               const StreamContext& context, ParserState& state) {
  if (printed.utc_offset_minutes) return *printed.utc_offset_minutes;
  if (context.utc_offset_minutes) return *context.utc_offset_minutes;
  if (state.utc_offset_minutes) return *state.utc_offset_minutes;
  // An imported file was not written at its mtime, except for its end: the importer estimates.
  if (context.imported) return 0;
  state.utc_offset_minutes = estimate_utc_offset(local, observed);
  return state.utc_offset_minutes.value_or(0);
}

// A time that was not printed. Long after the last printed one (a stream that prints times only at
// its start) time has gone on, as the agent's clock saw it.
UnixNanos derived_time(UnixNanos observed, const ParserState& state) {
  if (!state.last_time) return observed;
  const UnixNanos passed = observed - state.last_time_observed;
  if (passed <= kStale) return *state.last_time;
  return passed > kPast ? observed : *state.last_time + passed;
}

}  // namespace

void set_order_time(Line& line, const std::optional<PrintedTime>& printed,
                    const StreamContext& context, ParserState& state) {
  const auto local = printed ? as_utc(*printed, line.observed) : std::nullopt;
  if (local) {
    const UnixNanos time =
        *local - utc_offset(*printed, *local, line.observed, context, state) * kMinute;
    const bool early = !context.imported && time < line.observed - kPast;
    if (time >= 0 && !early && time <= line.observed + kFuture) {
      line.time = time;
      state.last_time = time;
      state.last_time_observed = line.observed;
      return;
    }
  }
  if (printed) line.flags |= line_flag::time_suspect;
  line.flags |= line_flag::derived_time;
  line.time = derived_time(line.observed, state);
}

}  // namespace logarithm
