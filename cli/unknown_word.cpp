#include "cli/unknown_word.h"

#include <CLI/App.hpp>
#include <algorithm>

#include "common/config/nearest.h"

namespace logarithm::cli {
namespace {

void add_options(const CLI::App& app, std::vector<std::string>& out) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  }
}

std::string meant(const std::string& word, const std::vector<std::string>& known) {
  const auto near = config::nearest_name(word, known);
  return near ? " (did you mean " + *near + "?)" : "";
}

}  // namespace

std::optional<std::string> unknown_word(const CLI::App& app,
                                        const std::vector<std::string>& arguments) {
  const std::vector<std::string> left = app.remaining(true);
  const auto word = std::find_if(arguments.begin(), arguments.end(), [&](const std::string& one) {
    return std::find(left.begin(), left.end(), one) != left.end();
  });
  if (word == arguments.end()) return std::nullopt;
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  if (!word->starts_with("-")) {
    if (!chosen.empty()) return "unexpected argument: " + *word;
    std::vector<std::string> verbs;
    for (const CLI::App* verb : app.get_subcommands(nullptr)) verbs.push_back(verb->get_name());
    return "no such verb: " + *word + meant(*word, verbs);
  }
  const std::string name = word->substr(0, word->find('='));
  std::vector<std::string> options;
  add_options(app, options);
  for (const CLI::App* verb : chosen) add_options(*verb, options);
  std::string out = "no such option";
  if (!chosen.empty()) out += " of " + chosen.front()->get_name();
  return out + ": " + name + meant(name, options);
}

}  // namespace logarithm::cli
