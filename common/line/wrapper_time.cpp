#include "common/line/wrapper_time.h"

#include <chrono>

namespace logarithm {
namespace {

constexpr UnixNanos kMinute = 60'000'000'000;

int year_of(UnixNanos time) {
  using namespace std::chrono;
  const auto day = floor<days>(sys_time<nanoseconds>{nanoseconds{time}});
  return static_cast<int>(year_month_day{day}.year());
}

}  // namespace

std::optional<PrintedTime> merge_times(const std::optional<PrintedTime>& inner,
                                       const std::optional<PrintedTime>& outer,
                                       UnixNanos observed) {
  if (!inner) return outer;
  if (inner->instant) return inner;
  if (inner->uptime) return outer ? outer : inner;
  if (!outer || !outer->utc_offset_minutes) return inner;
  if (inner->year && inner->utc_offset_minutes) return inner;
  const auto wrapped = as_utc(*outer, observed);
  if (!wrapped) return inner;
  const UnixNanos at = *wrapped - *outer->utc_offset_minutes * kMinute;
  PrintedTime time = *inner;
  const auto local = as_utc(time, at);
  if (!local) return inner;
  time.year = year_of(*local);
  if (!time.utc_offset_minutes) {
    // The wrapper's zone is that of the machine that logs, not that of the process, but the two
    // times are of the same moment.
    time.utc_offset_minutes = estimate_utc_offset(*local, at);
    if (!time.utc_offset_minutes && *outer->utc_offset_minutes != 0) {
      time.utc_offset_minutes = outer->utc_offset_minutes;
    }
  }
  return time;
}

PrintedTime printed_utc(UnixNanos time) {
  using namespace std::chrono;
  const sys_time<nanoseconds> at{nanoseconds{time}};
  const auto day = floor<days>(at);
  const year_month_day date{day};
  const hh_mm_ss clock{at - day};
  PrintedTime out;
  out.year = static_cast<int>(date.year());
  out.month = static_cast<unsigned>(date.month());
  out.day = static_cast<unsigned>(date.day());
  out.hour = static_cast<unsigned>(clock.hours().count());
  out.minute = static_cast<unsigned>(clock.minutes().count());
  out.second = static_cast<unsigned>(clock.seconds().count());
  out.nanos = clock.subseconds().count();
  out.utc_offset_minutes = 0;
  return out;
}

}  // namespace logarithm
