#include "common/line/line_splitter.h"

#include <algorithm>
#include <cstring>

namespace logarithm {
namespace {

constexpr std::size_t kPoolStep = 64u << 10;

// Position of the first '\n' or '\r', or npos. Two memchr are faster than one loop: most lines have
// no '\r', and the second search ends at the '\n'.
std::size_t find_end(std::string_view bytes) {
  const void* lf = std::memchr(bytes.data(), '\n', bytes.size());
  const std::size_t stop =
      lf == nullptr ? bytes.size()
                    : static_cast<std::size_t>(static_cast<const char*>(lf) - bytes.data());
  const void* cr = std::memchr(bytes.data(), '\r', stop);
  if (cr != nullptr) return static_cast<std::size_t>(static_cast<const char*>(cr) - bytes.data());
  return lf == nullptr ? std::string_view::npos : stop;
}

}  // namespace

bool LongLinePool::try_take(std::size_t bytes) {
  if (bytes > capacity_ - used_) return false;
  used_ += bytes;
  return true;
}

void LongLinePool::give_back(std::size_t bytes) { used_ -= std::min(bytes, used_); }

void LineSplitter::release() {
  pool_.give_back(taken_);
  taken_ = 0;
}

void LineSplitter::feed(std::string_view bytes, UnixNanos at) {
  if (return_ && !bytes.empty()) {
    return_ = false;
    const bool both = bytes[0] == '\n';
    end_line({}, both ? Terminator::crlf : Terminator::cr, at);
    bytes.remove_prefix(both ? 1 : 0);
  }
  while (!bytes.empty()) {
    const std::size_t end = find_end(bytes);
    if (end == std::string_view::npos) return append(bytes, at);
    const std::string_view last = bytes.substr(0, end);
    if (bytes[end] == '\r' && end + 1 == bytes.size()) {
      append(last, at);
      return_ = true;
      return;
    }
    const bool both = bytes[end] == '\r' && bytes[end + 1] == '\n';
    const Terminator terminator = bytes[end] == '\n' ? Terminator::lf
                                  : both             ? Terminator::crlf
                                                     : Terminator::cr;
    bytes.remove_prefix(end + (both ? 2 : 1));
    end_line(last, terminator, at);
  }
}

// Adds bytes of an unfinished line.
void LineSplitter::append(std::string_view bytes, UnixNanos at) {
  if (pending_.empty() && dropped_ == 0) {
    const std::size_t nuls = std::min(bytes.find_first_not_of('\0'), bytes.size());
    nuls_ += nuls;
    bytes.remove_prefix(nuls);
    if (bytes.empty()) return;
    settle_nuls(at);
  }
  while (!bytes.empty()) {
    const std::size_t room = StreamParser::kMaxLine - pending_.size();
    if (make_room(std::min(bytes.size(), room))) return keep(bytes);
    // No room in the pool: the line leaves in pieces.
    const std::size_t piece = std::min(
        bytes.size(), StreamParser::kPooled - std::min(pending_.size(), StreamParser::kPooled));
    keep(bytes.substr(0, piece));
    bytes.remove_prefix(piece);
    if (pending_.size() >= StreamParser::kPooled) emit(pending_, Terminator::none, true, at);
  }
}

// True when `bytes` more may be held.
bool LineSplitter::make_room(std::size_t bytes) {
  const std::size_t need = pending_.size() + bytes;
  if (need <= StreamParser::kPooled || need <= taken_) return true;
  const std::size_t goal =
      std::min(StreamParser::kMaxLine, (need + kPoolStep - 1) / kPoolStep * kPoolStep);
  if (!pool_.try_take(goal - taken_)) return false;
  taken_ = goal;
  return true;
}

void LineSplitter::keep(std::string_view bytes) {
  const std::size_t room = StreamParser::kMaxLine - pending_.size();
  pending_.append(bytes.substr(0, room));
  if (bytes.size() > room) dropped_ += bytes.size() - room;
}

// The line's leading NULs are known: a hole of the file, or bytes of the line.
void LineSplitter::settle_nuls(UnixNanos at) {
  if (nuls_ == 0) return;
  if (nuls_ >= kNulHole) {
    sink_.on_gap({start_, start_ + nuls_, "nul_hole", at});
    start_ += nuls_;
  } else {
    pending_.assign(nuls_, '\0');
  }
  nuls_ = 0;
}

void LineSplitter::end_line(std::string_view last, Terminator terminator, UnixNanos at) {
  const bool whole = nuls_ == 0 && pending_.empty() && dropped_ == 0;
  if (whole && last.size() <= StreamParser::kMaxLine && (last.empty() || last[0] != '\0')) {
    return emit(last, terminator, false, at);  // the usual case: no copy
  }
  append(last, at);
  settle_nuls(at);
  emit(pending_, terminator, false, at);
}

// `raw` is what is kept of the unfinished line.
void LineSplitter::emit(std::string_view raw, Terminator terminator, bool partial, UnixNanos at) {
  Segment segment;
  segment.offset = start_;
  segment.length = raw.size() + dropped_ + bytes_of(terminator).size();
  segment.raw = raw;
  segment.terminator = terminator;
  segment.glued = glued_;
  segment.partial = partial;
  segment.truncated = dropped_ > 0;
  const std::uint64_t kept_end = start_ + raw.size();
  const std::uint64_t dropped = dropped_;
  start_ += segment.length;
  glued_ = partial;
  dropped_ = 0;
  sink_.on_segment(segment);
  if (dropped > 0) sink_.on_gap({kept_end, kept_end + dropped, "line_too_long", at});
  pending_.clear();
  if (pending_.capacity() > StreamParser::kPooled) pending_ = std::string();
  release();
}

void LineSplitter::flush(UnixNanos at) {
  if (return_) {
    return_ = false;
    return end_line({}, Terminator::cr, at);
  }
  settle_nuls(at);
  if (!pending_.empty()) emit(pending_, Terminator::none, true, at);
}

void LineSplitter::end(UnixNanos at) {
  flush(at);
  glued_ = false;
}

void LineSplitter::skip_to(std::uint64_t offset, std::string_view reason, UnixNanos at) {
  if (offset <= next_read()) return;
  end(at);
  sink_.on_gap({start_, offset, std::string(reason), at});
  start_ = offset;
}

}  // namespace logarithm
