#include "common/model/job_name.h"

#include <doctest/doctest.h>

#include "common/base/utf8.h"

namespace logarithm {

TEST_CASE("JobName: what is stated must be text and not too long") {
  CHECK_FALSE(problem_of_job_name("run7/a b?"));
  CHECK_FALSE(problem_of_job_name("läuft"));
  CHECK_FALSE(problem_of_job_name(std::string(kMaxJobBytes, 'x')));
  CHECK(problem_of_job_name("bad\xff") == "is not valid UTF-8");
  CHECK(problem_of_job_name(std::string(kMaxJobBytes + 1, 'x')) == "is longer than 1024 bytes");
}

TEST_CASE("JobName: what nobody stated becomes usable, different names stay different") {
  CHECK(usable_job_name("run7") == "run7");
  CHECK(usable_job_name("d\xff") == "d\xEF\xBF\xBD");
  for (const std::string& character : {std::string("x"), std::string("ä"), std::string("\xff")}) {
    CAPTURE(character);
    std::string name;
    while (name.size() < 5000) name += character;
    const std::string one = usable_job_name(name + "1"), two = usable_job_name(name + "2");
    CHECK(one != two);
    CHECK(one.size() <= kMaxJobBytes);
    CHECK(valid_utf8(one));
    CHECK_FALSE(problem_of_job_name(one));
    CHECK(usable_job_name(one) == one);
  }
}

}  // namespace logarithm
