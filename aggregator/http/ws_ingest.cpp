#include "aggregator/http/ws_ingest.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <vector>

#include "aggregator/ingest/ingest_session.h"
#include "common/async/task_group.h"
#include "common/base/logging.h"
#include "common/wire/batch.h"

namespace logarithm::aggregator {
namespace {

namespace asio = boost::asio;

// The answers of one session on their way to the socket. Bounded by the session, which ends a peer
// that does not read.
class Outbox final : public FrameSink {
 public:
  Outbox(asio::any_io_executor executor, std::shared_ptr<net::WsConnection> connection)
      : connection_(std::move(connection)),
        wake_(executor, asio::steady_timer::time_point::max()) {}

  void send(std::string message) override {
    if (closing_) return;
    bytes_ += message.size();
    queue_.push_back(std::move(message));
    wake_.cancel();
  }
  void allow_batches() override { batches_ = true; }
  std::size_t queued_bytes() const override { return bytes_; }
  void close(std::string reason) override {
    if (!closing_) reason_ = std::move(reason);
    closing_ = true;
    wake_.cancel();
  }

  // Writes what is queued until close() or a broken connection; then closes the socket, which ends
  // the reader, too.
  asio::awaitable<Status> run() {
    co_await asio::this_coro::throw_if_cancelled(false);
    bool broken = false;
    while (!broken) {
      if (queue_.empty()) {
        if (closing_) break;
        wake_.expires_at(asio::steady_timer::time_point::max());
        co_await wake_.async_wait(asio::as_tuple(asio::use_awaitable));
        const auto state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() != asio::cancellation_type::none) break;
        continue;
      }
      std::string message = next_message();
      Status sent = co_await connection_->send(std::move(message));
      broken = !sent.ok();
    }
    closing_ = true;
    queue_.clear();
    bytes_ = 0;
    if (broken) {
      connection_->cancel();
    } else {
      std::string reason = reason_;
      co_await connection_->close(std::move(reason));
    }
    co_return Status();
  }

 private:
  // What is queued, as far as one message holds it.
  std::string next_message() {
    std::vector<std::string> frames;
    std::size_t bytes = 0;
    do {
      bytes += queue_.front().size();
      frames.push_back(std::move(queue_.front()));
      queue_.pop_front();
    } while (batches_ && !queue_.empty() && bytes + queue_.front().size() <= wire::kBatchBytes);
    bytes_ -= bytes;
    return frames.size() == 1 ? std::move(frames.front()) : wire::encode_batch(frames);
  }

  std::shared_ptr<net::WsConnection> connection_;
  asio::steady_timer wake_;
  std::deque<std::string> queue_;
  std::size_t bytes_ = 0;
  bool batches_ = false;
  bool closing_ = false;
  std::string reason_;
};

}  // namespace

asio::awaitable<void> IngestEndpoint::serve(std::shared_ptr<net::WsConnection> connection) {
  co_await asio::this_coro::throw_if_cancelled(false);
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  Outbox outbox(executor, connection);
  TaskGroup writer(executor);
  writer.spawn("ingest outbox", outbox.run());
  std::shared_ptr<IngestSession> session = hub_.connect(outbox);
  LGR_INFO("agent connected peer={}", connection->peer());
  while (true) {
    auto message = co_await connection->receive();
    if (!message.ok()) {
      if (message.error().code() != ErrorCode::cancelled) {
        LGR_WARN("agent connection ended peer={} error={}", connection->peer(),
                 message.error().message());
      }
      break;
    }
    session->on_frame(*message);
  }
  session->on_disconnect();
  outbox.close("");
  Status joined = co_await writer.join();
  if (!joined.ok()) LGR_WARN("agent connection error={}", joined.error().message());
  LGR_INFO("agent disconnected peer={}", connection->peer());
}

}  // namespace logarithm::aggregator
