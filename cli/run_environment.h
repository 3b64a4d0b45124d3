#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace logarithm::cli {

// An environment as exec takes it: NAME=value each. Pure functions.
using EnvironmentList = std::vector<std::string>;

std::optional<std::string> get_variable(const EnvironmentList& environment, std::string_view name);
void set_variable(EnvironmentList& environment, std::string_view name, const std::string& value);
void set_if_missing(EnvironmentList& environment, std::string_view name, const std::string& value);
void unset_variable(EnvironmentList& environment, std::string_view name);

// The job that the environment names, in the order in which the agent looks; empty: none.
std::string job_in(const EnvironmentList& environment);

// True when ranks are started by somebody else, or by this very command: then attempts follow from
// the processes' lives, and a number counted on this host alone could be another one elsewhere.
bool has_ranks(const EnvironmentList& environment, const std::vector<std::string>& command);

// A program that writes to a file instead of a terminal leaves colours out and holds lines back.
// Says what makes usual ones behave as before, where the user has not said otherwise.
void act_like_a_terminal(EnvironmentList& environment, int columns, int lines);

}  // namespace logarithm::cli
