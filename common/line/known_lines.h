#pragma once

#include <cstdint>
#include <string_view>

#include "common/line/line_memory.h"

namespace logarithm {

// A parser's use of the memory of its thread: what is known of the line at hand, and what is kept
// of it for the next ones of its shape. One thread.
class KnownLines {
 public:
  // Looks for lines like `text` (behind its container's wrapper) where it is read as `mode` says;
  // `rules_context` is RuleSet::context(). See line().
  void recall(std::string_view text, const UnwrapMode& mode, std::uint64_t rules_context,
              const KnownHosts& hosts);
  // Keeps how `text`, which recall() did not know and was read since, is read; if that is worth it.
  void learn(std::string_view text, const UnwrapMode& mode, const RuleSet& rules,
             std::string_view stream, const KnownHosts& hosts);

  // What is known of the line at hand; null: it has to be read.
  const LineReading* line() const { return known_; }
  // Its header, where there is one.
  const LogHeader& header() const { return header_; }
  // It is another line than its shape says.
  void forget() { known_ = nullptr; }
  // Nothing is to be learned of the line at hand.
  void keep_nothing() { shape_.worth_it = false; }

 private:
  static LineMemory& memory();

  const LineReading* known_ = nullptr;
  LineMemory::Shape shape_;
  LogHeader header_;  // as known_ gives it
};

}  // namespace logarithm
