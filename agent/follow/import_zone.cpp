#include "agent/follow/import_zone.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace logarithm::agent {
namespace {

constexpr std::uint64_t kLookBack = 64u << 10;
// Local times may lie this far after the file's mtime, and are still to be taken.
constexpr UnixNanos kDay = 86'400'000'000'000;

std::vector<Line> parse(std::string_view bytes, std::int32_t zone, UnixNanos observed,
                        const WriterParts& parts) {
  ParsedLines out;
  LongLinePool pool;
  StreamContext context;
  context.imported = true;
  context.utc_offset_minutes = zone;
  auto parser = StreamParser::make(context, *parts.rules, pool, 0, "");
  if (!parser.ok()) return {};
  (*parser)->feed(bytes, observed, out);
  (*parser)->flush(StreamParser::Flush::closed, observed, out);
  return std::move(out.lines);
}

// Where clocks are set to, in minutes east of UTC, beside whole hours from -12 to 14.
constexpr std::int32_t kOddZones[] = {-570, -210, -150, 210, 270, 330,
                                      345,  390,  525,  570, 630, 765};
// A clock may be ahead of the file server's by one; and a program goes on to write lines without a
// time after its last one with one: until the collectives' usual time-out, and a little longer.
constexpr std::int64_t kAhead = 60'000'000'000, kLater = 660'000'000'000;

// The zone in which `local` was `modified`, or somewhat earlier.
std::optional<std::int32_t> zone_of(UnixNanos local, UnixNanos modified) {
  constexpr std::int64_t kMinute = 60'000'000'000;
  std::optional<std::int32_t> out;
  std::int64_t least = INT64_MAX;
  const auto attempt = [&](std::int32_t zone) {
    const std::int64_t later = zone * kMinute - (local - modified);
    if (later < -kAhead || later > kLater || later >= least) return;
    least = later;
    out = zone;
  };
  for (std::int32_t hours = -12; hours <= 14; ++hours) attempt(hours * 60);
  for (const std::int32_t zone : kOddZones) attempt(zone);
  return out;
}

// The whole lines of the last 64 KiB; "" when they cannot be read.
std::string last_lines(BlockingToken& token, SourceFile& file, const FileFacts& facts) {
  const std::uint64_t from = facts.size - std::min(facts.size, kLookBack);
  Result<std::string> bytes = read_range(token, file, from, facts.size);
  if (!bytes.ok()) return {};
  if (from > 0) bytes->erase(0, std::min(bytes->find('\n'), bytes->size() - 1) + 1);
  return std::move(*bytes);
}

// `.456789]`, `.456]`: nearly no other file has one.
bool may_hold_uptimes(std::string_view text) {
  for (std::size_t at = text.find(']'); at != std::string_view::npos; at = text.find(']', at + 1)) {
    const auto before =
        text.substr(at - std::min<std::size_t>(at, 7), std::min<std::size_t>(at, 7));
    const std::size_t point = before.rfind('.');
    if (point != std::string_view::npos && point + 1 < before.size() &&
        before.find_first_not_of("0123456789", point + 1) == std::string_view::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<UnixNanos> estimate_import_boot(BlockingToken& token, const WriterParts& parts,
                                              SourceFile& file, const FileFacts& facts) {
  const std::string rest = last_lines(token, file, facts);
  std::optional<UnixNanos> out;
  if (!may_hold_uptimes(rest)) return out;
  for (const Line& line : parse(rest, 0, facts.modified, parts)) {
    for (const MetaPair& pair : line.meta) {
      const auto* uptime = std::get_if<double>(&pair.value);
      if (pair.key != "uptime" || uptime == nullptr) continue;
      if (!(*uptime >= 0 && *uptime < 1e9)) continue;
      const UnixNanos boot = facts.modified - std::llround(*uptime * 1e6) * 1000;
      if (boot >= 0) out = std::min(out.value_or(boot), boot);
    }
  }
  return out;
}

std::optional<std::int32_t> estimate_import_zone(BlockingToken& token, const WriterParts& parts,
                                                 SourceFile& file, const FileFacts& facts) {
  const std::string rest = last_lines(token, file, facts);
  const std::vector<Line> utc = parse(rest, 0, facts.modified + kDay, parts);
  const auto has_time = [](const Line& line) { return !line.has(line_flag::derived_time); };
  if (std::none_of(utc.begin(), utc.end(), has_time)) return std::nullopt;
  // A time that names its zone is the same in both.
  const std::vector<Line> other = parse(rest, 1, facts.modified + kDay, parts);
  // A time without a date fits some zone at any time of day.
  const std::vector<Line> next = parse(rest, 0, facts.modified + 2 * kDay, parts);
  for (std::size_t i = std::min({utc.size(), other.size(), next.size()}); i-- > 0;) {
    if (!has_time(utc[i]) || utc[i].time == other[i].time) continue;
    if (utc[i].time != next[i].time) continue;
    return zone_of(utc[i].time, facts.modified);
  }
  return std::nullopt;
}

}  // namespace logarithm::agent
