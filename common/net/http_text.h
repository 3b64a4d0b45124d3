#pragma once

#include <string>
#include <string_view>

#include "common/net/http.h"

// Text of HTTP that the adapters of this folder share. Pure.
namespace logarithm::net {

std::string_view reason_phrase(int status);  // "Not Found"; "Unknown" for one we never send

// Of an Error that ends a body before its head was sent.
int status_for(ErrorCode code);

// Application/problem+json (RFC 9457) of a refusal that the server itself makes.
Response problem_response(int status, std::string_view detail);
// The "detail" of such a body, else the start of the body itself.
std::string problem_detail(const std::string& body);

// Percent-decoding; in a query '+' is a space. Error{invalid} for a torn escape.
enum class Part { path, query };
Result<std::string> percent_decode(std::string_view text, Part part);

// Sets path and query of `request` from a request target (origin or absolute form). Error{invalid}
// for torn escapes, a NUL and a target that does not start with '/'.
Status set_target(Request& request, std::string_view target);

// Whether a comma-separated header value holds `token` (ASCII case-insensitive).
bool has_token(std::string_view value, std::string_view token);

// The head of a response up to and including the empty line. CR, LF and NUL in values are dropped.
// `framing` is the line that says how long the body is ("Content-Length: 5", without CRLF).
std::string response_head(const Response& response, std::string_view framing, bool keep_alive);

// A piece of a chunked body; an empty one would end it.
std::string chunk(const std::string& piece);

// "host:port" with brackets around an IPv6 literal.
std::string authority(std::string_view host, std::uint16_t port);

}  // namespace logarithm::net
