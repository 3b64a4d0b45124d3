#include "aggregator/http/auth.h"

#include <algorithm>

namespace logarithm::aggregator {
namespace {

bool same(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const char other = b.empty() ? '\0' : b[i % b.size()];
    difference |=
        static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(other));
  }
  return difference == 0;
}

}  // namespace

Result<std::string> tenant_of_token(const std::string& token,
                                    const std::vector<TokenGrant>& tokens) {
  if (tokens.empty()) return std::string("default");
  std::optional<std::string> tenant;
  for (const TokenGrant& grant : tokens) {
    if (same(token, grant.token)) tenant = grant.tenant;
  }
  if (!tenant) return Error(ErrorCode::invalid, "the token is not known here");
  return *tenant;
}

std::optional<std::string> tenant_of(const net::Request& request,
                                     const std::vector<TokenGrant>& tokens) {
  if (tokens.empty()) return "default";
  auto header = net::find_header(request.headers, "Authorization");
  // The scheme's name is case-insensitive (RFC 9110, 11.1).
  constexpr std::string_view kBearer = "bearer ";
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  if (!header || header->size() < kBearer.size() ||
      !std::equal(kBearer.begin(), kBearer.end(), header->begin(),
                  [&](char wanted, char c) { return wanted == lower(c); })) {
    return std::nullopt;
  }
  auto tenant = tenant_of_token(std::string(header->substr(kBearer.size())), tokens);
  if (!tenant.ok()) return std::nullopt;
  return *tenant;
}

}  // namespace logarithm::aggregator
