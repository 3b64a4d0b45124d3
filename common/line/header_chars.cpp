#include "common/line/header_chars.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "common/line/digit_trace.h"

namespace logarithm::header {
namespace {

bool ends_with_any(std::string_view word, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return word.ends_with(ending); });
}

// `run_epoch`, `<module>`, `operator()` no.
bool is_function(std::string_view word) {
  if (word.empty() || is_digit(word[0])) return false;
  return std::all_of(word.begin(), word.end(), [](char c) {
    return is_word(c) || c == '<' || c == '>' || c == '.' || c == '~';
  });
}

}  // namespace

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

bool is_name(std::string_view word) {
  if (word.empty() || word.size() > 80 || !(is_letter(word[0]) || word[0] == '_')) return false;
  return std::all_of(word.begin(), word.end(), [](char c) { return is(c, kNamed); });
}

bool is_source_file(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  const auto extension = path.substr(dot + 1);
  if (extension.empty() || extension.size() > 5) return false;
  if (extension.size() == 3 && extension[0] == 'f') DigitTrace::watch(extension);  // f90
  switch (packed(extension)) {
    case packed("py"):
    case packed("pyx"):
    case packed("ipynb"):
    case packed("c"):
    case packed("cc"):
    case packed("cpp"):
    case packed("cxx"):
    case packed("h"):
    case packed("hh"):
    case packed("hpp"):
    case packed("ipp"):
    case packed("inl"):
    case packed("cu"):
    case packed("cuh"):
    case packed("cl"):
    case packed("go"):
    case packed("rs"):
    case packed("java"):
    case packed("kt"):
    case packed("scala"):
    case packed("js"):
    case packed("ts"):
    case packed("rb"):
    case packed("jl"):
    case packed("lua"):
    case packed("m"):
    case packed("mm"):
    case packed("swift"):
    case packed("cs"):
    case packed("pl"):
    case packed("sh"):
    case packed("f90"): break;
    default: return false;
  }
  return std::all_of(path.begin(), path.end(), [](char c) { return is(c, kPath); });
}

bool is_logger_name(std::string_view word) {
  if (!is_name(word)) return false;
  if (ends_with_any(word, {"Error", "Exception", "Warning", "Exit", "Interrupt", "Iteration"})) {
    return false;
  }
  if (word.front() == '_' && word.back() == '_') return true;  // __main__
  if (word.find("::") != std::string_view::npos) return true;
  const std::size_t dot = word.find('.');
  if (dot != std::string_view::npos) return dot + 1 < word.size() && is_word(word[dot + 1]);
  const auto capitals = std::count_if(word.begin(), word.end(), is_upper);
  const auto small = std::count_if(word.begin(), word.end(), is_lower);
  return is_upper(word[0]) && capitals >= 2 && small > capitals;
}

bool is_counted_thing(std::string_view word) {
  static constexpr std::array<std::string_view, 24> kThings{
      "rank", "step", "epoch",  "iter",       "iteration",   "gpu",   "node",    "worker",
      "pid",  "tid",  "device", "cuda",       "layer",       "stage", "pg",      "dp",
      "tp",   "pp",   "batch",  "local_rank", "global_rank", "shard", "attempt", "line"};
  std::string lower;
  if (word.size() > 12) return false;
  for (char c : word) lower += is_upper(c) ? static_cast<char>(c + ('a' - 'A')) : c;
  return std::find(kThings.begin(), kThings.end(), lower) != kThings.end();
}

bool is_machine(std::string_view host, std::string_view pid) {
  return is_name(host) && pid.size() > 2 && all_digits(pid) &&
         host.find_first_of("0123456789-") != std::string_view::npos && !is_source_file(host) &&
         !is_counted_thing(host);
}

bool split_place(std::string_view token, Place& place) {
  std::size_t colon = token.find(':');
  // A path of C++ or Rust has colons of its own.
  while (colon != std::string_view::npos && colon + 1 < token.size() && token[colon + 1] == ':') {
    colon = token.find(':', colon + 2);
  }
  if (colon == std::string_view::npos || colon == 0) return false;
  const auto file = token.substr(0, colon);
  const auto rest = token.substr(colon + 1);
  const std::size_t second = rest.find(':');
  const auto head = rest.substr(0, second);
  const auto tail = second == std::string_view::npos ? std::string_view() : rest.substr(second + 1);
  auto is_line = [](std::string_view text) { return all_digits(text) && text.size() <= 7; };
  if (is_line(head)) {
    if (second != std::string_view::npos && !is_line(tail) && !is_function(tail)) return false;
    place = {file, head, is_line(tail) ? std::string_view() : tail};
    return true;
  }
  if (!is_line(tail)) return false;
  if (is_source_file(head)) {  // root:train.py:88
    place = {head, tail, {}};
    return true;
  }
  if (!is_function(head)) return false;
  place = {file, tail, head};
  return true;
}

}  // namespace logarithm::header
