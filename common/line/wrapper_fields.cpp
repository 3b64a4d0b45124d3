#include "common/line/wrapper_fields.h"

#include <string>

#include "common/line/log_header.h"
#include "common/line/transport.h"
#include "common/line/wrapper_time.h"

namespace logarithm {
namespace {

MetaPair to_meta(const wrappers::Fact& fact) {
  switch (fact.type) {
    case wrappers::Fact::Type::integer: return {std::string(fact.key), fact.integer, false};
    case wrappers::Fact::Type::real: return {std::string(fact.key), fact.real, false};
    default: return {std::string(fact.key), std::string(fact.text), false};
  }
}

}  // namespace

void add_wrapper_fields(Line& line, const Wrapped& wrapped) {
  for (std::size_t i = 0; i < wrapped.fact_count; ++i) {
    line.meta.push_back(to_meta(wrapped.facts[i]));
  }
}

void take_journal(Line& line, Wrapped& wrapped) {
  const auto journal = parse_journal(line.raw);
  if (!journal) return;
  if (!journal->host.empty()) line.meta.push_back({"host", std::string(journal->host), false});
  if (!journal->unit.empty()) line.meta.push_back({"unit", std::string(journal->unit), false});
  if (journal->pid) line.meta.push_back({"pid", *journal->pid, false});
  if (journal->priority) wrapped.severity = wrappers::severity_of_priority(*journal->priority);
  // Beyond the year 2200 it is no time.
  constexpr std::int64_t kMost = 7'258'118'400'000'000;
  if (*journal->micros < kMost) wrapped.time = printed_utc(*journal->micros * 1000);
}

void take_bare_rank(std::string_view text, Wrapped& wrapped) {
  if (wrapped.rank) return;
  wrapped.rank = parse_bare_rank(text);
  if (!wrapped.rank) return;
  if (!wrapped.lane) {
    wrapped.lane = wrapped.rank;
    return;
  }
  // Beside a host: a lane like those of several wrappers.
  const auto mixed =
      static_cast<std::uint32_t>(*wrapped.lane) * 31u + static_cast<std::uint32_t>(*wrapped.rank);
  wrapped.lane = static_cast<std::int32_t>((mixed & 0x3FFFFFFFu) | 1u << 30);
}

std::optional<std::int32_t> lane_of(const Wrapped& wrapped, const LineOrigin& origin) {
  if (origin.output == Output::unset) return wrapped.lane;
  const std::int32_t lane = wrapped.lane.value_or(-1);
  return origin.output == Output::out ? lane : lane ^ std::int32_t{1 << 29};
}

}  // namespace logarithm
