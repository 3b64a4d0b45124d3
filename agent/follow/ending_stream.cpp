#include "agent/follow/ending_stream.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "agent/follow/resume.h"
#include "common/base/logging.h"

namespace logarithm::agent {

namespace {

// A writer that is about to tell where the old content ended writes soon, or it was not busy.
constexpr std::chrono::seconds kWaitForData{1};
// Lines to be expected in the unknown time from which on a gap is told: silence about a loss is
// worse than a gap in which nothing is missing.
constexpr double kChance = 0.05;

}  // namespace

std::optional<std::uint64_t> data_start(BlockingToken& token, SourceFile& file,
                                        std::uint64_t size) {
  static constexpr std::uint64_t kBlock = 64u << 10;  // NULs past a hole fill up a block at most
  if (size == 0) return std::nullopt;
  const Result<std::string> first = read_range(token, file, 0, 1);
  if (!first.ok()) return std::nullopt;
  if (first->front() != '\0') return 0;
  const Result<std::optional<std::uint64_t>> data = file.next_data(token, 0);
  if (!data.ok() || !data->has_value() || **data >= size) return std::nullopt;
  const std::uint64_t from = **data;
  const Result<std::string> block = read_range(token, file, from, std::min(size, from + kBlock));
  if (!block.ok()) return std::nullopt;
  const std::size_t nuls = block->find_first_not_of('\0');
  if (nuls == std::string::npos) return std::nullopt;
  return from + nuls;
}

bool probably_lost(const EndingFacts& facts, UnixNanos from, double average_line) {
  if (facts.rate <= 0) return false;
  // The new content began when the truncation was over, and grew at the same rate since.
  const double grown_ns = static_cast<double>(facts.new_size) / facts.rate * 1e9;
  const auto last =
      static_cast<double>(std::min(facts.noticed, std::max(facts.new_modified, from)));
  // Stamps of files move in steps of some milliseconds.
  static constexpr double kGrain = 2e6;
  const double window = std::max(last - grown_ns - static_cast<double>(from), kGrain);
  return facts.rate * window / 1e9 >= average_line * kChance;
}

EndingStream::EndingStream(WriterParts& parts, std::unique_ptr<StreamWriter> writer,
                           StreamContext context, EndingFacts facts,
                           std::vector<CopyCheck> candidates)
    : parts_(parts),
      writer_(std::move(writer)),
      context_(std::move(context)),
      facts_(std::move(facts)),
      candidates_(std::move(candidates)) {}

Result<bool> EndingStream::step(BlockingToken& token, std::size_t max, std::vector<char>& buffer,
                                MonotonicTime now, UnixNanos wall) {
  LGR_CHECK(writer_->commit(token));
  LGR_TRY(const bool searched, search(token, max, buffer, wall));
  if (!searched) return false;
  LGR_TRY(const bool drained, drain_copy(token, max, buffer, now, wall));
  if (!drained) return false;
  if (!waits_until_) waits_until_ = now + kWaitForData;
  if (missing(wall) && !is_known()) {
    if (waits() && now < *waits_until_) return false;
  }
  waited_ = true;
  LGR_CHECK(finish(token, now, wall));
  return true;
}

Result<bool> EndingStream::search(BlockingToken& token, std::size_t max, std::vector<char>& buffer,
                                  UnixNanos wall) {
  while (!candidates_.empty() && !copy_) {
    const CopyCheck::Verdict verdict = candidates_.front().step(token, max, buffer);
    if (verdict == CopyCheck::Verdict::undecided) return false;
    if (verdict == CopyCheck::Verdict::copy) {
      copy_.emplace(std::move(candidates_.front()));
      copy_base_ = copy_->base();
      ++parts_.stats.copies;
      LGR_INFO("copytruncate stream={} copy={}", to_text(writer_->stream()), copy_->path());
      if (!facts_.watched && copy_->facts().size >= writer_->position()) {
        // Until now there was no file with our bytes: the end of them and the parser's context are
        // in the copy.
        LGR_TRY(auto sighted,
                resume_writer(token, parts_, copy_->file(), writer_->checkpoint(), context_, wall));
        sighted->source() = writer_->source();
        writer_ = std::move(sighted);
      }
      // In the same records as the bytes: after a crash the copy is still known as one.
      writer_->source().copies.push_back(*copy_base_);
      candidates_.clear();
      break;
    }
    candidates_.erase(candidates_.begin());
  }
  return true;
}

Result<bool> EndingStream::drain_copy(BlockingToken& token, std::size_t max,
                                      std::vector<char>& buffer, MonotonicTime now,
                                      UnixNanos wall) {
  if (!copy_ || flushed_) return true;
  Result<FileFacts> copy = copy_->file().facts(token);
  if (!copy.ok() || copy->size <= writer_->next_read()) return true;
  const auto size =
      static_cast<std::size_t>(std::min<std::uint64_t>(max, copy->size - writer_->next_read()));
  buffer.resize(std::max(buffer.size(), size));
  Result<std::size_t> got = copy_->file().read_at(token, writer_->next_read(), buffer.data(), size);
  if (!got.ok() || *got == 0) return true;  // what is left of the copy counts as missing
  copied_lines_ +=
      static_cast<std::uint64_t>(std::count(buffer.data(), buffer.data() + *got, '\n'));
  writer_->feed({buffer.data(), *got}, wall, now);
  LGR_CHECK(writer_->commit(token));
  return writer_->next_read() >= copy->size;
}

void EndingStream::data_began(std::uint64_t start) {
  if (start >= std::max(facts_.known_size, writer_->next_read())) true_end_ = start;
  waited_ = true;
}

std::uint64_t EndingStream::known_size() const {
  return std::max({facts_.known_size, copy_ ? copy_->facts().size : 0, true_end_.value_or(0)});
}

bool EndingStream::is_known() const {
  return true_end_ || known_size() > writer_->next_read() ||
         (facts_.lost_lines && *facts_.lost_lines == copied_lines_);
}

std::optional<Gap> EndingStream::missing(UnixNanos wall) const {
  const std::uint64_t end = writer_->next_read();
  const std::string why = facts_.reason == "deleted" ? "deleted" : "truncated";
  const std::uint64_t known = known_size();
  if (known > end) return Gap{end, known, why, wall};
  if (true_end_) return std::nullopt;
  if (facts_.lost_lines && *facts_.lost_lines >= copied_lines_) {
    // The copy may have had them.
    if (*facts_.lost_lines == copied_lines_) return std::nullopt;
    return Gap{end, std::nullopt, why, wall};
  }
  UnixNanos from = facts_.seen;
  if (copy_ && copy_->facts().size >= facts_.known_size) {
    from = std::max(from, copy_->facts().modified);
  }
  EndingFacts facts = facts_;
  if (!facts.watched) {
    if (!copy_) return Gap{end, std::nullopt, why, wall};
    // Nobody watched, but what the copy holds beyond the last look tells how busy the file was.
    const double seconds = static_cast<double>(from - facts.seen) / 1e9;
    if (copy_->facts().size > facts.known_size && seconds > 0) {
      facts.rate =
          static_cast<double>(copy_->facts().size - facts.known_size) / std::max(seconds, 1.0);
    }
  }
  if (!probably_lost(facts, from, writer_->average_line())) return std::nullopt;
  return Gap{end, std::nullopt, why, wall};
}

Status EndingStream::finish(BlockingToken& token, MonotonicTime now, UnixNanos wall) {
  if (!flushed_) writer_->flush(StreamParser::Flush::closed, wall, now);
  flushed_ = true;
  LGR_CHECK(writer_->commit(token));
  if (!gap_done_) {
    if (const std::optional<Gap> gap = missing(wall)) {
      LGR_CHECK(writer_->append_gap(token, *gap));
    }
    gap_done_ = true;
  }
  writer_->source().seen = wall;
  writer_->close(copy_ ? "copytruncate" : facts_.reason,
                 std::max({facts_.known_size, writer_->next_read(), true_end_.value_or(0)}));
  return writer_->commit_facts(token);
}

}  // namespace logarithm::agent
