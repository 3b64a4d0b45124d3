#include <array>

#include "common/line/digit_trace.h"
#include "common/line/header_chars.h"
#include "common/line/header_structured.h"
#include "common/line/log_level.h"

// Heads of programs that print like nobody else. Each is known by its first bytes.
namespace logarithm::header {
namespace {

constexpr std::size_t kWindow = 512;

struct Scan {
  std::string_view s;
  std::size_t at = 0;

  char peek() const { return at < s.size() ? s[at] : '\0'; }
  bool take(std::string_view what) {
    if (!s.substr(at).starts_with(what)) return false;
    at += what.size();
    return true;
  }
  void blanks() {
    while (peek() == ' ') ++at;
  }
  std::string_view digits() {
    const std::size_t begin = at;
    while (is_digit(peek())) ++at;
    return s.substr(begin, at - begin);
  }
  std::string_view word() {
    const std::size_t begin = at;
    while (is_word(peek())) ++at;
    return s.substr(begin, at - begin);
  }
  // Up to one of `stops`, which is left; empty when none comes within `most` bytes.
  std::string_view until(std::string_view stops, std::size_t most) {
    const std::size_t end = s.substr(0, at + most).find_first_of(stops, at);
    if (end == std::string_view::npos) return {};
    const auto found = s.substr(at, end - at);
    at = end;
    return found;
  }
  std::size_t message() {
    if (peek() == ' ') ++at;
    return at;
  }
};

void place(LogHeader& header, std::string_view file, std::string_view line, std::string_view func) {
  header.file = file;
  header.file_line = line;
  header.add("func", func);
}

// libfabric:23671:1772600767::core:core:fi_getinfo_():1385<warn> text; the time only since 1.12
bool parse_libfabric(std::string_view text, LogHeader& header) {
  Scan in{text};
  if (!in.take("libfabric:")) return false;
  const auto pid = in.digits();
  if (pid.empty() || !in.take(":")) return false;
  PrintedTime time;
  if (std::size_t end = in.at; is_digit(in.peek()) && read_epoch(text, end, time)) {
    header.time = time;
    in.at = end;
    in.take("::");
  }
  const auto where = in.until("<", 160);
  if (where.empty() || !in.take("<")) return false;
  const auto printed = in.word();
  const auto found = level_word(printed);
  // `trace`, `info`, `warn`; connection and data lines have words of their own.
  if (printed.empty() || !in.take(">")) return false;
  header.severity = found ? found->severity : Severity::info;
  header.level = found ? printed : std::string_view();
  header.add("pid", pid, true);
  header.add("logger", where.substr(0, where.rfind(':', where.rfind(":") - 1)));
  header.size = in.message();
  return true;
}

// LustreError: 6573:0:(osp_precreate.c:1259:osp_precreate_thread()) text. The whole line stays the
// message: rules know it by its first word.
bool parse_lustre(std::string_view text, LogHeader& header) {
  Scan in{text};
  if (!in.take("LustreError: ") && !in.take("Lustre: ") && !in.take("LNetError: ") &&
      !in.take("LNet: ")) {
    return false;
  }
  const auto pid = in.digits();
  if (pid.empty() || !in.take(":") || in.digits().empty() || !in.take(":(")) return false;
  const auto file = in.until(":)", 80);
  if (file.empty() || !in.take(":")) return false;
  const auto line = in.digits();
  if (line.empty() || !in.take(":")) return false;
  const auto func = in.word();
  if (!in.take("())")) return false;
  place(header, file, line, func);
  header.add("pid", pid, true);
  return true;
}

// [proxy:0:1@gpu-n017] HYD_pmcd_pmip_control_cmd_cb (pm/pmiserv/pmip_cb.c:878): text
// [mpiexec@gpu-n017] …: only errors have a place.
bool parse_hydra(std::string_view text, LogHeader& header) {
  Scan in{text};
  if (in.take("[proxy:")) {
    if (in.digits().empty() || !in.take(":") || in.digits().empty() || !in.take("@")) return false;
  } else if (!in.take("[mpiexec@")) {
    return false;
  }
  const auto host = in.until("]", 255);
  if (host.empty() || !in.take("] ")) return false;
  header.add("host", host);
  header.size = in.at;
  const auto func = in.word();
  if (func.empty() || !in.take(" (")) return true;
  const auto file = in.until(":)", 200);
  if (!is_source_file(file) || !in.take(":")) return true;
  const auto line = in.digits();
  if (line.empty() || !in.take("):")) return true;
  place(header, file, line, func);
  header.severity = Severity::error;
  header.size = in.message();
  return true;
}

// 192.168.1.100 - - [04/Mar/2026:05:06:07 +0000] "GET / HTTP/1.1" 200 12. The whole line stays.
bool parse_access_log(std::string_view text, LogHeader& header) {
  Scan in{text};
  const auto client = in.until(" ", 255);
  if (client.empty() || client.find_first_of(".:") == std::string_view::npos) return false;
  if (!in.take(" ") || in.until(" ", 80).empty() || !in.take(" ") || in.until(" ", 80).empty()) {
    return false;
  }
  PrintedTime time;
  if (!in.take(" [") || !read_time(text, in.at, time) || !in.take("] \"")) return false;
  header.time = time;
  return true;
}

// 03/04/2026 05:06:07;0008;PBS_Server;Job;7082041.hal;text     03/04/2026 05:06:07;E;7082041.hal;…
bool parse_pbs(std::string_view text, LogHeader& header) {
  Scan in{text};
  PrintedTime time;
  if (!read_time(text, in.at, time) || !in.take(";")) return false;
  const auto type = in.word();
  if ((type.size() != 4 && type.size() != 1) || !in.take(";")) return false;
  const std::size_t begin = in.at;
  const auto server = in.until(";", 80);
  if (server.empty()) return false;
  header.time = time;
  header.size = begin;
  if (type.size() == 4) {
    in.take(";");
    header.add("logger", server);
    header.size = in.at;
  }
  return true;
}

// :1:rocdevice.cpp            :2614: 123456789012 us: [pid:48213 tid:0x7f3b] text (AMD's HIP)
bool parse_hip(std::string_view text, LogHeader& header) {
  static constexpr std::array kLevels{Severity::unset, Severity::error, Severity::warning,
                                      Severity::info,  Severity::debug, Severity::debug,
                                      Severity::debug};
  Scan in{text};
  if (!in.take(":")) return false;
  const auto level = in.digits();
  DigitTrace::watch(level);
  if (level.size() != 1 || level[0] < '1' || level[0] > '6' || !in.take(":")) return false;
  const auto file = in.until(" :", 80);
  in.blanks();
  if (!is_source_file(file) || !in.take(":")) return false;
  const auto line = in.digits();
  in.blanks();
  if (line.empty() || !in.take(":")) return false;
  place(header, file, line, {});
  header.severity = kLevels[static_cast<std::size_t>(level[0] - '0')];
  header.size = in.message();
  in.blanks();
  if (!in.digits().empty() && in.take(" us: ")) header.size = in.at;
  if (in.take("[pid:")) {
    const auto pid = in.digits();
    const std::size_t close = text.find("] ", in.at);
    if (!pid.empty() && close != std::string_view::npos && close < in.at + 40) {
      header.add("pid", pid, true);
      header.size = close + 2;
    }
  }
  return true;
}

}  // namespace

bool parse_program(std::string_view text, LogHeader& header) {
  const auto s = text.substr(0, kWindow);
  switch (s[0]) {
    case 'l': return parse_libfabric(s, header);
    case 'L': return parse_lustre(s, header);
    case '[': return parse_hydra(s, header);
    case ':': return parse_hip(s, header);
    default: break;
  }
  if (!is_digit(s[0])) return false;
  // 03/04/2026 05:06:07; or an address.
  if (s.size() > 20 && s[2] == '/' && s[19] == ';') return parse_pbs(s, header);
  return s.find(" - ") < 48 && parse_access_log(s, header);
}

}  // namespace logarithm::header
