#include "common/line/template.h"

#include <doctest/doctest.h>

#include <random>

#include "common/line/hash64.h"
#include "tests/support/reference_mask.h"

namespace logarithm {
namespace {

std::string shown(std::string_view body) {
  MaskedBody masked;
  mask_body(body, masked);
  return display_template(masked.text);
}

std::string put_back(std::string_view body, const MaskedBody& masked) {
  std::string out;
  std::size_t next = 0;
  for (char c : masked.text) {
    if (c == kSlot) {
      out += body.substr(masked.variables[next].begin, masked.variables[next].length);
      ++next;
    } else {
      out.push_back(c);
    }
  }
  return next == masked.variables.size() ? out : "slots and variables differ in number";
}

}  // namespace

TEST_CASE("Template: numbers, ids, paths and strings become one slot each") {
  struct Case {
    const char *body, *expected;
  };
  const Case cases[] = {
      {"loss 2.31", "loss <*>"},
      {"loss -1.0e-02,", "loss <*>,"},
      {"loss nan", "loss <*>"},
      {"loss -Inf", "loss <*>"},
      {"lr=1e5 x", "lr=<*> x"},
      {"nanny inf_x banana", "nanny inf_x banana"},
      {"a-3 b", "a-<*> b"},
      {"x = -3", "x = <*>"},
      {"2026-03-04 05:06:07", "<*>-<*>-<*> <*>:<*>:<*>"},
      {"at 10.20.3.17:29500", "at <*>:<*>"},
      {"host003 mlx5_0", "host<*> mlx<*>_<*>"},
      {"layers.12.wq", "layers.<*>.wq"},
      {"12ms 2.00 GiB", "<*>ms <*> GiB"},
      {"at 0x7f3adeadbeef", "at <*>"},
      {"commit 7f3ade", "commit <*>"},
      {"deadbeef face", "<*> face"},
      {"id 6f1d2c3a-1b2c-4d5e-8f90-a1b2c3d4e5f6.", "id <*>."},
      {"open /mnt/ckpt/a_0.distcp failed", "open <*> failed"},
      {"/srv/x.py:87: UserWarning", "<*>: UserWarning"},
      {"see ~/a ./b ../c, s3://x/y-1 (tcp://h:1)", "see <*> <*> <*>, <*> (<*>)"},
      {"a / b and/or c", "a / b and/or c"},
      {"name \"a b\" and 'c d'", "name <*> and <*>"},
      {"don't say 'no'", "don't say <*>"},
      {"{'loss': 1.2, \"lr\": nan}", "{'loss': <*>, \"lr\": <*>}"},
      {"{'a': 'b', 'c': 'd'}", "{'a': <*>, 'c': <*>}"},
      {"", ""},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.body));
    CHECK(shown(c.body) == c.expected);
  }
}

TEST_CASE("Template: values of one metric share a template, whatever they are") {
  const TemplateId expected = template_of("iteration 5 | loss 2.31 | lr 1.0e-02");
  for (const char* body : {"iteration 500 | loss nan | lr 0.1", "iteration 0 | loss -inf | lr 1",
                           "iteration 12345678 | loss 1e9 | lr 3.0E+00"}) {
    CAPTURE(std::string(body));
    CHECK(template_of(body) == expected);
  }
}

TEST_CASE("Template: a slot byte in a body is always masked") {
  MaskedBody masked;
  mask_body(std::string_view("a\0b\x01"
                             "c\x02\x02"
                             "d",
                             8),
            masked);
  CHECK(masked.text ==
        "a\x01"
        "b\x01"
        "c\x01"
        "d");
  CHECK(masked.variables.size() == 3);
}

TEST_CASE("Template: putting the variables back gives the body, for any bytes") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  static const std::string kLikely = "01e-+.x/~'\":_ \\anifNAF,()\x01";
  MaskedBody masked;
  for (int round = 0; round < 20'000; ++round) {
    std::string body;
    const auto size = random() % 60;
    for (unsigned i = 0; i < size; ++i) {
      body.push_back(random() % 4 == 0 ? static_cast<char>(random())
                                       : kLikely[random() % kLikely.size()]);
    }
    mask_body(body, masked);
    REQUIRE(put_back(body, masked) == body);
    std::size_t end = 0;
    for (const Span& span : masked.variables) {
      REQUIRE(span.begin >= end);
      REQUIRE(span.length > 0);
      end = span.begin + span.length;
    }
    REQUIRE(end <= body.size());
  }
}

TEST_CASE("Template: every byte value survives, alone and doubled") {
  MaskedBody masked;
  for (int c = 0; c < 256; ++c) {
    for (std::size_t count : {1u, 2u, 3u}) {
      const std::string body(count, static_cast<char>(c));
      mask_body(body, masked);
      CHECK(put_back(body, masked) == body);
    }
  }
}

TEST_CASE("Fingerprint: is XXH64 with seed 0, a stored format") {
  CHECK(hash64("") == 0xEF46DB3751D8E999ull);
  CHECK(hash64("a") == 0xD24EC4F1A98C6E5Bull);
  CHECK(hash64("abc") == 0x44BC2CF5AD770999ull);
  CHECK(hash64("Nobody inspects the spammish repetition") == 0xFBCEA83C8A378BF1ull);
  CHECK(fingerprint("abc") == 0x44BC2CF5AD770999ull);
}

TEST_CASE("Template: what is indexed is valid UTF-8 without NUL") {
  CHECK(searchable_template(std::string_view("a\0\x01\xFF", 4)) == "a\xE2\x90\x80\x01\xEF\xBF\xBD");
}

TEST_CASE("Template: the mask gives what its first, plain version gave, for any bytes") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::vector<std::string> pieces{"0x1f",     "deadbeef",
                                        "DEADBEEF", "12",
                                        "-3",       "+.5",
                                        "1.5e-3",   "e5",
                                        "nan",      "NaN",
                                        "inf",      "infinity",
                                        "-inf",     "_",
                                        "/",        "/a/b.c",
                                        "./x",      "../",
                                        "~/",       "http://x:1/",
                                        "'",        "\"",
                                        "\\",       ":",
                                        ",",        " ",
                                        "\t",       "(",
                                        ")",        "[",
                                        "]",        "{",
                                        "}",        "=",
                                        "|",        "host",
                                        "x",        "Z",
                                        "\x01",     std::string(1, '\0'),
                                        "\xC3\xA9", "1b4e28ba-2fa1-11d2-883f-0016d3cca427",
                                        "don't",    "-",
                                        "+",        ".",
                                        "step",     "3a",
                                        "a3",       "\x7F",
                                        "\xFF",     "1e5x",
                                        "12ms",     "0x",
                                        "0xg"};
  MaskedBody fast, plain;
  for (int round = 0; round < 20'000; ++round) {
    std::string body;
    const auto parts = static_cast<unsigned>(random() % 12);
    for (unsigned i = 0; i < parts; ++i) {
      if (random() % 8 == 0) {
        body.push_back(static_cast<char>(random() % 256));
      } else {
        body += pieces[random() % pieces.size()];
      }
    }
    mask_body(body, fast);
    test::reference::mask_body(body, plain);
    CAPTURE(body);
    REQUIRE(fast.text == plain.text);
    REQUIRE(fast.variables.size() == plain.variables.size());
    for (std::size_t i = 0; i < plain.variables.size(); ++i) {
      REQUIRE(fast.variables[i].begin == plain.variables[i].begin);
      REQUIRE(fast.variables[i].length == plain.variables[i].length);
    }
    const bool holds_text = fast.holds_text;
    mask_text(body, fast);
    REQUIRE(fast.text == plain.text);
    REQUIRE(fast.holds_text == holds_text);
  }
}

TEST_CASE("Template: only paths and quoted strings can hold words that are masked") {
  MaskedBody masked;
  for (const char* body : {"a 12 nan 0x1f deadbeef01 x", "", "host3 don't"}) {
    mask_body(body, masked);
    CHECK_FALSE(masked.holds_text);
  }
  for (const char* body : {"in /a/b", "say 'word' ", "http://x", "./y"}) {
    mask_body(body, masked);
    CHECK(masked.holds_text);
  }
}

}  // namespace logarithm
