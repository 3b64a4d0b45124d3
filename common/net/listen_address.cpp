#include "common/net/listen_address.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <charconv>
#include <string_view>

namespace logarithm::net {
namespace {

constexpr const char* kHint = " (write an address and a port, as in 127.0.0.1:7400 or [::1]:7400)";

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Result<ListenAddress> parse_listen(const std::string& text) {
  const Error bad(ErrorCode::invalid, "not host:port: " + text + kHint);
  ListenAddress out;
  const auto colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return bad;
  out.host = text.substr(0, colon);
  const bool brackets = out.host.front() == '[' && out.host.back() == ']';
  if (brackets) {
    out.host = out.host.substr(1, out.host.size() - 2);
  } else if (out.host.find(':') != std::string::npos) {
    return Error(ErrorCode::invalid, "an IPv6 address needs brackets: " + text + kHint);
  }
  const std::string port = text.substr(colon + 1);
  if (!all_digits(port)) return bad;
  const char* end = port.data() + port.size();
  if (std::from_chars(port.data(), end, out.port).ec != std::errc{}) {
    return Error(ErrorCode::invalid, "port " + port + " is not from 0 to 65535");
  }
  if (out.host == "localhost") out.host = "127.0.0.1";
  boost::system::error_code wrong;
  const auto address = boost::asio::ip::make_address(out.host, wrong);
  if (wrong || address.is_v6() != brackets) {
    return Error(ErrorCode::invalid, "'" + out.host + "' is not an IP address" + kHint);
  }
  out.loopback = address.is_loopback();
  return out;
}

}  // namespace logarithm::net
