#include "common/line/redact.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "common/line/ansi.h"
#include "common/line/transport.h"

namespace logarithm {
namespace {

// Where the byte at `at` of a line's raw lies in the stream.
std::uint64_t stream_offset(const Line& line, std::size_t at) {
  if (line.extents.empty()) return line.offset + at;
  std::size_t begin = 0;
  for (std::size_t i = 0; i + 1 < line.extents.size(); ++i) {
    if (at < begin + line.extents[i].length) return line.extents[i].offset + (at - begin);
    begin += line.extents[i].length;
  }
  return line.extents.back().offset + (at - begin);
}

class Redactor {
 public:
  Redactor(Line& line, std::vector<Gap>& gaps) : line_(line), gaps_(gaps) {}

  // Each span becomes "[redacted]", and the line shorter or longer.
  void replace(const std::vector<RuleSet::Secret>& spans) {
    for (const auto& span : spans) note(span.begin, span.length);
    for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
      line_.raw.replace(span->begin, span->length, RuleSet::kRedacted);
    }
  }
  // The span becomes stars; every position stays as it is.
  void cover(std::size_t begin, std::size_t length) {
    if (length == 0) return;
    note(begin, length);
    std::fill_n(line_.raw.begin() + static_cast<std::ptrdiff_t>(begin), length, '*');
  }
  void cover(std::string_view span) {
    cover(static_cast<std::size_t>(span.data() - line_.raw.data()), span.size());
  }

 private:
  void note(std::size_t begin, std::size_t length) {
    const std::uint64_t from = stream_offset(line_, begin);
    gaps_.push_back(
        {from, stream_offset(line_, begin + length - 1) + 1, "redacted", line_.observed});
    line_.flags |= line_flag::redacted;
  }

  Line& line_;
  std::vector<Gap>& gaps_;
};

// The message bytes of one piece: what a container's or a journal's wrapper leaves.
std::string_view message_of(std::string_view piece, std::uint8_t transport, std::size_t prefix) {
  if (transport == transport::docker_json) {
    const auto docker = parse_docker(piece);
    // The escaped newline at its end says whether another piece follows.
    if (docker) return docker->log.substr(0, docker->log.size() - (docker->ends ? 2 : 0));
  }
  if (transport == transport::journal_json) {
    const auto journal = parse_journal(piece);
    if (journal) return journal->message;
  }
  return piece.substr(std::min(prefix, piece.size()));
}

void cover_messages(const Line& line, std::uint32_t prefix, Redactor& redactor) {
  std::string_view rest = line.raw;
  if (line.extents.empty()) return redactor.cover(message_of(rest, line.transport, prefix));
  for (std::size_t i = 0; i < line.extents.size(); ++i) {
    const bool last = i + 1 == line.extents.size();
    std::string_view piece = last ? rest : rest.substr(0, line.extents[i].length);
    rest.remove_prefix(piece.size());
    while (!last && !piece.empty() && (piece.back() == '\n' || piece.back() == '\r')) {
      piece.remove_suffix(1);
    }
    redactor.cover(message_of(piece, line.transport, line.extents[i].prefix));
  }
}

}  // namespace

void redact(Line& line, std::uint32_t prefix, const RuleSet& rules,
            std::vector<RuleSet::Secret>& secrets, std::vector<Gap>& gaps) {
  Redactor redactor(line, gaps);
  rules.find_secrets(line.raw, secrets);
  // Positions inside a joined line, and that of its text, are known by others.
  if (!line.extents.empty() || (!secrets.empty() && secrets.front().begin < prefix)) {
    for (const auto& secret : secrets) redactor.cover(secret.begin, secret.length);
  } else {
    redactor.replace(secrets);
  }
  const bool coded = line.transport != transport::plain;
  if (!coded && !has_escape(line.raw)) return;
  std::string text = coded ? decode_transport(line.raw, line.transport, line.extents) : line.raw;
  if (has_escape(text)) text = strip_ansi(text);
  rules.find_secrets(text, secrets);
  if (!secrets.empty()) cover_messages(line, prefix, redactor);
}

}  // namespace logarithm
