#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/line/line.h"
#include "common/line/stream_parser.h"
#include "common/model/stream.h"

namespace logarithm {

// Bytes -> lines ended by \n, \r\n, \r or the end of the file, with their places in the stream.
// Nothing is lost: what is left out (bytes past 1 MiB of a line, long runs of NUL) is a gap. One
// thread; a `\r` that is the last byte known waits for the next byte or a flush.
class LineSplitter {
 public:
  static constexpr std::uint64_t kNulHole = 4096;  // a line's leading NULs from here on are a gap

  struct Segment {
    std::uint64_t offset = 0, length = 0;
    std::string_view raw;  // valid during the call
    Terminator terminator = Terminator::none;
    bool glued = false;      // no newline between it and the segment before
    bool partial = false;    // its end was not seen
    bool truncated = false;  // over 1 MiB; a gap follows
  };
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void on_segment(const Segment& segment) = 0;
    virtual void on_gap(const Gap& gap) = 0;
  };

  // `pool` and `sink` outlive the splitter. `glued` as glued() of the one it continues.
  LineSplitter(LongLinePool& pool, Sink& sink, std::uint64_t position, bool glued)
      : pool_(pool), sink_(sink), start_(position), glued_(glued) {}
  ~LineSplitter() { release(); }
  LineSplitter(const LineSplitter&) = delete;
  LineSplitter& operator=(const LineSplitter&) = delete;

  void feed(std::string_view bytes, UnixNanos at);
  // What is unfinished leaves, as a partial segment.
  void flush(UnixNanos at);
  // … and what comes later is no part of it. Partial here too: the writer may have died in the
  // middle of the line.
  void end(UnixNanos at);
  // Bytes up to `offset` are missing; an offset not after next_read() is ignored.
  void skip_to(std::uint64_t offset, std::string_view reason, UnixNanos at);

  std::uint64_t position() const { return start_; }
  std::uint64_t next_read() const {
    return start_ + nuls_ + pending_.size() + dropped_ + (return_ ? 1 : 0);
  }
  bool glued() const { return glued_; }  // the next segment continues the one before

 private:
  void append(std::string_view bytes, UnixNanos at);
  void keep(std::string_view bytes);
  bool make_room(std::size_t bytes);
  void end_line(std::string_view last, Terminator terminator, UnixNanos at);
  void emit(std::string_view raw, Terminator terminator, bool partial, UnixNanos at);
  void settle_nuls(UnixNanos at);
  void release();

  LongLinePool& pool_;
  Sink& sink_;
  std::uint64_t start_;        // of the unfinished line
  std::uint64_t nuls_ = 0;     // the line is this many NULs so far, and nothing else
  std::string pending_;        // else its bytes, at most kMaxLine of them
  std::uint64_t dropped_ = 0;  // bytes past kMaxLine
  bool return_ = false;        // a '\r' that may be half of "\r\n"
  bool glued_;
  std::size_t taken_ = 0;  // from the pool
};

}  // namespace logarithm
