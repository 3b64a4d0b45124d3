#include "common/line/log_level.h"

#include <doctest/doctest.h>

namespace logarithm {

TEST_CASE("Log level: words in one case, as loggers print them") {
  CHECK(level_word("WARNING")->severity == Severity::warning);
  CHECK(level_word("Warning")->severity == Severity::warning);
  CHECK(level_word("warn")->severity == Severity::warning);
  CHECK(level_word("CRITICAL")->severity == Severity::fatal);
  CHECK(level_word("WRN")->severity == Severity::warning);
  CHECK(level_word("EMERGENCY")->severity == Severity::fatal);
  CHECK(level_word("INFO")->upper);
  CHECK_FALSE(level_word("info")->upper);
  CHECK_FALSE(level_word("LOG")->plain);
  CHECK(level_word("debug2")->severity == Severity::debug);
  CHECK(level_word("DEBUG1")->upper);
}

TEST_CASE("Log level: other words, mixed cases and parts of words are none") {
  for (std::string_view word : {"", "I", "INFORMATION", "iNFO", "INFo", "ERRORS", "FAILED",
                                "WARNINGS", "DEBUG12", "INFO1", "INFO-", "EMERGENCYS"}) {
    CAPTURE(std::string(word));
    CHECK_FALSE(level_word(word).has_value());
  }
  CHECK_FALSE(level_letter('X').has_value());
  CHECK(level_letter('E') == Severity::error);
}

}  // namespace logarithm
