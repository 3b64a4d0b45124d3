#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/net/http.h"

namespace logarithm::aggregator {

struct TokenGrant {
  std::string token;
  std::string tenant = "default";
};

// Who a request is from: the tenant of its bearer token, or `default` when no tokens are
// configured. nullopt: not authenticated. Compares in constant time.
std::optional<std::string> tenant_of(const net::Request& request,
                                     const std::vector<TokenGrant>& tokens);
// The same for a token that came another way; Error{invalid} when it is nobody's.
Result<std::string> tenant_of_token(const std::string& token,
                                    const std::vector<TokenGrant>& tokens);

}  // namespace logarithm::aggregator
