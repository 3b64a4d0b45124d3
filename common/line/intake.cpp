#include "common/line/intake.h"

#include <algorithm>
#include <utility>

#include "common/line/transport.h"

namespace logarithm {
namespace {

constexpr UnixNanos kPatience = 1'000'000'000;
constexpr std::size_t kManyBytes = 48u << 10;  // held by more than one line alone
constexpr std::size_t kManyLines = 4096;
constexpr std::size_t kPoolStep = 64u << 10;

}  // namespace

void Intake::begin(UnixNanos at) {
  now_ = at;
  if (held_.empty()) return;
  // A clock that was set back says nothing of how long they have waited.
  const UnixNanos waited = at - held_.front().line.observed;
  if (waited < 0 || waited >= kPatience) release(false);
}

void Intake::end(std::uint64_t next) {
  if (held_.empty() || next - held_.front().at <= kManyBytes) return;
  // A successor must not have to read far back, and memory is bounded; one long line is worth it.
  if (open_ != 1 || !held_.front().open || evidence_.open()) release(false);
}

Intake::State Intake::state() const {
  State state;
  state.file_line = held_.empty() ? file_line_ : held_.front().before;
  state.evidence = held_.empty() || !evidence_.open() ? evidence_ : evidence_before_;
  state.piece_left = piece_left_;
  return state;
}

void Intake::forget() {
  file_line_ = FileLine();
  piece_left_ = {};
}

// The line as far as the bytes say.
void Intake::fill(const LineSplitter::Segment& segment, Line& line) const {
  line.offset = segment.offset;
  line.length = segment.length;
  line.raw = segment.raw;
  line.terminator = segment.terminator;
  line.observed = now_;
  line.output = file_line_.output;
  if (segment.terminator == Terminator::cr) line.flags |= line_flag::progress;
  if (segment.partial) line.flags |= line_flag::partial;
  if (segment.truncated) line.flags |= line_flag::truncated;
}

std::uint8_t Intake::read_container(const LineSplitter::Segment& segment, LineOrigin& origin) {
  file_line_ = FileLine();
  const char first = segment.raw.empty() ? '\0' : segment.raw[0];
  if (first >= '0' && first <= '9') {
    layer_.clear();
    if (!wrappers::read_cri(segment.raw, layer_)) return transport::plain;
    origin.time = layer_.time;
    origin.prefix = origin.piece_prefix = static_cast<std::uint32_t>(layer_.size);
    origin.flag = layer_.facts[0].text[0];
    file_line_.contained = true;
    file_line_.output = layer_.output;
    file_line_.continues = origin.flag == 'P';
    return transport::plain;
  }
  if (first != '{') return transport::plain;
  if (const auto docker = parse_docker(segment.raw)) {
    origin.time = docker->time;
    origin.piece_prefix = static_cast<std::uint32_t>(docker->log.data() - segment.raw.data());
    file_line_.contained = true;
    file_line_.output = docker->output;
    file_line_.continues = !docker->ends;
    return transport::docker_json;
  }
  return parse_journal(segment.raw) ? transport::journal_json : transport::plain;
}

void Intake::note(const Line& line, const LineOrigin& origin) {
  if (!evidence_.open() || origin.inside) return;
  evidence_.note(sink_.weak_wrapper_of(line, origin));
}

void Intake::on_segment(const LineSplitter::Segment& segment) {
  // A line that left before its end was seen goes on from there: what is held must leave first.
  if ((segment.partial || segment.truncated) && !held_.empty()) release(false);

  const FileLine before = file_line_;
  LineOrigin origin;
  origin.inside = file_line_.unfinished;
  const std::uint8_t coding = origin.inside ? transport::plain : read_container(segment, origin);
  origin.contained = file_line_.contained;
  origin.output = file_line_.output;
  file_line_.unfinished = segment.partial || segment.terminator == Terminator::cr;
  const bool open = file_line_.continues && !file_line_.unfinished;
  bool& piece_left = piece_left_[static_cast<std::size_t>(origin.output)];

  origin.bytes_glued = segment.glued;
  if (origin.contained && !segment.glued) {
    if (!piece_left && open_ > 0 && append_to_open(segment, origin, open)) {
      return open ? void() : leave_complete();
    }
    origin.piece_glued = piece_left;
  }
  const bool can_wait = !origin.bytes_glued && !origin.piece_glued && !segment.truncated;
  const bool waits = open && can_wait;
  origin.continues = open && !can_wait;
  if (origin.contained && !waits) piece_left = open;
  if (held_.empty() && !waits && !evidence_.open()) {
    // The usual case: it leaves at once.
    Line& line = sink_.new_line();
    fill(segment, line);
    line.transport = coding;
    return sink_.on_line(line, origin);
  }
  Held held;
  held.at = segment.offset;
  held.before = before;
  held.open = waits;
  held.origin = origin;
  fill(segment, held.line);
  held.line.transport = coding;
  if (segment.partial) {
    note(held.line, origin);
    evidence_before_ = evidence_;
    return leave(held);
  }
  const bool was_open = evidence_.open();
  hold(std::move(held));
  // Behind a line that waits for its pieces nothing changes.
  if (open_ == 0 || was_open != evidence_.open()) leave_complete();
}

// The next piece of the line of its output that is held. False when there is none, or when it had
// to leave.
bool Intake::append_to_open(const LineSplitter::Segment& segment, const LineOrigin& origin,
                            bool open) {
  const auto found = std::find_if(held_.begin(), held_.end(), [&](const Held& held) {
    return held.open && held.line.output == origin.output;
  });
  if (found == held_.end()) return false;
  const std::size_t more = segment.raw.size() + 2;
  if (found->line.raw.size() + more > StreamParser::kMaxLine || !make_room(more)) {
    release(false);
    return false;
  }
  Line& line = found->line;
  if (line.extents.empty()) {
    line.extents.push_back(
        {line.offset, static_cast<std::uint32_t>(line.length), found->origin.piece_prefix});
    if (line.transport != transport::docker_json) line.transport = transport::pieces;
    found->origin.prefix = 0;
  }
  line.extents.push_back(
      {segment.offset, static_cast<std::uint32_t>(segment.length), origin.piece_prefix});
  const std::size_t size = line.raw.size();
  line.raw += bytes_of(line.terminator);
  line.raw += segment.raw;
  held_bytes_ += line.raw.size() - size;
  line.length = segment.offset + segment.length - line.offset;
  line.terminator = segment.terminator;
  if (segment.terminator == Terminator::cr) line.flags |= line_flag::progress;
  if (origin.flag != '\0') found->origin.flag = origin.flag;
  if (!open) {
    found->open = false;
    --open_;
    note(line, found->origin);
  }
  return true;
}

void Intake::hold(Held held) {
  const std::size_t bytes = held.line.raw.size();
  const bool full = held_.size() >= kManyLines || !make_room(bytes);
  if (full && !held_.empty()) {
    // Nothing may overtake: what is held leaves, then this line waits alone, or leaves too.
    release(false);
  }
  if (!held.open && !held.gap) note(held.line, held.origin);
  if (held.open) ++open_;
  held_bytes_ += bytes;
  held_.push_back(std::move(held));
  if (full && !make_room(0)) release(false);
}

void Intake::on_gap(const Gap& gap) {
  if (held_.empty()) return sink_.on_whole_gap(gap);
  Held held;
  held.at = gap.from;
  held.before = file_line_;
  held.gap = gap;
  held.line.observed = now_;
  hold(std::move(held));
}

// Lines whose turn it is: those in front of the first that must wait, unless their pieces reach
// behind its beginning, for a successor begins to read there.
void Intake::leave_complete() {
  if (evidence_.open()) return;
  std::size_t count = 0;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < held_.size() && !held_[i].open; ++i) {
    end = std::max(end, held_[i].line.end());
    if (i + 1 == held_.size() || held_[i + 1].at >= end) count = i + 1;
  }
  for (; count > 0; --count) {
    Held held = std::move(held_.front());
    held_.pop_front();
    held_bytes_ -= held.line.raw.size();
    leave(held);
  }
  if (held_.empty()) give_back();
}

void Intake::leave(Held& held) {
  if (held.gap) return sink_.on_whole_gap(*held.gap);
  Line& line = sink_.new_line();
  line = std::move(held.line);
  sink_.on_line(line, held.origin);
}

void Intake::release(bool final) {
  for (const Held& held : held_) {
    if (held.open) note(held.line, held.origin);
  }
  evidence_.settle();
  for (Held& held : held_) {
    if (held.open && !final) {
      held.line.flags |= line_flag::partial;
      held.origin.continues = true;
      piece_left_[static_cast<std::size_t>(held.origin.output)] = true;
    }
    leave(held);
  }
  held_.clear();
  open_ = held_bytes_ = 0;
  evidence_before_ = evidence_;
  give_back();
}

bool Intake::make_room(std::size_t bytes) {
  const std::size_t need = held_bytes_ + bytes;
  if (need <= StreamParser::kPooled || need <= taken_) return true;
  const std::size_t goal = (need + kPoolStep - 1) / kPoolStep * kPoolStep;
  if (goal > StreamParser::kMaxLine + kPoolStep || !pool_.try_take(goal - taken_)) return false;
  taken_ = goal;
  return true;
}

void Intake::give_back() {
  pool_.give_back(taken_);
  taken_ = 0;
}

}  // namespace logarithm
