#include "agent/follow/copy_check.h"

#include <algorithm>
#include <utility>

#include "common/model/stream.h"

namespace logarithm::agent {

CopyCheck::CopyCheck(std::string path, StreamBase base, std::unique_ptr<SourceFile> file,
                     FileFacts facts, const std::string& head, const PrefixDigest& digest,
                     const HashLadder& ladder)
    : path_(std::move(path)),
      base_(base),
      file_(std::move(file)),
      facts_(facts),
      head_(head),
      tail_(digest.tail()),
      read_(digest.offset()),
      known_(digest.known()) {
  if (facts_.size >= read_) {
    until_ = known_ ? read_ : 0;
    wanted_ = digest.value();
  } else {
    // A copy that is shorter than what we read: up to the last rung. Less than a KiB stays
    // unchecked, and the head covers the first one.
    std::tie(until_, wanted_) = ladder.below(facts_.size);
  }
}

bool CopyCheck::quick_look(BlockingToken& token) {
  if (facts_.size == 0 || head_.empty()) return false;
  const std::uint64_t common = std::min<std::uint64_t>(head_.size(), facts_.size);
  Result<std::string> head = read_range(token, *file_, 0, common);
  if (!head.ok() || !fits_head(*head, head_)) return false;
  if (facts_.size < read_) return true;
  Result<std::string> tail = read_range(token, *file_, read_ - tail_.size(), read_);
  return tail.ok() && *tail == tail_;
}

CopyCheck::Verdict CopyCheck::step(BlockingToken& token, std::size_t max,
                                   std::vector<char>& buffer) {
  if (!looked_) {
    if (!quick_look(token)) return Verdict::different;
    looked_ = true;
  }
  if (digest_.offset() < until_) {
    const auto size =
        static_cast<std::size_t>(std::min<std::uint64_t>(max, until_ - digest_.offset()));
    buffer.resize(std::max(buffer.size(), size));
    Result<std::size_t> got = file_->read_at(token, digest_.offset(), buffer.data(), size);
    if (!got.ok() || *got != size) return Verdict::different;
    digest_.add({buffer.data(), size});
  }
  if (digest_.offset() < until_) return Verdict::undecided;
  if (until_ > 0 && digest_.value() != wanted_) return Verdict::different;
  return Verdict::copy;
}

}  // namespace logarithm::agent
