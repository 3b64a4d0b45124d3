#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <string_view>

#include "common/line/header_reader.h"
#include "common/line/log_header.h"

namespace logarithm {

// A line, and what its header says.
struct HeaderShape {
  std::string_view text;
  Severity severity;
  std::string_view callsite, body;
};

inline void check_header(const HeaderShape& shape) {
  CAPTURE(std::string(shape.text));
  const auto header = parse_header(shape.text);
  REQUIRE(header.has_value());
  CHECK(header->severity == shape.severity);
  const std::string place =
      header->file.empty() ? "" : std::string(header->file) + ":" + std::string(header->file_line);
  CHECK(place == shape.callsite);
  CHECK(shape.text.substr(header->size) == shape.body);
}

// Lines like `shapes`, with other digits, damage and messages: HeaderReader says what
// parse_header() says, whatever it read before. `others` come between, digits changed.
template <std::size_t kCount>
void check_reader(const HeaderShape (&shapes)[kCount],
                  std::span<const std::string_view> others = {}) {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string_view messages[] = {
      "",         "x",          "loss: 2.3", "- x",     "a.py:3: x", "[Rank 3] x", "[c] x",
      "  x",      "Foo.bar: x", "ERROR x",   "pid=3 x", "UTC x",     "12:00:00",   "CamelCase: x",
      "word | x", "word [1] x", "| x",       "+0100 x", "E x",       "x]",         "[",
      "!x",       "\xff x",     "%",         "\x1c"};
  HeaderReader reader;
  const char* more = std::getenv("LGR_ROUNDS");
  const int rounds = more ? std::atoi(more) : 40'000;
  for (int i = 0; i < rounds; ++i) {
    const HeaderShape& shape = shapes[random() % kCount];
    std::string text(shape.text.substr(0, shape.text.size() - shape.body.size()));
    for (char& c : text) {
      if (c >= '0' && c <= '9' && random() % 4 == 0) c = static_cast<char>('0' + random() % 10);
      if (random() % 200 == 0) c = " :|-]aZ."[random() % 8];
    }
    text += messages[random() % std::size(messages)];
    if (!others.empty() && random() % 4 == 0) {
      text = others[random() % others.size()];
      for (char& c : text) {
        if (c >= '0' && c <= '9') c = static_cast<char>('0' + random() % 10);
        if (random() % 300 == 0) c = " :|-]aZ.0"[random() % 9];
      }
    }
    CAPTURE(text);
    const auto learned = reader.read(text), plain = parse_header(text);
    REQUIRE(learned.has_value() == plain.has_value());
    if (!plain) continue;
    REQUIRE(learned->size == plain->size);
    REQUIRE(learned->level == plain->level);
    REQUIRE(learned->severity == plain->severity);
    REQUIRE(learned->file == plain->file);
    REQUIRE(learned->file_line == plain->file_line);
    REQUIRE(learned->time.has_value() == plain->time.has_value());
    if (plain->time) REQUIRE(as_utc(*learned->time, 0) == as_utc(*plain->time, 0));
    REQUIRE(learned->field_count == plain->field_count);
    for (std::size_t k = 0; k < plain->field_count; ++k) {
      REQUIRE(learned->fields[k].key == plain->fields[k].key);
      REQUIRE(learned->fields[k].value == plain->fields[k].value);
    }
  }
}

}  // namespace logarithm
