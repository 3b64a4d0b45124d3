#include "common/model/failure_order.h"

#include <doctest/doctest.h>

namespace logarithm {

TEST_CASE("about_span: the unit that reads best, no sign, no digits that nobody needs") {
  struct Case {
    double ms;
    const char* text;
  };
  for (const Case& one :
       {Case{0, "0 µs"}, Case{0.04, "40 µs"}, Case{0.9994, "999 µs"}, Case{0.9996, "1 ms"},
        Case{7.5, "7.5 ms"}, Case{-7.5, "7.5 ms"}, Case{12.04, "12 ms"}, Case{748, "748 ms"},
        Case{999.96, "1 s"}, Case{2225.162, "2.2 s"}, Case{60'000, "60 s"}, Case{119'960, "2 min"},
        Case{37.4 * 60'000, "37 min"}, Case{119.6 * 60'000, "2 h"}, Case{5.1 * 3'600'000, "5.1 h"},
        Case{72.0 * 3'600'000, "3 days"}}) {
    CAPTURE(one.ms);
    CHECK(about_span(one.ms) == one.text);
  }
}

TEST_CASE("failure_order: says what is known of the order, and never a negative distance") {
  CHECK(failure_order(true, std::nullopt, std::nullopt) == "certain");
  CHECK(failure_order(false, std::nullopt, std::nullopt) == "cannot be ordered by time");
  CHECK(failure_order(true, 50, 2) == "certain: 50 ms before the next one, times known to ± 2 ms");
  for (const double margin : {7.5, -7.5}) {
    CHECK(failure_order(false, margin, 2225.162) ==
          "cannot be ordered by time: 7.5 ms apart, times known to ± 2.2 s");
  }
}

TEST_CASE("failure_order: two times that are apart are not said to be within their error") {
  CHECK(
      failure_order(false, 50, 2) ==
      "cannot be ordered by time: 50 ms before the next one (± 2 ms), but not all times are known");
  CHECK(failure_order(false, -5000, 10) ==
        "cannot be ordered by time: the next one's time is 5 s earlier (± 10 ms), what was said "
        "decides");
}

}  // namespace logarithm
