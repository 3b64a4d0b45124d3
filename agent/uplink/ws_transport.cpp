#include "agent/uplink/ws_transport.h"

#include <utility>

namespace logarithm::agent {
namespace {

class WsLink final : public Connection {
 public:
  explicit WsLink(std::shared_ptr<net::WsConnection> socket) : socket_(std::move(socket)) {}

  boost::asio::awaitable<Status> send(wire::Frame frame) override {
    std::string bytes = wire::encode(frame);
    co_return co_await socket_->send(std::move(bytes));
  }

  boost::asio::awaitable<Result<wire::Frame>> receive() override {
    while (true) {
      auto message = co_await socket_->receive();
      if (!message.ok()) co_return message.error();
      auto frame = wire::decode(*message);
      if (!frame.ok()) co_return frame.error();
      if (frame->has_value()) co_return std::move(**frame);
    }
  }

  boost::asio::awaitable<void> close(std::string reason) override {
    co_await socket_->close(std::move(reason));
  }
  void cancel() override { socket_->cancel(); }

 private:
  std::shared_ptr<net::WsConnection> socket_;
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
