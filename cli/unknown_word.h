#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace logarithm::cli {

// Of arguments that could not be used: the first that is no verb, or no option of the chosen verb,
// with the name that was probably meant. nullopt when it is something else.
std::optional<std::string> unknown_word(const CLI::App& app,
                                        const std::vector<std::string>& arguments);

}  // namespace logarithm::cli
