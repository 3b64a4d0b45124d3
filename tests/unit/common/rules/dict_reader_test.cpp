#include "common/rules/dict_reader.h"

#include <doctest/doctest.h>

#include <cmath>

namespace logarithm {
namespace {

std::string keys(const std::vector<DictEntry>& entries) {
  std::string out;
  for (const auto& entry : entries) out += (out.empty() ? "" : " ") + entry.key;
  return out;
}

}  // namespace

TEST_CASE("Dictionary: JSON with bare NaN, nesting and escapes gives typed scalars") {
  std::vector<DictEntry> entries;
  REQUIRE(
      read_dict(R"({"loss": NaN, "step": 40, "a": {"lr": 1e-3, "x": [1, {"y": 2}]}, "ok": true,)"
                R"( "none": null, "t": "q\"\u00e9", "n": "2.5"})",
                DictSyntax::json, entries));
  CHECK(keys(entries) == "loss step a.lr ok t n");
  CHECK(std::isnan(std::get<double>(entries[0].value)));
  CHECK(std::get<std::int64_t>(entries[1].value) == 40);
  CHECK(std::get<double>(entries[2].value) == 1e-3);
  CHECK(std::get<std::string>(entries[4].value) == "q\"\xC3\xA9");
  CHECK(std::get<double>(entries[5].value) == 2.5);
  CHECK(entries[5].number);
}

TEST_CASE("Dictionary: Python's forms are read, tensors are their number") {
  std::vector<DictEntry> entries;
  REQUIRE(
      read_dict("{'loss': tensor(2.31, device='cuda:0'), 'a': None, 'b': '-inf', 'c': (1, 2), "
                "'d': np.float64(0.5), }",
                DictSyntax::python, entries));
  CHECK(keys(entries) == "loss b d");
  CHECK(std::get<double>(entries[0].value) == 2.31);
  CHECK(std::get<double>(entries[1].value) == -INFINITY);
}

TEST_CASE("Dictionary: a number that no double holds leaves the other entries readable") {
  std::vector<DictEntry> entries;
  for (const DictSyntax syntax : {DictSyntax::json, DictSyntax::python}) {
    REQUIRE(
        read_dict(R"({"step": 40, "grad_norm": 1e400, "low": -1E+999, "lr": 1e-400, "loss": 2})",
                  syntax, entries));
    CHECK(keys(entries) == "step grad_norm low lr loss");
    CHECK(std::get<double>(entries[1].value) == INFINITY);
    CHECK(entries[1].text == "1e400");
    CHECK(std::get<double>(entries[2].value) == -INFINITY);
    CHECK(std::get<double>(entries[3].value) == 0.0);
    CHECK(std::get<std::int64_t>(entries[4].value) == 2);
  }
  REQUIRE(read_dict("{'grad_norm': tensor(1e400), 'b': '1e400'}", DictSyntax::python, entries));
  CHECK(std::get<double>(entries[0].value) == INFINITY);
  CHECK(std::get<double>(entries[1].value) == INFINITY);
}

TEST_CASE("Dictionary: anything else is refused, whatever its bytes") {
  std::vector<DictEntry> entries;
  for (std::string_view body : {"", "{", "}", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1} x", "[1]",
                                "{'a': 1}", "{\"a\": word}", "{\"a\": \"\\u12\"}", "{\"a\": \"x",
                                "{\"a\": [}", "{1: 2}", "{\"a\": [[[\"]}"}) {
    CAPTURE(std::string(body));
    CHECK_FALSE(read_dict(body, DictSyntax::json, entries));
  }
  CHECK_FALSE(read_dict(std::string(100'000, '{'), DictSyntax::json, entries));
  std::string deep = "{\"a\":";
  for (int i = 0; i < 20; ++i) deep += "{\"a\":";
  CHECK_FALSE(read_dict(deep, DictSyntax::json, entries));
  CHECK_FALSE(read_dict("{'a': " + std::string(1000, '['), DictSyntax::python, entries));
}

}  // namespace logarithm
