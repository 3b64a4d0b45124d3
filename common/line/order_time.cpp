#include "common/line/order_time.h"

#include <algorithm>

namespace logarithm {
namespace {

constexpr UnixNanos kSecond = 1'000'000'000;
constexpr UnixNanos kMinute = 60 * kSecond;
constexpr UnixNanos kPast = 30 * 24 * 60 * kMinute;
constexpr UnixNanos kFuture = 60 * kMinute;
constexpr UnixNanos kStale = 30 * kSecond;

// Zones reach from -12 h to +14 h.
constexpr UnixNanos kWidestZone = 14 * 60 * kMinute;

std::optional<int> known_offset(const PrintedTime& printed, const StreamContext& context,
                                const ParserState& state) {
  if (printed.utc_offset_minutes) return printed.utc_offset_minutes;
  if (context.utc_offset_minutes) return context.utc_offset_minutes;
  return state.utc_offset_minutes;
}

// What was printed as a point in time; nullopt when that is none.
std::optional<UnixNanos> point_in_time(const PrintedTime& printed, UnixNanos observed,
                                       const StreamContext& context, ParserState& state) {
  if (printed.instant) return printed.instant;
  std::optional<int> offset = known_offset(printed, context, state);
  // Where year or day are missing the newest one that is not in the future is meant.
  const UnixNanos local_now = observed + offset.value_or(0) * kMinute;
  // A time of day in an imported file is read as it stands: what is still to come is yesterday's.
  const bool stands = context.imported ? !printed.has_date() : offset.has_value();
  const UnixNanos ahead = stands ? kFuture : kFuture + kWidestZone;
  const auto local = as_utc(printed, local_now, local_now + ahead);
  if (!local) return std::nullopt;
  // An imported file was not written at its mtime, except for its end: the importer estimates.
  if (!offset && !context.imported) {
    offset = state.utc_offset_minutes = estimate_utc_offset(*local, observed);
  }
  return *local - offset.value_or(0) * kMinute;
}

// Since the boot: lines are seen after they were written, so the boot was not later than what any
// of them says.
UnixNanos since_boot(UnixNanos uptime, UnixNanos observed, ParserState& state) {
  const UnixNanos boot = observed - std::min(uptime, observed);
  state.boot = std::min(state.boot.value_or(boot), boot);
  return *state.boot + uptime;
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
  if (printed && printed->uptime) {
    line.time = since_boot(*printed->uptime, line.observed, state);
    line.flags |= line_flag::derived_time;
    return;
  }
  const auto time = printed ? point_in_time(*printed, line.observed, context, state) : std::nullopt;
  if (time) {
    const bool early = !context.imported && *time < line.observed - kPast;
    if (*time >= 0 && !early && *time <= line.observed + kFuture) {
      line.time = *time;
      state.last_time = *time;
      state.last_time_observed = line.observed;
      return;
    }
  }
  if (printed) line.flags |= line_flag::time_suspect;
  line.flags |= line_flag::derived_time;
  line.time = derived_time(line.observed, state);
}

}  // namespace logarithm
