#include "aggregator/tail/tail_hub.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace logarithm::aggregator {

namespace asio = boost::asio;

// One job that somebody tails.
struct TailHub::Feed {
  Feed(const asio::any_io_executor& executor, JobKey key) : job(std::move(key)), timer(executor) {}

  JobKey job;
  std::uint64_t news = 1;  // grows with every commit
  std::size_t tails = 0;
  std::vector<std::shared_ptr<Subscription>> waiting;  // for an answer, in the order of asking
  bool running = false;
  MonotonicTime next_round{};
  asio::steady_timer timer;
  std::uint64_t timer_number = 0;  // an older timer's handler does nothing
};

struct TailHub::Round {
  struct Entry {
    std::shared_ptr<Subscription> tail;
    std::optional<Result<TailReader::State>> state;  // absent: its turn did not come
    TailPiece piece;                                 // with State::piece
  };
  JobKey job;
  std::uint64_t news = 0;
  std::size_t piece_bytes = 0;
  std::vector<Entry> entries;
  MonotonicTime began{}, ended{};
};

TailHub::Subscription::Subscription(TailHub& hub, TailQuery query)
    : hub_(hub),
      job_(query.job),
      reader_(std::move(query), hub.options_.merge),
      answered_(hub.executor_, asio::steady_timer::time_point::max()) {
  ++hub_.stats_.open;
  ++hub_.feed_of(job_).tails;
}

TailHub::Subscription::~Subscription() {
  --hub_.stats_.open;
  hub_.stats_.forgotten_holes += reader_.forgotten_holes();
  hub_.left(job_);
}

TailHub::TailHub(Storage& storage, WorkerPool& workers, asio::any_io_executor executor,
                 Clock& clock, LineEncoder encode, TailHubOptions options)
    : storage_(storage),
      workers_(workers),
      executor_(std::move(executor)),
      clock_(clock),
      options_(options),
      blocks_(options.shared_bytes, std::move(encode)) {}

TailHub::~TailHub() = default;

TailHub::Feed& TailHub::feed_of(const JobKey& job) {
  auto& feed = feeds_[job];
  if (feed == nullptr) feed = std::make_unique<Feed>(executor_, job);
  return *feed;
}

void TailHub::left(const JobKey& job) {
  const auto feed = feeds_.find(job);
  // A round that runs holds its tails, so a feed without tails has none running.
  if (--feed->second->tails == 0) feeds_.erase(feed);
}

void TailHub::on_commit(const JobKey& job) {
  const auto feed = feeds_.find(job);
  if (feed == feeds_.end()) return;
  ++feed->second->news;
  schedule(*feed->second);
}

std::shared_ptr<TailHub::Subscription> TailHub::subscribe(TailQuery query) {
  if (stats_.open >= options_.max_tails) {
    ++stats_.refused;
    return nullptr;
  }
  return std::make_shared<Subscription>(*this, std::move(query));
}

asio::awaitable<Result<TailPiece>> TailHub::next(std::shared_ptr<Subscription> tail) {
  co_await asio::this_coro::throw_if_cancelled(false);
  tail->answer_.reset();
  Feed& feed = feed_of(tail->job_);
  feed.waiting.push_back(tail);
  schedule(feed);
  while (!tail->answer_) {
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
      std::erase(feed.waiting, tail);
      co_return Error(ErrorCode::cancelled, "the client has left");
    }
    tail->answered_.expires_at(asio::steady_timer::time_point::max());
    co_await tail->answered_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  co_return std::move(*tail->answer_);
}

std::chrono::nanoseconds TailHub::reserve(std::size_t bytes) {
  const MonotonicTime now = clock_.now();
  const MonotonicTime from = std::max(now, rate_free_at_);
  rate_free_at_ =
      from + std::chrono::nanoseconds(bytes * 1'000'000'000 /
                                      std::max<std::uint64_t>(1, options_.bytes_per_second));
  return from - now;
}

std::size_t TailHub::piece_bytes() const {
  return std::clamp(options_.pieces_bytes / std::max<std::uint64_t>(1, stats_.open),
                    options_.least_piece_bytes, options_.most_piece_bytes);
}

// Starts a round when one is due, or sets the timer for when one will be.
void TailHub::schedule(Feed& feed) {
  if (feed.running || feed.waiting.empty()) return;
  const MonotonicTime now = clock_.now();
  std::vector<std::shared_ptr<Subscription>> ready;
  std::optional<MonotonicTime> later;
  for (const auto& tail : feed.waiting) {
    if (tail->seen_ != feed.news || (tail->retry_at_ && *tail->retry_at_ <= now)) {
      ready.push_back(tail);
    } else if (tail->retry_at_) {
      later = later ? std::min(*later, *tail->retry_at_) : *tail->retry_at_;
    }
  }
  if (!ready.empty() && now >= feed.next_round) return start(feed, std::move(ready));
  if (!ready.empty()) later = feed.next_round;
  if (later) wait_until(feed, *later);
}

void TailHub::wait_until(Feed& feed, MonotonicTime time) {
  const std::uint64_t number = ++feed.timer_number;
  feed.timer.expires_after(std::max(time - clock_.now(), std::chrono::nanoseconds(0)));
  feed.timer.async_wait([this, job = feed.job, number](const boost::system::error_code& ended) {
    if (ended) return;
    const auto at = feeds_.find(job);
    if (at != feeds_.end() && at->second->timer_number == number) schedule(*at->second);
  });
}

void TailHub::start(Feed& feed, std::vector<std::shared_ptr<Subscription>> tails) {
  // Who asks the same reads the same blocks: one after the other, so that each is decoded once and
  // not once for each, also where all of them together have no room. It begins with whom its turn
  // belongs to, and goes round.
  const std::uint64_t first = tails.front()->reader_.query().query_hash;
  std::stable_sort(tails.begin(), tails.end(), [first](const auto& a, const auto& b) {
    return a->reader_.query().query_hash - first < b->reader_.query().query_hash - first;
  });
  feed.running = true;
  ++feed.timer_number;
  ++stats_.rounds;
  auto round = std::make_shared<Round>();
  round->job = feed.job;
  round->news = feed.news;
  round->piece_bytes = piece_bytes();
  for (auto& tail : tails) round->entries.emplace_back().tail = std::move(tail);
  workers_.post([this, round = std::move(round)](BlockingToken& token) mutable {
    run(token, *round);
    // Moved, not copied: the last owner of a tail must not be the worker.
    asio::post(executor_, [this, round = std::move(round)] { finish(*round); });
    return Status();
  });
}

// On the worker.
void TailHub::run(BlockingToken& token, Round& round) {
  round.began = clock_.now();
  auto snapshot = storage_.snapshot(token, round.job);
  if (!snapshot.ok()) {
    const bool unknown = snapshot.error().code() == ErrorCode::not_found;
    const Error error =
        unknown ? Error(ErrorCode::not_found, "no such job: " + round.job.job) : snapshot.error();
    for (Round::Entry& entry : round.entries) entry.state.emplace(error);
    round.ended = clock_.now();
    return;
  }
  JobView view(round.job, std::move(*snapshot));
  BlockLookup lookup(view);
  for (Round::Entry& entry : round.entries) {
    TailReader::Turn turn;
    turn.now = clock_.now();
    if (turn.now - round.began > options_.round_time) break;
    turn.piece_bytes = round.piece_bytes;
    turn.time_is_up = [this, until = turn.now + options_.turn_time] {
      return clock_.now() >= until;
    };
    TailReader& reader = entry.tail->reader_;
    entry.state = reader.step(token, lookup, blocks_, turn);
    if (entry.state->ok() && **entry.state == TailReader::State::piece) entry.piece = reader.take();
  }
  round.ended = clock_.now();
}

void TailHub::finish(Round& round) {
  Feed& feed = *feeds_.at(round.job);
  feed.running = false;
  // At most a quarter of the worker for one job while its tails are up with it, so that small and
  // frequent commits are taken together.
  bool everyone_idle = true;
  for (Round::Entry& entry : round.entries) {
    Subscription& tail = *entry.tail;
    if (!entry.state) {
      everyone_idle = false;
      continue;
    }
    if (!entry.state->ok()) {
      tail.answer_.emplace(entry.state->error());
    } else {
      const TailReader::State state = **entry.state;
      tail.retry_at_ = tail.reader_.retry_at();
      if (tail.reader_.caught_up()) tail.seen_ = round.news;
      everyone_idle = everyone_idle && tail.reader_.caught_up();
      if (state != TailReader::State::piece) continue;
      stats_.lines += entry.piece.count;
      stats_.bytes += entry.piece.lines.size();
      stats_.skipped += entry.piece.skipped;
      stats_.unreadable += entry.piece.unreadable;
      tail.answer_.emplace(std::move(entry.piece));
    }
    std::erase(feed.waiting, entry.tail);
    tail.answered_.cancel();
  }
  const auto pause = std::max(options_.round_pause, 3 * (round.ended - round.began));
  feed.next_round = everyone_idle ? round.began + pause : round.ended;
  // Those whose turn did not come go first.
  std::stable_partition(feed.waiting.begin(), feed.waiting.end(), [&](const auto& tail) {
    return std::any_of(round.entries.begin(), round.entries.end(),
                       [&](const auto& entry) { return entry.tail == tail && !entry.state; });
  });
  schedule(feed);
}

}  // namespace logarithm::aggregator
