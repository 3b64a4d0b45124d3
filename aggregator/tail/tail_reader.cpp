#include "aggregator/tail/tail_reader.h"

#include <algorithm>

namespace logarithm::aggregator {
namespace {

constexpr std::chrono::seconds kSampleEvery{1};
constexpr std::size_t kMostSamples = 4096;

bool is_wanted(const Predicate& predicate, const JobView& view, std::size_t stream) {
  const auto& joins = view.joins(stream);
  return std::any_of(joins.begin(), joins.end(), [&](const StreamJoin& join) {
    return judge(predicate, join, nullptr, nullptr) != Verdict::never;
  });
}

}  // namespace

TailReader::TailReader(TailQuery query, TailMergeOptions options)
    : query_(std::move(query)), options_(options) {
  plan_.predicate = query_.predicate;
  plan_.start = query_.cursor ? query_.cursor->start : query_.start;
  plan_.end = query_.cursor ? query_.cursor->end : query_.end;
  plan_.direction = Direction::forward;
}

// A stream that is new to us is unsent as a whole; at the very beginning the cursor (or the wish
// for new lines only) says otherwise.
void TailReader::adopt_streams(const JobView& view) {
  const std::vector<StreamFacts>& facts = view.snapshot().streams();
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const auto [at, fresh] = streams_.try_emplace(facts[i].id);
    if (!fresh) continue;
    TailStream& stream = at->second;
    stream.unsent = all_unsent();
    stream.wanted = is_wanted(plan_.predicate, view, i);
    if (query_.cursor) {
      const auto sent = query_.cursor->streams.find(stream_key(facts[i].id));
      if (sent != query_.cursor->streams.end()) stream.unsent = sent->second;
    } else if (!began_) {
      stream.holes_are_old = true;
      if (!plan_.start) stream.unsent = all_but(facts[i].ranges);
    }
  }
  began_ = true;
}

Status TailReader::add_sources(TailMerge& merge, const JobView& view, MonotonicTime now) {
  const std::vector<StreamFacts>& facts = view.snapshot().streams();
  std::uint64_t stored = 0, behind = 0;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    for (const Range& range : facts[i].ranges) stored += range.end - range.first;
    TailStream& stream = streams_.at(facts[i].id);
    const std::uint64_t waits = pending(stream.unsent, facts[i].ranges);
    if (waits == 0) continue;
    // Attributes are corrected now and then: a rank becomes known.
    stream.wanted = is_wanted(plan_.predicate, view, i);
    if (!stream.wanted) continue;
    behind += waits;
    LGR_CHECK(merge.add(i, stream));
  }
  reached_ = stored - behind;
  if (stored_.empty() || (now - stored_.back().first >= kSampleEvery &&
                          stored > stored_.back().second && stored_.size() < kMostSamples)) {
    stored_.emplace_back(now, stored);
  }
  while (!stored_.empty() && stored_.front().second <= reached_) stored_.pop_front();
  return {};
}

bool TailReader::is_too_slow(MonotonicTime now) const {
  if (query_.max_behind.count() == 0 || !was_live_ || stored_.empty()) return false;
  return now - stored_.front().first > query_.max_behind;
}

bool TailReader::has_piece(MonotonicTime now) const {
  if (piece_.count > 0 || piece_.unreadable > 0 || !told_anything_) return true;
  if (skipping_) return false;  // told once, with the whole number
  if (piece_.skipped > 0 || (caught_up_ && !told_live_)) return true;
  return reached_ != moved_from_ && now - *told_at_ >= kCursorEvery;
}

Result<TailReader::State> TailReader::step(BlockingToken& token, BlockLookup& lookup,
                                           DecodedBlocks& blocks, const Turn& turn) {
  const JobView& view = lookup.view();
  adopt_streams(view);
  TailMerge merge(token, lookup, blocks, plan_, options_, turn.now);
  LGR_CHECK(add_sources(merge, view, turn.now));
  skipping_ = skipping_ || is_too_slow(turn.now);
  const auto sink = [&](DecodedBlock& block, std::size_t line, const StreamJoin& join) {
    if (piece_.count > 0) piece_.lines.push_back(',');
    piece_.lines += blocks.text(block, line, join);
    ++piece_.count;
    return piece_.lines.size() < turn.piece_bytes;
  };
  auto end =
      skipping_ ? merge.skip(turn.time_is_up, piece_.skipped) : merge.run(sink, turn.time_is_up);
  if (!end.ok()) return end.error();
  piece_.unreadable += merge.unreadable();
  forgotten_holes_ += merge.forgotten_holes();
  retry_at_ = merge.retry_at();
  caught_up_ = *end == MergeEnd::everything;
  if (caught_up_) {
    skipping_ = false;
    stored_.clear();
    if (!was_live_) {
      for (auto& [id, stream] : streams_) stream.holes_are_old = false;
    }
    was_live_ = true;
  }
  if (has_piece(turn.now)) {
    told_at_ = turn.now;
    moved_from_ = reached_;
    return State::piece;
  }
  return caught_up_ ? State::idle : State::more;
}

TailPiece TailReader::take() {
  TailPiece out = std::exchange(piece_, TailPiece());
  out.live = caught_up_;
  told_live_ = caught_up_;
  told_anything_ = true;
  TailCursor cursor;
  cursor.query_hash = query_.query_hash;
  cursor.start = plan_.start;
  cursor.end = plan_.end;
  for (const auto& [id, stream] : streams_) {
    // Of the others no line passes: they need no place in it.
    if (stream.wanted) cursor.streams.emplace(stream_key(id), stream.unsent);
  }
  out.cursor = to_text(cursor);
  return out;
}

}  // namespace logarithm::aggregator
