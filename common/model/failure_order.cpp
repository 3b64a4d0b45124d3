#include "common/model/failure_order.h"

#include <cmath>
#include <cstdio>

namespace logarithm {
namespace {

// "7.5 ms", "12 ms".
std::string in_unit(double value, const char* unit) {
  const double tenths = std::round(value * 10) / 10;
  char text[48];
  std::snprintf(text, sizeof text, tenths == std::floor(tenths) ? "%.0f %s" : "%.1f %s", tenths,
                unit);
  return text;
}

}  // namespace

std::string about_span(double milliseconds) {
  const double ms = std::fabs(milliseconds);
  // The bounds are those of what is shown: 999.97 ms are "1 s".
  if (ms < 0.9995) return in_unit(std::round(ms * 1000), "µs");
  if (ms < 999.95) return in_unit(ms, "ms");
  const double seconds = ms / 1000;
  if (seconds < 119.95) return in_unit(seconds, "s");
  if (seconds < 119.5 * 60) return in_unit(std::round(seconds / 60), "min");
  if (seconds < 47.95 * 3600) return in_unit(seconds / 3600, "h");
  return in_unit(seconds / 86400, "days");
}

std::string failure_order(bool certain, std::optional<double> margin_ms,
                          std::optional<double> error_ms) {
  const std::string verdict = certain ? "certain" : "cannot be ordered by time";
  if (!margin_ms || !error_ms) return verdict;
  const std::string apart = about_span(*margin_ms), error = about_span(*error_ms);
  if (certain) return verdict + ": " + apart + " before the next one, times known to ± " + error;
  if (std::fabs(*margin_ms) <= *error_ms) {
    return verdict + ": " + apart + " apart, times known to ± " + error;
  }
  // The two are apart, and it is something else that is not known.
  if (*margin_ms > 0) {
    return verdict + ": " + apart + " before the next one (± " + error +
           "), but not all times are known";
  }
  return verdict + ": the next one's time is " + apart + " earlier (± " + error +
         "), what was said decides";
}

}  // namespace logarithm
