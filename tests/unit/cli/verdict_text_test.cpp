#include "cli/verdict_text.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace logarithm::cli {
namespace {

using nlohmann::json;

std::string shown(const json& first) {
  return verdict_text({{"job", "j"},
                       {"attempt", 0},
                       {"verdict", "failed"},
                       {"kind", "exception"},
                       {"summary", "Rank 2 was the first to fail."},
                       {"phase", "training"},
                       {"first", first},
                       {"evidence", json::array()}},
                      "logarithm context");
}

}  // namespace

TEST_CASE("verdict_text: the order is told in words, without a negative distance") {
  json first = {{"ranks", {2}}, {"certain", false}, {"margin_ms", -7.5}, {"error_ms", 2225.162}};
  CHECK(shown(first).find(
            "order  cannot be ordered by time: 7.5 ms apart, times known to ± 2.2 s\n") !=
        std::string::npos);
  first["certain"] = true;
  first["margin_ms"] = 50;
  first["error_ms"] = 0.25;
  CHECK(shown(first).find("order  certain: 50 ms before the next one, times known to ± 250 µs\n") !=
        std::string::npos);
}

TEST_CASE("verdict_text: an order without times has none beside it") {
  json first = {{"ranks", {2}}, {"certain", true}, {"margin_ms", nullptr}, {"error_ms", nullptr}};
  CHECK(shown(first).find("order  certain\n") != std::string::npos);
  first["certain"] = false;
  CHECK(shown(first).find("order  cannot be ordered by time\n") != std::string::npos);
}

}  // namespace logarithm::cli
