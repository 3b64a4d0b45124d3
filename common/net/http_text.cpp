#include "common/net/http_text.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace logarithm::net {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void append_clean(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c != '\r' && c != '\n' && c != '\0') out += c;
  }
}

void append_header(std::string& out, std::string_view name, std::string_view value) {
  append_clean(out, name);
  out += ": ";
  append_clean(out, value);
  out += "\r\n";
}

Status add_pair(Request& request, std::string_view pair) {
  const std::size_t equals = pair.find('=');
  LGR_TRY(std::string name, percent_decode(pair.substr(0, equals), Part::query));
  std::string value;
  if (equals != std::string_view::npos) {
    LGR_TRY(value, percent_decode(pair.substr(equals + 1), Part::query));
  }
  request.query.emplace_back(std::move(name), std::move(value));
  return {};
}

}  // namespace

std::optional<std::string_view> find_header(const Headers& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (same_word(key, name)) return value;
  }
  return std::nullopt;
}

std::optional<std::string_view> Request::param(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100: return "Continue";
    case 101: return "Switching Protocols";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 422: return "Unprocessable Content";
    case 426: return "Upgrade Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    default: return "Unknown";
  }
}

int status_for(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found: return 404;
    case ErrorCode::invalid: return 400;
    case ErrorCode::too_large: return 413;
    case ErrorCode::timeout: return 504;
    case ErrorCode::conflict: return 409;
    case ErrorCode::cancelled:
    case ErrorCode::unavailable: return 503;
    default: return 500;
  }
}

Response problem_response(int status, std::string_view detail) {
  nlohmann::json problem;
  problem["status"] = status;
  problem["title"] = reason_phrase(status);
  problem["detail"] = detail;
  Response response;
  response.status = status;
  response.content_type = "application/problem+json";
  response.body = problem.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return response;
}

std::string problem_detail(const std::string& body) {
  const auto parsed = nlohmann::json::parse(body, nullptr, false);
  if (parsed.is_object()) {
    const auto detail = parsed.find("detail");
    if (detail != parsed.end() && detail->is_string()) return detail->get<std::string>();
  }
  constexpr std::size_t kMost = 300;
  std::string_view start = std::string_view(body).substr(0, kMost);
  while (!start.empty() && (start.back() == '\n' || start.back() == '\r')) start.remove_suffix(1);
  return std::string(start);
}

Result<std::string> percent_decode(std::string_view text, Part part) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && part == Part::query) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 1 < text.size() ? hex_value(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0)
        return Error(ErrorCode::invalid, "torn percent-escape in the target");
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

std::string percent_encode(std::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                            (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
    if (unreserved) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

Status set_target(Request& request, std::string_view target) {
  if (target.starts_with("http://") || target.starts_with("https://")) {
    const std::size_t slash = target.find('/', target.find("//") + 2);
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  if (!target.starts_with('/')) return Error(ErrorCode::invalid, "the target must start with '/'");
  target = target.substr(0, target.find('#'));
  const std::size_t mark = target.find('?');
  LGR_TRY(request.path, percent_decode(target.substr(0, mark), Part::path));
  if (request.path.find('\0') != std::string::npos) {
    return Error(ErrorCode::invalid, "a NUL in the path");
  }
  if (mark == std::string_view::npos) return {};
  std::string_view rest = target.substr(mark + 1);
  while (!rest.empty()) {
    const std::size_t end = rest.find('&');
    if (end != 0) LGR_CHECK(add_pair(request, rest.substr(0, end)));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return {};
}

bool has_token(std::string_view value, std::string_view token) {
  for (;;) {
    const std::size_t comma = value.find(',');
    if (same_word(trim(value.substr(0, comma)), token)) return true;
    if (comma == std::string_view::npos) return false;
    value.remove_prefix(comma + 1);
  }
}

std::string response_head(const Response& response, std::string_view framing, bool keep_alive) {
  std::string out = "HTTP/1.1 " + std::to_string(response.status) + " ";
  out += reason_phrase(response.status);
  out += "\r\n";
  if (!response.content_type.empty()) append_header(out, "Content-Type", response.content_type);
  append_header(out, "X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : response.headers) append_header(out, name, value);
  if (!framing.empty()) {
    out += framing;
    out += "\r\n";
  }
  append_header(out, "Connection", keep_alive ? "keep-alive" : "close");
  return out + "\r\n";
}

std::string authority(std::string_view host, std::uint16_t port) {
  const bool literal = host.find(':') != std::string_view::npos;
  return (literal ? "[" + std::string(host) + "]" : std::string(host)) + ":" + std::to_string(port);
}

Result<Url> parse_url(std::string_view text) {
  const std::string shown = "'" + std::string(text) + "'";
  const auto wrong = [&](const std::string& what) {
    return Error(ErrorCode::invalid, shown + ": " + what);
  };
  Url url;
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) {
    return wrong("needs a scheme, as in http://127.0.0.1:7400");
  }
  for (const char c : text.substr(0, colon)) url.scheme += lower(c);
  if (url.scheme == "https" || url.scheme == "wss") {
    return wrong(url.scheme + " is not supported yet: use http or ws through a trusted network");
  }
  if (url.scheme != "http" && url.scheme != "ws") return wrong("the scheme must be http or ws");
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f) return wrong("a blank in the URL");
  }
  std::string_view rest = text.substr(colon + 3);
  const std::size_t path = rest.find_first_of("/?#");
  std::string_view place = rest.substr(0, path);
  if (path != std::string_view::npos) url.path = std::string(rest.substr(path));
  url.path = url.path.substr(0, url.path.find('#'));
  if (!url.path.starts_with('/')) url.path.insert(0, "/");
  if (place.find('@') != std::string_view::npos) return wrong("a user in the URL: use --token");

  std::string_view port;
  if (place.starts_with('[')) {
    const std::size_t close = place.find(']');
    if (close == std::string_view::npos) return wrong("'[' without ']'");
    url.host = std::string(place.substr(1, close - 1));
    place.remove_prefix(close + 1);
    if (!place.empty() && place.front() != ':') return wrong("needs ':' and a port after ']'");
    port = place.empty() ? place : place.substr(1);
  } else {
    const std::size_t end = place.find(':');
    url.host = std::string(place.substr(0, end));
    if (end != std::string_view::npos) port = place.substr(end + 1);
  }
  if (url.host.empty()) return wrong("needs a host");
  url.port = 80;
  if (!port.empty()) {
    auto [stop, problem] = std::from_chars(port.data(), port.data() + port.size(), url.port);
    if (problem != std::errc{} || stop != port.data() + port.size() || url.port == 0) {
      return wrong("the port must be 1 to 65535");
    }
  }
  return url;
}

std::string chunk(const std::string& piece) {
  char digits[16];
  auto [end, problem] = std::to_chars(digits, digits + sizeof digits, piece.size(), 16);
  std::string out(digits, end);
  out.reserve(out.size() + piece.size() + 4);
  return out.append("\r\n").append(piece).append("\r\n");
}

}  // namespace logarithm::net
