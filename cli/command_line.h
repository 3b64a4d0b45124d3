#pragma once

#include <string>
#include <vector>

#include "cli/options.h"

namespace logarithm::cli {

// The whole program: parses `arguments` (without the program's name), runs the verb and returns the
// exit status. `surroundings` carries what main() found out about the terminal and the programs.
int run_command_line(std::vector<std::string> arguments, Options surroundings);

}  // namespace logarithm::cli
