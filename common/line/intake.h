#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "common/line/file_line.h"
#include "common/line/line_splitter.h"
#include "common/line/weak_evidence.h"
#include "common/line/wrappers/layer.h"

namespace logarithm {

// Segments of a file -> lines: joins the pieces that container runtimes cut lines into, per output,
// and holds the first lines of a stream until it is known whether they bear a weak wrapper. Lines
// leave in the order of their offsets, so a line whose pieces are still to come holds up those
// behind it, and those whose pieces lie among them: for a second, 48 KiB (one line alone: 1 MiB) or
// until a flush. One thread.
class Intake : public LineSplitter::Sink {
 public:
  class Sink {
   public:
    virtual ~Sink() = default;
    // An empty line to be filled; on_line() follows at once.
    virtual Line& new_line() = 0;
    virtual void on_line(Line& line, const LineOrigin& origin) = 0;
    virtual void on_whole_gap(const Gap& gap) = 0;
    // Which weak wrapper `text` bears, strong ones peeled.
    virtual WeakSign weak_wrapper_of(const Line& line, const LineOrigin& origin) = 0;
  };

  // What a successor at position() must know.
  struct State {
    FileLine file_line;
    WeakEvidence evidence;
    std::array<bool, 3> piece_left{};  // by output: pieces left, the next ones are glued
  };

  Intake(LongLinePool& pool, Sink& sink, const State& state)
      : pool_(pool),
        sink_(sink),
        file_line_(state.file_line),
        evidence_(state.evidence),
        evidence_before_(state.evidence),
        piece_left_(state.piece_left) {}
  ~Intake() override { give_back(); }
  Intake(const Intake&) = delete;
  Intake& operator=(const Intake&) = delete;

  // Before a feed, and after it; `next` is where the splitter stands.
  void begin(UnixNanos at);
  void end(std::uint64_t next);
  // Everything held leaves. `final`: nothing more will come.
  void release(bool final);
  // What comes next does not hang together with what was.
  void forget();

  std::uint64_t position(std::uint64_t splitter) const {
    return held_.empty() ? splitter : held_.front().at;
  }
  State state() const;
  WeakWrapper accepted() const { return evidence_.accepted(); }

  void on_segment(const LineSplitter::Segment& segment) override;
  void on_gap(const Gap& gap) override;

 private:
  struct Held {
    std::uint64_t at = 0;
    FileLine before;  // what state() says while this is the first one held
    bool open = false;
    std::optional<Gap> gap;  // instead of a line
    Line line;
    LineOrigin origin;
  };

  // Reads the container's wrapper, if there is one, and how the text is coded.
  std::uint8_t read_container(const LineSplitter::Segment& segment, LineOrigin& origin);
  void fill(const LineSplitter::Segment& segment, Line& line) const;
  bool append_to_open(const LineSplitter::Segment& segment, const LineOrigin& origin, bool open);
  void note(const Line& line, const LineOrigin& origin);
  void hold(Held held);
  void leave_complete();
  void leave(Held& held);
  bool make_room(std::size_t bytes);
  void give_back();

  LongLinePool& pool_;
  Sink& sink_;
  UnixNanos now_ = 0;
  FileLine file_line_;
  WeakEvidence evidence_;
  WeakEvidence evidence_before_;  // without the lines held
  std::array<bool, 3> piece_left_{};
  std::deque<Held> held_;
  std::size_t open_ = 0, held_bytes_ = 0, taken_ = 0;
  wrappers::Layer layer_;
};

}  // namespace logarithm
