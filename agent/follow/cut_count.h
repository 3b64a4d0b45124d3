#pragma once

#include <cstdint>
#include <optional>

namespace logarithm::agent {

// Were bytes written between our last read of a file and its truncation? Sizes cannot tell, writes
// can: every write and the truncation itself is one event of the kernel's. Events that are not
// explained by what was read, by the truncation or by the new content are writes that are lost.
//
// Pure; fed by the follower from the moment when a rotation may be under way. A write is told from
// its bytes by a ratio, writes per line, that is learned meanwhile and must hold throughout; for a
// truncation that is alone since everything was read no ratio is needed.
class CutCount {
 public:
  // Events of the file, in any portions. Not a number any more after lost_events().
  void wrote(std::uint64_t events);
  void lost_events() { broken_ = true; }
  // Read bytes that contain so many newlines; `line_end`: the last byte is one.
  void read(std::uint64_t bytes, std::uint64_t lines, bool line_end);
  // Nothing is under way: all events are counted and all that they wrote is read.
  void settled();

  // The file was cut and now holds `lines` complete lines (and, unless `line_end`, a part of one),
  // and nothing is under way. How many lines were written after our last read and are gone; nullopt
  // when that cannot be said.
  std::optional<std::uint64_t> lost(std::uint64_t bytes, std::uint64_t lines, bool line_end) const;

  // Events since everything was read.
  std::uint64_t events() const { return since_settled_.events; }

 private:
  struct Sums {
    std::uint64_t events = 0, lines = 0, bytes = 0;
  };
  void learn();

  Sums since_settled_;   // since nothing was under way
  Sums since_line_end_;  // … and the last byte read was a newline
  bool settled_ = false, line_settled_ = false, at_line_end_ = true, broken_ = false;
  std::uint64_t per_line_ = 0;  // writes, 0 while unknown
  std::uint64_t proof_ = 0;     // lines that agreed, without one that did not
  bool steady_ = false;         // the last portion agreed
};

}  // namespace logarithm::agent
