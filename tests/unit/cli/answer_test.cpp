#include "cli/answer.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace logarithm::cli {

TEST_CASE("ndjson_record: case 90, one record is one line for every reader") {
  const std::string text =
      "a\xE2\x80\xA8"
      "b\xE2\x80\xA9"
      "c\xC2\x85"
      "d\xC2\x84\xE2\x80\xA7\n";
  const std::string record = ndjson_record({{"text", text}});
  CHECK(record == "{\"text\":\"a\\u2028b\\u2029c\\u0085d\xC2\x84\xE2\x80\xA7\\n\"}\n");
  CHECK(nlohmann::json::parse(record)["text"] == text);
}

}  // namespace logarithm::cli
