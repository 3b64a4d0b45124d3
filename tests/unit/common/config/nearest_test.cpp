#include "common/config/nearest.h"

#include <doctest/doctest.h>

namespace logarithm::config {

TEST_CASE("nearest_name: a misspelling finds its name, a different word finds none") {
  const std::vector<std::string> known{"state_dir", "aggregator", "spool", "files"};

  CHECK(nearest_name("agregator", known) == "aggregator");
  CHECK(nearest_name("state-dir", known) == "state_dir");
  CHECK(nearest_name("file", known) == "files");
  CHECK_FALSE(nearest_name("metrics", known));
  CHECK_FALSE(nearest_name(std::string(1000, 'a'), known));
  CHECK_FALSE(nearest_name("x", {}));
}

}  // namespace logarithm::config
