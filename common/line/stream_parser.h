#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/line/line.h"
#include "common/model/stream.h"

namespace logarithm {

class RuleSet;  // common/rules/rule_set.h

// What a parser knows about its stream beside the bytes.
struct StreamContext {
  std::optional<std::int32_t> process_rank;  // known rank; a wrapper that disagrees is flagged
  bool rank_from_process = false;            // process_rank came from the process, not from a path
  std::optional<std::int32_t> utc_offset_minutes;  // the process's TZ; else estimated from observed
  std::string stream_name;  // "stdout", "kernel", …: what a rule's `streams` compares with
  bool imported = false;    // import and --files: no lower bound for times
  // Of an import: the boot that its uptimes count from was not later than that.
  std::optional<UnixNanos> boot;
  // The writer has SLURM_PROCID, or the file is a Slurm step's: "12: text" may be srun's label.
  bool slurm_step = false;
};

// Room for long unfinished lines, shared by all parsers of an agent (8 MiB). Not thread-safe.
class LongLinePool {
 public:
  explicit LongLinePool(std::size_t capacity = 8u << 20) : capacity_(capacity) {}
  bool try_take(std::size_t bytes);
  void give_back(std::size_t bytes);

 private:
  std::size_t capacity_, used_ = 0;
};

// Lines and gaps made from one feed(), in offset order.
struct ParsedLines {
  std::vector<Line> lines;
  std::vector<Gap> gaps;
  // What lines said of processes (rules with `maps: process`).
  struct Mapped {
    std::uint64_t offset = 0;  // of the line
    ProcessMapping mapping;
  };
  std::vector<Mapped> mappings;

  // A new line at the end.
  Line& add_line();
  // Empties all of it. The lines' memory is kept for the next ones, up to about a MiB: where every
  // stream has ParsedLines of its own, clear the vectors instead.
  void recycle();

 private:
  std::vector<Line> spare_;
};

// Bytes of one stream -> lines: split, unwrap, header, rules, template. Pure: no clock, no I/O.
//
// Every byte fed is consumed. position() is the start of the first line that was not emitted, i.e.
// where a successor must start to read again; next_read() is where the next feed() continues. Whole
// lines are held too (see intake.h): for a second, or until a flush.
// state() describes the parser at position(); a parser made from (position, state) and fed the same
// bytes emits the same lines. One thread.
class StreamParser {
 public:
  static constexpr std::size_t kMaxLine = 1u << 20;  // bytes kept of one line
  static constexpr std::size_t kPooled = 16u << 10;  // an unfinished line above this needs the pool

  // `rules` and `pool` outlive the parser. `position` and `state` are 0 and "" for a new stream, or
  // what an earlier parser gave; Error{corrupt} when the state is unreadable.
  static Result<std::unique_ptr<StreamParser>> make(StreamContext context, const RuleSet& rules,
                                                    LongLinePool& pool, std::uint64_t position,
                                                    std::string_view state);
  virtual ~StreamParser() = default;

  // Feeds the bytes at next_read(), observed at `observed`.
  virtual void feed(std::string_view bytes, UnixNanos observed, ParsedLines& out) = 0;

  enum class Flush {
    idle,    // nothing came for a while: the unfinished line leaves flagged `partial`
    closed,  // … and so it does at the end of the file; what comes later is something new
  };
  virtual void flush(Flush why, UnixNanos observed, ParsedLines& out) = 0;

  // Skips to `offset` (a hole or lost bytes); an unfinished line leaves first.
  virtual void skip_to(std::uint64_t offset, std::string_view reason, UnixNanos observed,
                       ParsedLines& out) = 0;

  virtual void set_context(StreamContext context) = 0;
  // Swaps the rules (reload); they outlive the parser.
  virtual void set_rules(const RuleSet& rules) = 0;

  virtual std::uint64_t position() const = 0;
  virtual std::uint64_t next_read() const = 0;
  // Carry, open record, last time, format: opaque, versioned, at most a few KiB.
  virtual std::string state() const = 0;
};

}  // namespace logarithm
