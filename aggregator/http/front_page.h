#pragma once

#include <string>
#include <string_view>

namespace logarithm::aggregator {

// What `/` answers to whoever looks at the port with a browser: what this is, how the command asks
// it, and all operations. `host`: as the request names it.
std::string front_page(std::string_view host, bool needs_token);

}  // namespace logarithm::aggregator
