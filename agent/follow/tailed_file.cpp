#include "agent/follow/tailed_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "agent/follow/file_identity.h"

namespace logarithm::agent {
namespace {

std::size_t nuls_at(std::string_view bytes) {
  const std::size_t end = bytes.find_first_not_of('\0');
  return end == std::string_view::npos ? bytes.size() : end;
}

// The first run of at least `least` NULs: {begin, length}; {size, 0} when there is none. A shorter
// run that touches the end counts when `open_end`: it may go on.
std::pair<std::size_t, std::size_t> find_nul_run(std::string_view bytes, std::size_t least,
                                                 bool open_end) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const void* found = std::memchr(bytes.data() + at, 0, bytes.size() - at);
    if (found == nullptr) break;
    const auto begin = static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data());
    const std::size_t length = nuls_at(bytes.substr(begin));
    if (length >= least || (open_end && begin + length == bytes.size())) return {begin, length};
    at = begin + length;
  }
  return {bytes.size(), 0};
}

}  // namespace

TailedFile::TailedFile(std::string open_path, std::unique_ptr<SourceFile> file, FileFacts facts)
    : open_path_(std::move(open_path)), file_(std::move(file)), facts_(facts) {}

FileChange TailedFile::fail(const Error& error, MonotonicTime now) {
  static_cast<void>(error);  // every error of a read or fstat means that this handle is of no use
  file_.reset();
  postpone(now);
  return FileChange::lost;
}

void TailedFile::postpone(MonotonicTime now) {
  backoff_ = std::clamp(backoff_ * 2, std::chrono::seconds(1), std::chrono::seconds(30));
  retry_at_ = now + backoff_;
}

Status TailedFile::reopen(BlockingToken& token, SourceFs& fs, const std::string& path) {
  LGR_TRY(auto file, fs.open(token, path));
  LGR_TRY(const FileFacts facts, file->facts(token));
  if (!same_file(facts, facts_)) return Error(ErrorCode::conflict, "another file lies there");
  file_ = std::move(file);
  open_path_ = path;
  return {};
}

void TailedFile::accept(const FileFacts& facts, MonotonicTime now, UnixNanos wall) {
  if (facts.size > known_size_) {
    known_size_ = facts.size;
    grown_at_ = now;
  }
  facts_ = facts;
  seen_at_ = now;
  seen_wall_ = wall;
  rate_.saw(now, facts.size);
}

FileChange TailedFile::look(BlockingToken& token, std::uint64_t read, MonotonicTime now,
                            UnixNanos wall) {
  Result<FileFacts> facts = file_->facts(token);
  if (!facts.ok()) return fail(facts.error(), now);
  backoff_ = std::chrono::seconds(0);
  if (facts->size < read) {
    facts_ = *facts;
    return FileChange::shrank;
  }
  accept(*facts, now, wall);
  return FileChange::none;
}

void TailedFile::begin_generation(MonotonicTime now) {
  known_size_ = 0;
  grown_at_ = now;
  nul_scan_ = 0;
  rate_.clear();
}

// The last of what we see was written when the file says so: nearer than when we looked. Not for an
// older stamp (somebody set it, the clock was set) or one of the future (another host's).
UnixNanos TailedFile::written_at(UnixNanos observed, UnixNanos wall) const {
  constexpr UnixNanos kLately = 1'000'000'000;
  const bool lately = facts_.modified <= wall && wall - facts_.modified < kLately;
  return trust_times_ && lately ? facts_.modified : observed;
}

TailedFile::Outcome TailedFile::read(BlockingToken& token, StreamWriter& writer, std::size_t max,
                                     std::vector<char>& buffer, UnixNanos observed,
                                     MonotonicTime now, UnixNanos wall) {
  Outcome out;
  const std::uint64_t offset = writer.next_read();
  Result<FileFacts> before = file_->facts(token);
  if (!before.ok()) {
    out.change = fail(before.error(), now);
    return out;
  }
  backoff_ = std::chrono::seconds(0);
  facts_ = *before;
  if (before->size < offset) {
    out.change = FileChange::shrank;
    return out;
  }
  if (nul_scan_ > offset) {
    if (facts_.modified == nul_modified_) {
      return scan_nuls(token, writer, max, buffer, observed, now);
    }
    nul_scan_ = 0;  // somebody wrote: perhaps into the NULs
  }
  observed = written_at(observed, wall);
  const std::string& tail = writer.digest().tail();
  const std::uint64_t there = before->size - offset;
  if (there == 0) {
    accept(*before, now, wall);
    out.at_end = true;
    return out;
  }
  const std::size_t wanted =
      tail.size() + static_cast<std::size_t>(std::min<std::uint64_t>(max, there));
  buffer.resize(std::max(buffer.size(), wanted));
  Result<std::size_t> got = file_->read_at(token, offset - tail.size(), buffer.data(), wanted);
  if (!got.ok()) {
    out.change = fail(got.error(), now);
    return out;
  }
  // Size after the read: bytes of a file that was cut meanwhile may be of either content.
  Result<FileFacts> after = file_->facts(token);
  if (!after.ok()) {
    out.change = fail(after.error(), now);
    return out;
  }
  if (after->size < offset - tail.size() + *got || *got < tail.size()) {
    facts_ = *after;
    out.change = FileChange::shrank;
    return out;
  }
  if (std::string_view(buffer.data(), tail.size()) != tail) {
    facts_ = *after;
    out.change = FileChange::rewritten;
    return out;
  }
  accept(*after, now, wall);
  const std::string_view chunk(buffer.data() + tail.size(), *got - tail.size());
  const bool to_end = offset + chunk.size() >= facts_.size;
  if (count_lines_ && !chunk.empty()) {
    out.lines = static_cast<std::uint64_t>(std::count(chunk.begin(), chunk.end(), '\n'));
    out.line_end = chunk.back() == '\n';
  }
  consume(writer, chunk, to_end, observed, now);
  out.bytes = writer.next_read() - offset;
  out.at_end = to_end;
  return out;
}

void TailedFile::consume(StreamWriter& writer, std::string_view chunk, bool to_end,
                         UnixNanos observed, MonotonicTime now) {
  while (!chunk.empty()) {
    const bool front = writer.next_read() == 0 && writer.stream().generation > 0;
    std::pair<std::size_t, std::size_t> run = {0, front ? nuls_at(chunk) : 0};
    if (run.second == 0) run = find_nul_run(chunk, kNulRun, !to_end);
    const auto [begin, length] = run;
    writer.feed(chunk.substr(0, begin), observed, now);
    chunk.remove_prefix(begin);
    if (chunk.empty()) return;
    if (length == chunk.size()) {
      // Nothing follows yet. In a file that was allocated ahead the bytes may still be written, and
      // a short run may be the start of a long one: they stay unread.
      nul_scan_ = writer.next_read() + length;
      nul_modified_ = facts_.modified;
      return;
    }
    writer.skip_nul(writer.next_read() + length, observed, now);
    chunk.remove_prefix(length);
  }
}

// Looks for the first byte that is not NUL, hole by hole, then block by block.
TailedFile::Outcome TailedFile::scan_nuls(BlockingToken& token, StreamWriter& writer,
                                          std::size_t max, std::vector<char>& buffer,
                                          UnixNanos observed, MonotonicTime now) {
  Outcome out;
  const std::uint64_t offset = writer.next_read();
  Result<std::optional<std::uint64_t>> data = file_->next_data(token, nul_scan_);
  if (!data.ok()) {
    out.change = fail(data.error(), now);
    return out;
  }
  if (!data->has_value() || **data >= facts_.size) {
    out.at_end = true;
    return out;
  }
  nul_scan_ = **data;
  buffer.resize(std::max(buffer.size(), max));
  Result<std::size_t> got = file_->read_at(token, nul_scan_, buffer.data(), max);
  if (!got.ok()) {
    out.change = fail(got.error(), now);
    return out;
  }
  const std::size_t nuls = nuls_at({buffer.data(), *got});
  nul_scan_ += nuls;
  out.at_end = nuls == *got && nul_scan_ >= facts_.size;
  if (nuls < *got) {
    const bool front = offset == 0 && writer.stream().generation > 0;
    const std::uint64_t run = nul_scan_ - offset;
    if (run >= kNulRun || front) {
      writer.skip_nul(nul_scan_, observed, now);
    } else {
      // A short run across two reads is text like any other.
      writer.feed(std::string(static_cast<std::size_t>(run), '\0'), observed, now);
    }
    nul_scan_ = 0;
    out.bytes = writer.next_read() - offset;
  }
  return out;
}

}  // namespace logarithm::agent
