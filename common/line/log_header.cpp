#include "common/line/log_header.h"

#include <charconv>

#include "common/line/header_lexer.h"
#include "common/line/header_structured.h"

namespace logarithm {
namespace {

using header::is_digit;

// `[Rank 3] text` behind a header: a mention that stays in the message, where rules look for it.
void mention_rank(std::string_view message, LogHeader& header) {
  if (!message.starts_with("[Rank ") && !message.starts_with("[rank ")) return;
  std::size_t end = 6;
  if (end < message.size() && message[end] == '-') ++end;
  while (end < message.size() && is_digit(message[end])) ++end;
  if (end >= message.size() || message[end] != ']' || !is_digit(message[end - 1])) return;
  for (std::size_t i = 0; i < header.field_count; ++i) {
    if (header.fields[i].key == "rank") return;
  }
  header.add("rank", message.substr(6, end - 6), true);
}

std::optional<LogHeader> read_header(std::string_view text) {
  switch (text[0]) {
    case '{': return header::parse_json(text);
    case '/':
    case '.':
    case '<': return header::parse_diagnostic(text);
    default: break;
  }
  if (auto found = header::HeaderLexer(text).read()) return found;
  if (!header::is_letter(text[0])) {
    return text[0] == '[' ? header::parse_mpi_signal(text) : std::nullopt;
  }
  if (auto found = header::parse_logfmt(text)) return found;
  return header::parse_diagnostic(text);
}

}  // namespace

void LogHeader::add(std::string_view key, std::string_view value, bool integer) {
  if (field_count >= kMaxFields || value.empty()) return;
  fields[field_count++] = {key, value, integer ? Kind::integer : Kind::text};
}

MetaValue LogHeader::Field::typed() const {
  if (kind == Kind::integer) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size()) return number;
  }
  if (kind == Kind::real) {
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size()) return number;
  }
  return std::string(value);
}

std::optional<LogHeader> parse_header(std::string_view text) {
  if (text.size() < 3) return std::nullopt;
  auto header = read_header(text);
  if (header) mention_rank(text.substr(header->size), *header);
  return header;
}

std::optional<RankPrefix> parse_rank_prefix(std::string_view text) {
  constexpr std::string_view kOpen = "[rank";
  if (!text.starts_with(kOpen)) return std::nullopt;
  RankPrefix prefix;
  std::size_t i = kOpen.size();
  for (; i < text.size() && is_digit(text[i]) && i < kOpen.size() + 8; ++i) {
    prefix.rank = prefix.rank * 10 + (text[i] - '0');
  }
  if (i == kOpen.size() || text.substr(i, 2) != "]:") return std::nullopt;
  i += 2;
  if (i < text.size() && text[i] == ' ') ++i;
  prefix.size = i;
  return prefix;
}

}  // namespace logarithm
