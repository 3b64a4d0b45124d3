#include <algorithm>
#include <array>

#include "common/line/digit_trace.h"
#include "common/line/wrappers/cursor.h"
#include "common/line/wrappers/layer.h"

// What container runtimes, journald and syslog put in front of a line.
namespace logarithm::wrappers {
namespace {

// `YYYY-MM-DDThh:mm:ss[.f]zone `, as far as a look at three bytes tells.
bool looks_iso(std::string_view text) {
  return text.size() > 20 && text[4] == '-' && text[10] == 'T' && is_digit(text[0]);
}

bool read_stamp(Cursor& in, Layer& layer) {
  PrintedTime time;
  if (!looks_iso(in.text) || !read_iso(in.text, in.at, time)) return false;
  if (!time.utc_offset_minutes || !is_date(time) || !in.take(' ')) return false;
  layer.time = time;
  return true;
}

// `host unit[7]: `
bool read_sender(Cursor& in, Layer& layer) {
  const auto host = read_host(in.text, in.at);
  if (host.empty() || !in.take(' ')) return false;
  const auto unit = in.run([](char c) { return c > ' ' && c != ':' && c != '['; }, 256);
  if (unit.empty()) return false;
  layer.add("host", host);
  layer.add("unit", unit);
  const std::size_t before = in.at;
  if (in.take('[')) {
    if (const auto pid = in.number(9)) layer.add("pid", std::int64_t{*pid});
    if (!in.take(']')) return false;
  }
  if (!in.take(':') || !(in.take(' ') || in.end())) return false;
  layer.writer = in.text.substr(before - unit.size(), in.at - before + unit.size());
  layer.transport = true;
  layer.size = in.at;
  return true;
}

// `<6>`: facility and level of syslog.
bool read_priority(Cursor& in, Layer& layer) {
  if (!in.take('<')) return true;
  const std::size_t begin = in.at;
  const auto priority = in.number(3);
  DigitTrace::watch(in.text.substr(begin, in.at - begin));
  if (!priority || *priority > 191 || !in.take('>')) return false;
  layer.severity = severity_of_priority(*priority);
  return true;
}

// `[  123.456789]`: seconds since the boot; the kernel always prints six decimals, of which tools
// leave some out (`least`).
bool read_uptime(Cursor& in, Layer& layer, std::size_t least) {
  if (!in.take('[')) return false;
  in.blanks();
  const auto seconds = in.run(is_digit, 12);
  // Ten digits are seconds since 1970, in the brackets of UCX and others.
  if (seconds.empty() || seconds.size() > 9 || !in.take('.')) return false;
  const auto fraction = in.run(is_digit, 7);
  if (fraction.size() < least || fraction.size() > 6) return false;
  if (!in.take(']')) return false;
  // CONFIG_PRINTK_CALLER: `[    T7]`, `[   C12]`
  const std::size_t caller = in.at;
  if (in.take('[')) {
    in.blanks();
    const bool known = in.take('T') || in.take('C');
    if (!known || !in.number() || !in.take(']')) in.at = caller;
  }
  std::int64_t micros = 0;
  for (char c : seconds) micros = micros * 10 + (c - '0');
  for (char c : fraction) micros = micros * 10 + (c - '0');
  for (std::size_t i = fraction.size(); i < 6; ++i) micros *= 10;
  layer.add_real("uptime", static_cast<double>(micros) / 1e6);
  layer.time.emplace().uptime = micros * 1000;
  return true;
}

// `[Wed Mar  4 05:06:07 2026]`
bool read_weekday(Cursor& in, Layer& layer) {
  PrintedTime time;
  if (!in.take('[') || !read_weekday_stamp(in.text, in.at, time) || !in.take(']')) return false;
  layer.time = time;
  return true;
}

bool read_iso_stamp(Cursor& in, Layer& layer) {
  PrintedTime time;
  if (!read_iso(in.text, in.at, time) || !is_date(time)) return false;
  layer.time = time;
  return true;
}

// What dmesg calls facilities and levels.
bool is_facility(std::string_view word) {
  static constexpr std::array<std::string_view, 12> kNames{"kern", "user",     "mail", "daemon",
                                                           "auth", "syslog",   "lpr",  "news",
                                                           "uucp", "authpriv", "ftp",  "cron"};
  return std::find(kNames.begin(), kNames.end(), word) != kNames.end() ||
         (word.size() == 6 && word.starts_with("local") && is_digit(word[5]));
}
std::optional<std::int64_t> dmesg_level(std::string_view word) {
  static constexpr std::array<std::string_view, 8> kNames{"emerg", "alert",  "crit", "err",
                                                          "warn",  "notice", "info", "debug"};
  const auto found = std::find(kNames.begin(), kNames.end(), word);
  if (found == kNames.end()) return std::nullopt;
  return found - kNames.begin();
}

// A word that is padded to six letters, and a colon.
std::string_view read_column(Cursor& in) {
  const std::size_t begin = in.at;
  const auto word = in.run([](char c) { return is_letter(c) || is_digit(c); }, 8);
  in.blanks();
  if (in.at - begin != std::max<std::size_t>(word.size(), 6) || !in.take(':')) return {};
  return word;
}

}  // namespace

Severity severity_of_priority(std::int64_t priority) {
  switch (priority & 7) {
    case 0:
    case 1:
    case 2: return Severity::fatal;
    case 3: return Severity::error;
    case 4: return Severity::warning;
    case 7: return Severity::debug;
    default: return Severity::info;
  }
}

bool read_cri(std::string_view text, Layer& layer) {
  Cursor in{text};
  if (!read_stamp(in, layer)) return false;
  if (in.take("stdout ")) {
    layer.output = Output::out;
  } else if (in.take("stderr ")) {
    layer.output = Output::err;
  } else {
    return false;
  }
  const std::string_view flag = text.substr(in.at, 1);
  if (!in.take('F') && !in.take('P')) return false;
  if (in.take(':')) in.run([](char c) { return c > ' '; }, 256);
  if (!in.take(' ') && !in.end()) return false;
  layer.add("flag", flag);
  layer.transport = true;
  layer.size = in.at;
  return true;
}

bool read_journal_iso(std::string_view text, Layer& layer) {
  Cursor in{text};
  return read_stamp(in, layer) && read_sender(in, layer);
}

// `docker logs -t` and `kubectl logs --timestamps` print no more than the time. Most lines that
// begin with one are a logger's; a rank's tag tells.
bool read_log_stamp(std::string_view text, Layer& layer) {
  Cursor in{text};
  if (!read_stamp(in, layer) || in.peek() != '[') return false;
  Layer inner;
  const std::string_view rest = text.substr(in.at);
  if (!read_rank_prefix(rest, inner) && !read_role_prefix(rest, inner) &&
      !read_output_tag(rest, inner)) {
    return false;
  }
  layer.size = in.at;
  return true;
}

bool read_syslog(std::string_view text, Layer& layer) {
  Cursor in{text};
  PrintedTime time;
  if (!read_priority(in, layer) || !read_month_stamp(text, in.at, time) || !in.take(' ')) {
    return false;
  }
  if (!is_date(time)) return false;
  layer.time = time;
  return read_sender(in, layer);
}

bool read_kernel_stamp(std::string_view text, Layer& layer) {
  constexpr std::size_t kMicros = 6;
  Cursor in{text};
  if (!read_priority(in, layer)) return false;
  const std::size_t stamp = in.at;
  if (!read_uptime(in, layer, kMicros)) {
    in.at = stamp;  // dmesg -T
    if (!read_weekday(in, layer)) return false;
  }
  if (!in.take(' ') && !in.end()) return false;
  layer.transport = layer.message = true;
  layer.size = in.at;
  return true;
}

bool read_dmesg_levels(std::string_view text, Layer& layer) {
  Cursor in{text};
  const auto facility = read_column(in);
  if (!is_facility(facility)) return false;
  const auto word = read_column(in);
  const auto level = dmesg_level(word);
  if (!level || !(in.take(' ') || in.end())) return false;
  layer.severity = severity_of_priority(*level);
  // With its time in any form, or without one.
  const std::size_t stamp = in.at;
  const auto begin = [&] {
    in.at = stamp;
    layer.time.reset();
    layer.fact_count = 0;
    return true;
  };
  const auto ends = [&] { return in.take(' ') || in.end(); };
  const bool timed = (begin() && read_uptime(in, layer, 1) && ends()) ||
                     (begin() && read_weekday(in, layer) && ends()) ||
                     (begin() && read_iso_stamp(in, layer) && ends());
  if (!timed) begin();
  layer.add("facility", facility);
  layer.add("level", word);
  layer.transport = layer.message = true;
  layer.size = in.at;
  return true;
}

bool read_syslog_5424(std::string_view text, Layer& layer) {
  Cursor in{text};
  const bool priority = in.take('<');
  in.at = 0;
  PrintedTime time;
  if (!priority || !read_priority(in, layer)) return false;
  DigitTrace::watch(text.substr(std::min(in.at, text.size()), 1));
  if (!in.take("1 ")) return false;
  if (!in.take("- ")) {
    if (!read_iso(text, in.at, time) || !is_date(time) || !in.take(' ')) return false;
    layer.time = time;
  }
  // host, program, process, kind of message; `-`: not said
  const auto word = [](char c) { return c > ' '; };
  std::array<std::string_view, 4> parts;
  for (auto& part : parts) {
    part = in.run(word, 255);
    if (part.empty() || !in.take(' ')) return false;
    if (part == "-") part = {};
  }
  if (!parts[0].empty()) layer.add("host", parts[0]);
  if (!parts[1].empty()) layer.add("unit", parts[1]);
  Cursor number{parts[2]};
  if (const auto pid = number.number(9); pid && number.end()) layer.add("pid", std::int64_t{*pid});
  if (!in.take('-')) {
    while (in.take('[')) {  // structured data: [id key="value"]
      while (!in.end() && in.peek() != ']') {
        if (!in.take('"')) {
          ++in.at;
          continue;
        }
        while (!in.end() && in.peek() != '"') in.at += in.peek() == '\\' ? 2u : 1u;
        if (!in.take('"')) return false;
      }
      if (!in.take(']')) return false;
    }
  }
  if (!in.take(' ') && !in.end()) return false;
  in.take("\xEF\xBB\xBF");
  layer.writer = parts[2].empty() ? parts[1] : parts[2];
  layer.transport = true;
  layer.size = in.at;
  return true;
}

bool read_kubectl(std::string_view text, Layer& layer) {
  Cursor in{text};
  const auto name = [](char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '-'; };
  if (!in.take("[pod/")) return false;
  const auto pod = in.run(name, 253);
  if (pod.empty() || !in.take('/')) return false;
  const auto container = in.run(name, 63);
  if (container.empty() || !in.take(']')) return false;
  if (!in.take(' ') && !in.end()) return false;
  layer.add("pod", pod);
  layer.add("container", container);
  layer.writer = pod;
  layer.size = in.at;
  return true;
}

}  // namespace logarithm::wrappers
