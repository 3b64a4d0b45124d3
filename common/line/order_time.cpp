#include "common/line/order_time.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

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

constexpr std::int32_t kSummer = 60;  // minutes
// Going back by so much is no disorder of writers.
constexpr UnixNanos kStepBack = 30 * kMinute;

// Nights in which summer time begins or ends nearly everywhere: before a Sunday of spring or
// autumn.
bool is_changing_night(UnixNanos local) {
  using namespace std::chrono;
  const auto at = sys_time<nanoseconds>{nanoseconds{local}};
  const auto day = floor<days>(at);
  const auto hour = floor<hours>(at - day).count();
  const auto month = static_cast<unsigned>(year_month_day{day}.month());
  const bool season = month == 3 || month == 4 || (month >= 9 && month <= 11);
  const weekday today{day};
  return season && ((today == Sunday && hour < 4) || (today == Saturday && hour == 23));
}

// The zone is one from when the stream began (or, of an import, ended). A line that was written
// just now tells when it is another one: an hour ahead it cannot be; where it goes back by about an
// hour in such a night, the hour comes twice.
int through_change(int offset, UnixNanos local, UnixNanos observed, ParserState& state) {
  ClockChange& change = state.clock_change;
  if (change.by != 0 && change.from != offset) change = ClockChange();  // it was found out anew
  const int zone = offset + change.by;
  const auto seen = estimate_utc_offset(local, observed);
  if (!seen || std::abs(*seen - offset) > kSummer) return zone;
  const bool back = state.last_time && local - zone * kMinute < *state.last_time - kStepBack;
  const bool ended =
      *seen == zone - kSummer && back && (*seen == offset || is_changing_night(local));
  if (*seen != zone + kSummer && !ended) return zone;
  change.from = offset;
  change.by = *seen - offset;
  return *seen;
}

// In an import nothing tells the first of the two hours from the second: the zone is that of the
// file's end, and until that goes on the second is one moment.
bool comes_twice(UnixNanos time, UnixNanos local, ParserState& state) {
  bool& doubled = state.clock_change.doubled;
  const UnixNanos behind = state.last_time.value_or(time) - time;
  if (behind <= 0 || behind > kSummer * kMinute) {
    doubled = false;
  } else if (!doubled) {
    doubled = behind > kStepBack && is_changing_night(local);
  }
  return doubled;
}

// What was printed as a point in time; nullopt when that is none.
std::optional<UnixNanos> point_in_time(const PrintedTime& printed, UnixNanos observed,
                                       const StreamContext& context, ParserState& state,
                                       bool& twice) {
  twice = false;
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
  if (printed.utc_offset_minutes) return *local - *offset * kMinute;
  if (context.imported) {
    const UnixNanos time = *local - offset.value_or(0) * kMinute;
    twice = comes_twice(time, *local, state);
    return time;
  }
  if (!offset) return *local;
  return *local - through_change(*offset, *local, observed, state) * kMinute;
}

// Since the boot: lines are seen after they were written, so the boot was not later than what any
// of them says.
UnixNanos since_boot(UnixNanos uptime, UnixNanos observed, const StreamContext& context,
                     ParserState& state) {
  UnixNanos boot = observed - std::min(uptime, observed);
  if (context.boot) boot = std::min(boot, *context.boot);
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
    line.time = since_boot(*printed->uptime, line.observed, context, state);
    line.flags |= line_flag::derived_time;
    return;
  }
  bool twice = false;
  const auto time =
      printed ? point_in_time(*printed, line.observed, context, state, twice) : std::nullopt;
  if (time && twice) {
    line.time = *state.last_time;
    line.flags |= line_flag::derived_time;
    return;
  }
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
