#include "aggregator/http/front_page.h"

#include <algorithm>

#include "aggregator/http/endpoints.h"

namespace logarithm::aggregator {
namespace {

constexpr std::size_t kMostOfHost = 255;
constexpr std::string_view kDefaultHost = "127.0.0.1:7400";

// It comes from anybody and is shown as a part of a command.
std::string_view shown_host(std::string_view host) {
  const bool plain = std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(".:-[]").find(c) != std::string_view::npos;
  });
  return plain && !host.empty() && host.size() <= kMostOfHost ? host : kDefaultHost;
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  out.resize(std::max(width, out.size()), ' ');
  return out;
}

}  // namespace

std::string front_page(std::string_view host, bool needs_token) {
  std::string out = "Logarithm aggregator " LGR_VERSION
                    ": the logs of distributed training jobs; which rank broke, when and why.\n\n"
                    "With the command:\n\n"
                    "  export LOGARITHM_SERVER=http://" +
                    std::string(shown_host(host)) + "\n";
  if (needs_token) out += "  export LOGARITHM_TOKEN=…           this server asks for one\n";
  out +=
      "  logarithm jobs\n"
      "  logarithm triage JOB\n"
      "  logarithm query JOB --severity error\n"
      "  logarithm --help\n\n"
      "Over HTTP";
  if (needs_token) out += ", with \"Authorization: Bearer TOKEN\"";
  out += ":\n\n";
  std::size_t widest = 0;
  for (const Endpoint& endpoint : endpoints()) widest = std::max(widest, endpoint.path.size());
  for (const Endpoint& endpoint : endpoints()) {
    const std::string_view method = endpoint.websocket ? "WS" : endpoint.method;
    out += "  " + padded(method, 8) + padded(endpoint.path, widest + 2) +
           std::string(endpoint.what) + "\n";
  }
  return out + "\nParameters are in /api/v1/openapi.json. WS is a WebSocket.\n";
}

}  // namespace logarithm::aggregator
