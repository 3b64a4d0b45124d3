#pragma once

#include <array>
#include <cstdint>
#include <string_view>

// The classes of characters and words that headers are made of.
namespace logarithm::header {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
inline bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
inline bool is_letter(char c) { return is_upper(c) || is_lower(c); }
inline bool is_blank(char c) { return c == ' ' || c == '\t'; }
inline bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

// Classes of a byte, as bits of a table.
enum Class : unsigned char { kToken = 1, kPath = 2, kNamed = 4 };

constexpr std::array<unsigned char, 256> make_classes() {
  std::array<unsigned char, 256> classes{};
  auto add = [&](std::string_view chars, Class which) {
    for (char c : chars) {
      auto& bits = classes[static_cast<unsigned char>(c)];
      bits = static_cast<unsigned char>(bits | which);
    }
  };
  add(" \t[](){}|,\"'=;#", kToken);
  constexpr std::string_view kWord =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  add(kWord, kPath);
  add("./+-@~$=", kPath);
  add(kWord, kNamed);
  add(".-/:$", kNamed);
  return classes;
}
inline constexpr std::array<unsigned char, 256> kClasses = make_classes();

inline bool is(char c, Class which) {
  return (kClasses[static_cast<unsigned char>(c)] & which) != 0;
}

// What may stand between two elements, with a blank behind.
inline bool separates(char c) { return c == '-' || c == '|' || c == '>' || c == ':'; }
// What ends a word outside of brackets: a blank, or one of `[](){}|,"'=;#`.
inline bool ends_token(char c) { return is(c, kToken); }

// Up to 8 letters as a number, to be told apart by a switch.
constexpr std::uint64_t packed(std::string_view word) {
  std::uint64_t value = 0;
  for (char c : word) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

// Not empty, digits only.
bool all_digits(std::string_view text);
// A logger, thread or host: letters, digits and `_ . - / :`, a letter or `_` first, at most 80.
bool is_name(std::string_view word);
// `train.py`, `net/ib.cc`, `a/b.go`: what a compiler or an interpreter reads, by its extension.
bool is_source_file(std::string_view path);
// `a.b.c`, `my_crate::mod`, `SparkContext`: names as loggers have, and exceptions or prose have
// not.
bool is_logger_name(std::string_view word);
// `rank`, `step`, `gpu` …: what stands before `:12` and is no file.
bool is_counted_thing(std::string_view word);

// `gpu-n017` and a process of some digits: what Open MPI prints in brackets.
bool is_machine(std::string_view host, std::string_view pid);

// `train.py:88`, `logging.py:107:log_dist`, `train.loop:run_epoch:88`, `a.cc:12:5`.
struct Place {
  std::string_view file, line, func;
};
// False when `token` has not that shape; what the file may be is for the caller to judge.
bool split_place(std::string_view token, Place& place);

}  // namespace logarithm::header
