#include <algorithm>
#include <array>
#include <string>

#include "common/line/wrappers/cursor.h"
#include "common/line/wrappers/layer.h"

// What tools that bring the lines of many hosts together put in front of them: pdsh, Ray, SkyPilot,
// vLLM.
namespace logarithm::wrappers {
namespace {

bool is_name_char(char c) {
  return is_word(c) || c == '.' || c == ':' || c == '-' || c == '+' || c == '/' || c == '<' ||
         c == '>';
}

// `pid=7`, `ip=10.0.0.7`, `rank=1`: true when one was read.
bool read_value(Cursor& in, Layer& layer, bool& has_pid) {
  if (in.take("pid=")) {
    const std::size_t begin = in.at;
    const auto pid = in.number(9);
    if (!pid) return false;
    layer.add("pid", std::int64_t{*pid});
    layer.writer = in.text.substr(begin, in.at - begin);
    has_pid = true;
    return true;
  }
  if (in.take("ip=")) {
    const auto ip = in.run([](char c) {
      return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == '.' ||
             c == ':';
    });
    layer.add("ip", ip);
    return !ip.empty();
  }
  if (in.take("rank=")) {
    // SkyPilot numbers nodes: one task each.
    layer.task = in.number();
    return layer.task.has_value();
  }
  return false;
}

// ` [repeated 7x across cluster]`, perhaps with a hint behind it.
void read_repeats(std::string_view text, Layer& layer) {
  const std::size_t begin = text.rfind(" [repeated ");
  if (begin == std::string_view::npos || begin < layer.size) return;
  Cursor in{text, begin + 11};
  const auto times = in.number();
  if (times && in.take("x across cluster]")) layer.add("repeated", std::int64_t{*times});
}

// vLLM's processes have Ray's prefix: (EngineCore_DP0 pid=7), (Worker_TP3 pid=7), (APIServer
// pid=7).
bool is_vllm_process(std::string_view name) {
  return name.starts_with("EngineCore") || name.starts_with("Worker_") ||
         name.starts_with("APIServer") || name.starts_with("ApiServer");
}

// … and lines that begin with `INFO 03-04 05:06:07 `.
bool is_vllm_header(std::string_view text) {
  for (const std::string_view level : {"INFO ", "WARNING ", "ERROR ", "DEBUG ", "CRITICAL "}) {
    if (!text.starts_with(level)) continue;
    text.remove_prefix(level.size());
    return text.size() > 14 && text[2] == '-' && text[5] == ' ' && text[8] == ':';
  }
  return false;
}

// Heads of NCCL and UCX name host and process themselves, and only pdsh stands in front of them:
// gpu-n017: gpu-n017:48213:48377 [3] text, gpu-n017: [gpu-n017:48213:0:48377] text
bool names_process(std::string_view text) {
  Cursor in{text};
  const bool bracket = in.take('[');
  const auto host = in.run([](char c) { return is_word(c) || c == '.' || c == '-'; }, 255);
  if (host.empty() || !in.take(':') || !in.number(9) || !in.take(':') || !in.number(9)) {
    return false;
  }
  if (bracket) return in.take(']') || (in.take(':') && in.number(9) && in.take(']'));
  if (!in.take(" [")) return false;
  in.take('-');
  return in.number(4) && in.take("] ");
}

// `step12`, `layer3`: what is numbered, and hardly a machine.
bool is_counted(std::string_view word) {
  static constexpr std::array<std::string_view, 56> kThings{
      "rank",   "step",  "epoch", "iter",  "iteration", "gpu",     "cuda",    "device",
      "stage",  "layer", "pg",    "dp",    "tp",        "pp",      "cp",      "ep",
      "batch",  "shard", "fold",  "trial", "run",       "test",    "case",    "phase",
      "part",   "pass",  "round", "block", "task",      "thread",  "t",       "it",
      "e",      "s",     "p",     "v",     "q",         "gen",     "conv",    "head",
      "expert", "chunk", "file",  "seq",   "seed",      "try",     "attempt", "line",
      "bucket", "env",   "agent", "job",   "proc",      "process", "exp",     "loss"};
  std::string stem;
  for (const char c : word) {
    if (is_digit(c)) break;
    stem += c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  }
  const auto rest = word.substr(stem.size());
  while (stem.ends_with('_')) stem.pop_back();
  const bool padded = rest.size() > 1 && rest[0] == '0';  // as machines are numbered
  return !padded && std::all_of(rest.begin(), rest.end(), is_digit) &&
         std::find(kThings.begin(), kThings.end(), stem) != kThings.end();
}

// 10.0.0.7
bool is_address(std::string_view word) {
  return std::count(word.begin(), word.end(), '.') == 3 &&
         std::all_of(word.begin(), word.end(), [](char c) { return is_digit(c) || c == '.'; });
}

}  // namespace

bool read_call_prefix(std::string_view text, Layer& layer) {
  Cursor in{text};
  if (!in.take('(')) return false;
  bool has_pid = false;
  if (!text.substr(in.at).starts_with("pid=")) {
    if (!is_letter(in.peek()) && in.peek() != '_') return false;
    const auto actor = in.run(is_name_char);
    layer.add("actor", actor);
    in.take(',');
    if (!in.take(' ')) return false;
  }
  for (;;) {
    if (!read_value(in, layer, has_pid)) return false;
    if (in.take(')')) break;
    if (!in.take(", ")) return false;
  }
  if (!has_pid || !(in.take(' ') || in.end())) return false;
  layer.size = in.at;
  if (layer.fact_count > 0 && layer.facts[0].key == "actor" &&
      (is_vllm_process(layer.facts[0].text) || is_vllm_header(text.substr(in.at)))) {
    layer.facts[0].key = "proc";
  }
  read_repeats(text, layer);
  return true;
}

// docker compose pads the names of its containers: `triton-1   | text`, `job_trainer_2  | text`.
bool read_compose(std::string_view text, Layer& layer) {
  Cursor in{text};
  const auto name = in.run([](char c) { return is_word(c) || c == '.' || c == '-'; }, 64);
  if (name.size() < 3 || !is_digit(name.back()) || in.peek() != ' ') return false;
  std::size_t digits = name.size();
  while (digits > 0 && is_digit(name[digits - 1])) --digits;
  if (digits < 2 || (name[digits - 1] != '-' && name[digits - 1] != '_')) return false;
  if (!is_letter(name[0])) return false;
  in.blanks();
  if (!in.take('|') || !(in.take(' ') || in.end())) return false;
  layer.add("container", name);
  layer.writer = name;
  layer.size = in.at;
  return true;
}

// torchx runs torchrun without a role: `trainer/0 [1]:text` is local rank 1 of replica 0.
bool read_torchx(std::string_view text, Layer& layer) {
  Cursor in{text};
  const auto role = in.run([](char c) { return is_word(c) || c == '-'; }, 64);
  if (role.empty() || !is_letter(role[0]) || !in.take('/')) return false;
  const auto replica = in.number(6);
  if (!replica || !in.take(" [")) return false;
  layer.local_rank = in.number();
  if (!layer.local_rank || !in.take("]:")) return false;
  layer.add("role", role);
  layer.add("replica", std::int64_t{*replica});
  layer.add("local_rank", std::int64_t{*layer.local_rank});
  layer.writer = text.substr(0, in.at);
  layer.size = in.at;
  return true;
}

bool read_host_prefix(std::string_view text, Layer& layer, bool& strong) {
  Cursor in{text};
  const auto host = in.run([](char c) { return is_word(c) || c == '.' || c == '-'; }, 255);
  if (host.empty() || !in.take(": ") || !is_word(host[0]) || host.back() == '.') return false;
  layer.add("host", host);
  layer.writer = host;
  layer.size = in.at;
  strong = false;
  if (std::none_of(host.begin(), host.end(), [](char c) { return is_letter(c) || c == '.'; })) {
    return false;  // a task's label
  }
  if (parse_severity(host)) return true;
  if (names_process(text.substr(in.at))) return strong = true;
  const bool numbered = std::any_of(host.begin(), host.end(), is_digit);
  if (!in.take('[') && (!numbered || !is_digit(in.peek()))) return true;
  // DeepSpeed's time, or a rank's tag behind a word that looks like a machine's name.
  PrintedTime time;
  strong = read_date(text, in.at, time) && in.take(' ');
  if (!strong && numbered) {
    Layer inner;
    const auto rest = text.substr(layer.size);
    strong = read_rank_prefix(rest, inner) || read_role_prefix(rest, inner) ||
             read_output_tag(rest, inner);
  }
  return true;
}

bool read_host_label(std::string_view text, Layer& layer) {
  bool strong = false;
  if (!read_host_prefix(text, layer, strong) || strong || parse_severity(layer.writer))
    return false;
  const std::string_view host = layer.writer;
  if (std::none_of(host.begin(), host.end(), is_digit)) return false;  // hardly a machine
  const char first = layer.size < text.size() ? text[layer.size] : '\0';
  if (first != ' ' && first != 'P' && !is_digit(first)) return false;
  Layer label;
  if (!read_task_label(text.substr(layer.size), label)) return false;
  layer.task = label.task;
  for (std::size_t i = 0; i < label.fact_count; ++i) {
    layer.add(label.facts[i].key, label.facts[i].integer);
  }
  layer.size += label.size;
  return true;
}

bool read_bare_host(std::string_view text, Layer& layer) {
  Cursor in{text};
  const auto host = in.run([](char c) { return is_word(c) || c == '.' || c == '-'; }, 255);
  if (host.empty() || !in.take(':') || !(in.take(' ') || in.end())) return false;
  const bool numbered = std::any_of(host.begin(), host.end(), is_digit);
  const bool named = is_letter(host[0]) && host.back() != '.' && host.find("..") == host.npos;
  if (!numbered || !(named || is_address(host)) || is_counted(host) || parse_severity(host)) {
    return false;
  }
  layer.add("host", host);
  layer.writer = host;
  layer.size = in.at;
  return true;
}

}  // namespace logarithm::wrappers
