#include "agent/uplink/ws_transport.h"

#include <deque>
#include <optional>
#include <utility>

#include "common/wire/batch.h"

namespace logarithm::agent {
namespace {

class WsLink final : public Connection {
 public:
  explicit WsLink(std::shared_ptr<net::WsConnection> socket) : socket_(std::move(socket)) {}

  boost::asio::awaitable<Status> send(wire::Frame frame) override {
    std::string bytes = wire::encode(frame);
    co_return co_await socket_->send(std::move(bytes));
  }

  boost::asio::awaitable<Status> send_all(std::vector<wire::Frame> frames) override {
    std::vector<std::string> together;
    std::size_t bytes = 0;
    for (wire::Frame& frame : frames) {
      std::string next = wire::encode(frame);
      frame = wire::Flush();  // its bytes are not needed twice
      if (!together.empty() && (!batches_ || bytes + next.size() > wire::kBatchBytes)) {
        std::vector<std::string> full = std::move(together);
        LGR_CO_CHECK(co_await send_together(std::move(full)));
        together.clear();
        bytes = 0;
      }
      bytes += next.size();
      together.push_back(std::move(next));
    }
    if (together.empty()) co_return Status();
    co_return co_await send_together(std::move(together));
  }

  boost::asio::awaitable<Result<wire::Frame>> receive() override {
    while (received_.empty()) {
      auto message = co_await socket_->receive();
      if (!message.ok()) co_return message.error();
      const Status read = take(*message);
      if (!read.ok()) co_return read.error();
    }
    wire::Frame frame = std::move(received_.front());
    received_.pop_front();
    co_return std::move(frame);
  }

  boost::asio::awaitable<void> close(std::string reason) override {
    co_await socket_->close(std::move(reason));
  }
  void cancel() override { socket_->cancel(); }

 private:
  boost::asio::awaitable<Status> send_together(std::vector<std::string> frames) {
    std::string message =
        frames.size() == 1 ? std::move(frames.front()) : wire::encode_batch(frames);
    co_return co_await socket_->send(std::move(message));
  }

  Status take(std::string_view message) {
    if (!wire::is_batch(message)) return take_frame(message);
    LGR_TRY(const std::vector<std::string_view> frames, wire::decode_batch(message));
    for (const std::string_view frame : frames) LGR_CHECK(take_frame(frame));
    return {};
  }

  Status take_frame(std::string_view bytes) {
    LGR_TRY(std::optional<wire::Frame> frame, wire::decode(bytes));
    if (!frame) return {};  // of a type that we do not know
    if (const auto* welcome = std::get_if<wire::Welcome>(&*frame)) batches_ = welcome->batches;
    received_.push_back(std::move(*frame));
    return {};
  }

  std::shared_ptr<net::WsConnection> socket_;
  bool batches_ = false;  // the peer reads them
  std::deque<wire::Frame> received_;
};

}  // namespace

WsTransport::WsTransport(net::Url url, std::string token) : url_(std::move(url)) {
  url_.path = "/api/v1/ingest";
  options_.token = std::move(token);
  options_.connect_timeout = std::chrono::milliseconds(3000);
}

boost::asio::awaitable<Result<std::shared_ptr<Connection>>> WsTransport::connect() {
  net::Url url = url_;
  net::ClientOptions options = options_;
  std::string protocol = "logarithm.v1";
  auto socket = co_await net::ws_connect(std::move(url), std::move(protocol), std::move(options));
  if (!socket.ok()) co_return socket.error();
  std::shared_ptr<Connection> link = std::make_shared<WsLink>(std::move(*socket));
  co_return link;
}

}  // namespace logarithm::agent
