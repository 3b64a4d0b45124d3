#include "common/line/transport.h"

#include <algorithm>
#include <charconv>

#include "common/line/json_text.h"

namespace logarithm {
namespace {

std::optional<std::int64_t> to_number(std::string_view digits) {
  std::int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, problem] = std::from_chars(digits.data(), end, value);
  if (problem != std::errc{} || stop != end || value < 0) return std::nullopt;
  return value;
}

bool ends_line(std::string_view escaped) {
  if (!escaped.ends_with("\\n")) return false;
  // An even number of slashes in front: `\n` is the escape, not `\\` and an n.
  std::size_t slashes = escaped.size() - 2;
  while (slashes > 0 && escaped[slashes - 1] == '\\') --slashes;
  return (escaped.size() - 2 - slashes) % 2 == 0;
}

void drop_line_end(std::string& text) {
  if (!text.empty() && text.back() == '\n') text.pop_back();
  if (!text.empty() && text.back() == '\r') text.pop_back();
}

// Calls each(piece, prefix) for the pieces of a joined line, without their terminators.
template <typename Each>
void for_pieces(std::string_view raw, const std::vector<Extent>& extents, Each each) {
  if (extents.empty()) return each(raw, 0);
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const bool last = i + 1 == extents.size();
    std::string_view piece = last ? raw : raw.substr(0, extents[i].length);
    raw.remove_prefix(piece.size());
    if (!last && piece.ends_with('\n')) {
      piece.remove_suffix(1);
      if (piece.ends_with('\r')) piece.remove_suffix(1);
    }
    each(piece, std::min<std::size_t>(extents[i].prefix, piece.size()));
  }
}

}  // namespace

std::optional<DockerLine> parse_docker(std::string_view raw) {
  // dockerd writes `{"log":"`; who writes the same by other means has other orders, and blanks.
  // Most objects are programs' own: their first key tells.
  const std::size_t key = raw.size() > 2 && raw[0] == '{' ? raw.find_first_not_of(" \t", 1) : 0;
  if (key == 0 || key + 1 >= raw.size() || raw[key] != '"' ||
      std::string_view("lsta").find(raw[key + 1]) == std::string_view::npos) {
    return std::nullopt;
  }
  DockerLine line;
  JsonObject object(raw);
  bool has_log = false;
  while (object.next()) {
    if (object.key() == "log") {
      if (has_log || !object.is_string()) return std::nullopt;
      has_log = true;
      line.log = object.value();
    } else if (object.key() == "stream") {
      if (object.value() == "stdout") line.output = Output::out;
      if (object.value() == "stderr") line.output = Output::err;
    } else if (object.key() == "time") {
      PrintedTime time;
      std::size_t at = 0;
      if (object.is_string() && read_iso(object.value(), at, time) && is_date(time)) {
        line.time = time;
      }
    } else if (object.key() != "attrs") {
      return std::nullopt;  // a program's own JSON
    }
  }
  const bool all = has_log && line.time && line.output != Output::unset;
  if (!all || !object.complete()) return std::nullopt;
  line.ends = ends_line(line.log);
  return line;
}

std::optional<JournalLine> parse_journal(std::string_view raw) {
  // Most JSON lines are programs' own; the journal's names are in capitals.
  if (raw.size() < 3 || raw[0] != '{' || raw[1] != '"' || !(raw[2] >= 'A' && raw[2] <= '_') ||
      raw.find("\"__REALTIME_TIMESTAMP\"") == std::string_view::npos) {
    return std::nullopt;
  }
  JournalLine line;
  JsonObject object(raw);
  bool has_message = false;
  while (object.next()) {
    const std::string_view key = object.key(), value = object.value();
    if (!object.is_string()) continue;
    if (key == "MESSAGE") {
      line.message = value;
      has_message = true;
    } else if (key == "__REALTIME_TIMESTAMP") {
      line.micros = to_number(value);
    } else if (key == "_HOSTNAME") {
      line.host = value;
    } else if (key == "SYSLOG_IDENTIFIER" || (key == "_COMM" && line.unit.empty())) {
      line.unit = value;
    } else if (key == "_PID" || (key == "SYSLOG_PID" && !line.pid)) {
      line.pid = to_number(value);
    } else if (key == "PRIORITY") {
      line.priority = to_number(value);
    }
  }
  if (!object.complete() || !has_message || !line.micros) return std::nullopt;
  return line;
}

std::string decode_transport(std::string_view raw, std::uint8_t transport,
                             const std::vector<Extent>& extents) {
  std::string out;
  switch (transport) {
    case transport::docker_json:
      for_pieces(raw, extents, [&](std::string_view piece, std::size_t) {
        const auto line = parse_docker(piece);
        if (line) {
          append_unescaped(line->log, out);
        } else {
          out += piece;
        }
      });
      drop_line_end(out);
      return out;
    case transport::pieces:
      for_pieces(raw, extents,
                 [&](std::string_view piece, std::size_t prefix) { out += piece.substr(prefix); });
      return out;
    case transport::journal_json:
      if (const auto line = parse_journal(raw)) {
        append_unescaped(line->message, out);
        return out;
      }
      break;
    default: break;
  }
  return std::string(raw);
}

}  // namespace logarithm
