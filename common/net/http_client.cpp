#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <utility>

#include "common/net/client.h"
#include "common/net/connect.h"
#include "common/net/http_text.h"

namespace logarithm::net {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kPiece = 64u << 10;
constexpr std::uint32_t kMostHead = 64u << 10;

using Sink = std::function<bool(std::string_view)>;
using Parser = http::response_parser<http::buffer_body>;

std::string request_head(const Url& url, std::string_view method, const Headers& headers,
                         const ClientOptions& options, std::size_t body_size) {
  std::string out(method);
  out += " " + url.path + " HTTP/1.1\r\nHost: " + authority(url.host, url.port) +
         "\r\nUser-Agent: logarithm/" LGR_VERSION "\r\nConnection: close\r\n";
  if (!options.token.empty()) out += "Authorization: Bearer " + options.token + "\r\n";
  for (const auto& [name, value] : headers) out += name + ": " + value + "\r\n";
  if (body_size != 0 || method == "POST" || method == "PUT") {
    out += "Content-Length: " + std::to_string(body_size) + "\r\n";
  }
  return out + "\r\n";
}

// A line break in a header would let its value write further headers.
bool well_formed(std::string_view method, const Headers& headers, const ClientOptions& options) {
  const auto bad = [](std::string_view text) {
    return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos;
  };
  if (method.empty() || bad(method) || bad(options.token)) return false;
  for (const auto& [name, value] : headers) {
    if (name.empty() || bad(name) || bad(value)) return false;
  }
  return true;
}

// One request over one connection.
class Exchange {
 public:
  Exchange(asio::ip::tcp::socket socket, ClientOptions options, std::string where)
      : stream_(std::move(socket)), options_(std::move(options)), where_(std::move(where)) {}

  asio::awaitable<Status> write(std::string text) {
    std::string_view rest = text;
    while (!rest.empty()) {
      stream_.expires_after(options_.idle_timeout);
      const auto piece = asio::buffer(rest.data(), std::min(rest.size(), kPiece));
      auto [broken, sent] = co_await stream_.async_write_some(piece, kAwait);
      if (broken) co_return failure(broken);
      rest.remove_prefix(sent);
    }
    co_return Status();
  }

  // Reads the answer; the body of a 200 goes to `sink` if there is one. `bodiless`: of a HEAD.
  asio::awaitable<Result<Response>> read(Sink sink, bool bodiless) {
    Parser parser;
    parser.header_limit(kMostHead);
    parser.body_limit(boost::none);
    parser.skip(bodiless);
    stream_.expires_after(options_.idle_timeout);
    auto [broken, ignored] = co_await http::async_read_header(stream_, buffer_, parser, kAwait);
    if (broken) co_return failure(broken);
    Response response = head_of(parser);
    const bool streamed = sink && response.status == 200;
    Sink* target = streamed ? &sink : nullptr;
    LGR_CO_CHECK(co_await read_body(parser, target, response.body));
    co_return std::move(response);
  }

 private:
  static Response head_of(Parser& parser) {
    Response response;
    const auto& message = parser.get();
    response.status = static_cast<int>(message.result_int());
    const auto type = message[http::field::content_type];
    response.content_type = std::string(type.data(), type.size());
    for (const auto& field : message) {
      response.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    }
    return response;
  }

  asio::awaitable<Status> read_body(Parser& parser, Sink* sink, std::string& body) {
    std::string piece(kPiece, '\0');
    while (!parser.is_done()) {
      parser.get().body().data = piece.data();
      parser.get().body().size = piece.size();
      stream_.expires_after(options_.idle_timeout);
      auto [broken, ignored] = co_await http::async_read_some(stream_, buffer_, parser, kAwait);
      if (broken && broken != http::error::need_buffer) co_return failure(broken);
      const std::string_view got(piece.data(), piece.size() - parser.get().body().size);
      if (sink != nullptr) {
        if (!got.empty() && !(*sink)(got)) co_return Status();
      } else if (body.size() + got.size() > options_.max_message) {
        co_return Error(ErrorCode::too_large, where_ + ": the answer is over the limit");
      } else {
        body += got;
      }
    }
    co_return Status();
  }

  Error failure(const boost::system::error_code& code) const {
    if (code == asio::error::operation_aborted) return Error(ErrorCode::cancelled, "cancelled");
    if (code == beast::error::timeout) {
      return Error(ErrorCode::timeout, where_ + ": no byte within the idle timeout");
    }
    if (code == http::error::end_of_stream || code == http::error::partial_message) {
      return Error(ErrorCode::unavailable, where_ + ": the server closed before its answer ended");
    }
    if (code.category() == make_error_code(http::error::bad_version).category()) {
      return Error(ErrorCode::corrupt, where_ + ": not an HTTP answer: " + code.message());
    }
    return Error(ErrorCode::unavailable, where_ + ": " + code.message());
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{kMostHead + kPiece};
  ClientOptions options_;
  std::string where_;
};

asio::awaitable<Result<Response>> exchange(Url url, std::string method, Headers headers,
                                           std::string body, ClientOptions options, Sink sink) {
  if (!well_formed(method, headers, options)) {
    co_return Error(ErrorCode::invalid, "a line break in a request header");
  }
  LGR_CO_TRY(auto socket, co_await connect(url.host, url.port, options.connect_timeout));
  std::string text = request_head(url, method, headers, options, body.size());
  text += body;
  body.clear();
  Exchange over(std::move(socket), std::move(options), authority(url.host, url.port));
  Status sent = co_await over.write(std::move(text));
  // A server that refuses early closes while we still send; its answer says why.
  auto answer = co_await over.read(std::move(sink), method == "HEAD");
  if (!sent.ok() && !answer.ok()) co_return sent.error();
  co_return std::move(answer);
}

}  // namespace

asio::awaitable<Result<Response>> http_request(Url url, std::string method, Headers headers,
                                               std::string body, ClientOptions options) {
  return exchange(std::move(url), std::move(method), std::move(headers), std::move(body),
                  std::move(options), Sink());
}

asio::awaitable<Result<Response>> http_stream(Url url, Headers headers, ClientOptions options,
                                              std::function<bool(std::string_view)> sink) {
  return exchange(std::move(url), "GET", std::move(headers), std::string(), std::move(options),
                  std::move(sink));
}

}  // namespace logarithm::net
