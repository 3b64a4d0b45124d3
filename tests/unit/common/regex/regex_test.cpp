#include "common/regex/regex.h"

#include <doctest/doctest.h>

namespace logarithm {

TEST_CASE("Regex: a refused pattern says why and where") {
  auto regex = Regex::compile("a(b", RegexMode::utf8);
  REQUIRE_FALSE(regex.ok());
  CHECK(regex.error().code() == ErrorCode::invalid);
  CHECK(regex.error().message().find("missing )") != std::string::npos);
  CHECK(regex.error().message().find("at character 1") != std::string::npos);
  auto unknown = Regex::compile("ab(?=c)", RegexMode::utf8);
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().message().find("at character 3") != std::string::npos);
}

TEST_CASE("Regex: a group name used twice is refused, also in two branches") {
  CHECK_FALSE(Regex::compile("(?P<x>a)(?P<x>b)", RegexMode::utf8).ok());
  CHECK_FALSE(Regex::compile("(?P<x>a)|(?P<x>b)", RegexMode::utf8).ok());
  CHECK(Regex::compile("(?P<x>a)|(?P<y>b)", RegexMode::utf8).ok());
}

TEST_CASE("Regex: non-ASCII patterns are refused over bytes and work over text") {
  CHECK_FALSE(Regex::compile("caf\xC3\xA9", RegexMode::latin1).ok());
  auto regex = Regex::compile("caf.$", RegexMode::utf8);
  CHECK(regex->search("caf\xC3\xA9"));
  CHECK_FALSE(Regex::compile("caf.$", RegexMode::latin1)->search("caf\xC3\xA9"));
}

TEST_CASE("Regex: a pattern over the limit is refused") {
  CHECK(Regex::compile(std::string(20'000, 'a'), RegexMode::utf8).error().code() ==
        ErrorCode::too_large);
}

TEST_CASE("Regex: a group that did not take part differs from an empty one") {
  auto regex = Regex::compile("(?P<a>x)?(?P<b>y*)z", RegexMode::latin1);
  Regex::Groups groups;
  REQUIRE(regex->search("--z", groups));
  REQUIRE(groups.size() == 3);
  CHECK(groups[0] == "z");
  CHECK_FALSE(groups[1].has_value());
  REQUIRE(groups[2].has_value());
  CHECK(groups[2]->empty());
  CHECK(regex->group_names() == std::vector<std::string>{"", "a", "b"});
}

TEST_CASE("Regex: an empty text is searched, not mistaken for no text") {
  Regex::Groups groups;
  REQUIRE(Regex::compile("^(a*)$", RegexMode::latin1)->search(std::string_view(), groups));
  CHECK(groups[1] == "");
}

TEST_CASE("Regex: search is unanchored, full_match is not, case folds on demand") {
  auto regex = Regex::compile("ab+", RegexMode::utf8, true);
  CHECK(regex->search("xxABBy"));
  CHECK_FALSE(regex->full_match("xxABBy"));
  CHECK(regex->full_match("aBb"));
  CHECK_FALSE(Regex::compile("ab+", RegexMode::utf8)->search("AB"));
}

TEST_CASE("Regex: search_from still sees what is before") {
  auto regex = Regex::compile("\\bb", RegexMode::latin1);
  Regex::Groups groups;
  CHECK_FALSE(regex->search_from("ab", 1, groups));
  CHECK(regex->search_from("a b", 1, groups));
  CHECK_FALSE(regex->search_from("b", 2, groups));
}

TEST_CASE("Regex: a NUL in the text is a byte like others") {
  CHECK(Regex::compile("a.b", RegexMode::latin1)->search(std::string_view("a\0b", 3)));
}

}  // namespace logarithm
