#pragma once

#include <optional>
#include <string_view>

#include "common/line/line.h"

namespace logarithm {

// What a logger's level word says.
struct LogLevel {
  Severity severity = Severity::unset;
  bool upper = false;  // printed in capitals, as a word of prose is not
  bool plain = true;   // false: also a usual word (LOG, NOTE, FINE), a level only beside a time
};

// The words that loggers print, in capitals, small or Capitalised letters; nullopt for all others,
// single letters included.
std::optional<LogLevel> level_word(std::string_view word);
// I W E F D V T C, as glog, TensorFlow, NeMo and others print them.
std::optional<Severity> level_letter(char letter);

}  // namespace logarithm
