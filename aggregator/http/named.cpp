#include "aggregator/http/named.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>

#include "aggregator/http/views.h"
#include "aggregator/query/filters.h"
#include "aggregator/query/judge.h"

namespace logarithm::aggregator {
namespace {

constexpr std::size_t kMostShown = 200;  // bytes of the ranks that there are

std::string text_of(const Interval& interval) {
  using Limits = std::numeric_limits<std::int64_t>;
  if (interval.min == interval.max) return std::to_string(interval.min);
  return (interval.min == Limits::min() ? "" : std::to_string(interval.min)) + ".." +
         (interval.max == Limits::max() ? "" : std::to_string(interval.max));
}

bool holds_any(const Interval& interval, const std::set<std::int32_t>& known) {
  return std::any_of(known.begin(), known.end(),
                     [&](std::int32_t number) { return interval.contains(number); });
}

Error not_there(const JobView& view, const std::string& what, const Interval& interval,
                const std::set<std::int32_t>& known) {
  std::string there = compress(known);
  if (there.size() > kMostShown) there = there.substr(0, there.rfind(',', kMostShown)) + ",…";
  return Error(ErrorCode::not_found,
               "job " + view.job() + " has no " + what + " " + text_of(interval) +
                   (known.empty() ? ": none is known of it" : "; it has " + there));
}

// A filter: "0-7,16" asks for those of them that there are.
Status check_any(const JobView& view, const std::string& what, const std::vector<Interval>& asked,
                 const std::set<std::int32_t>& known) {
  const bool any = std::any_of(asked.begin(), asked.end(), [&](const Interval& interval) {
    return holds_any(interval, known);
  });
  if (asked.empty() || any) return {};
  return not_there(view, what, asked.front(), known);
}

Status check_each(const JobView& view, const std::string& what, const std::vector<Interval>& asked,
                  const std::set<std::int32_t>& known) {
  for (const Interval& interval : asked) {
    if (!holds_any(interval, known)) return not_there(view, what, interval, known);
  }
  return {};
}

std::set<std::int32_t> attempts_of(const JobView& view) {
  std::set<std::int32_t> out;
  for (std::size_t s = 0; s < view.snapshot().streams().size(); ++s) {
    for (const StreamJoin& join : view.joins(s)) {
      if (join.attempt) out.insert(*join.attempt);
    }
  }
  for (const ProcessFacts& process : view.snapshot().processes()) {
    if (process.attempt) out.insert(*process.attempt);
  }
  return out;
}

// Also of those that said nothing, and those that only lines name.
std::set<std::int32_t> ranks_of(const JobView& view) {
  std::set<std::int32_t> out = view.snapshot().wrapper_ranks();
  for (std::size_t s = 0; s < view.snapshot().streams().size(); ++s) {
    for (const StreamJoin& join : view.joins(s)) {
      if (join.rank) out.insert(*join.rank);
    }
  }
  for (const ProcessFacts& process : view.snapshot().processes()) {
    if (process.info.rank) out.insert(*process.info.rank);
  }
  return out;
}

// Attributes decide; what only lines could tell counts as there.
Status check_names(const JobView& view, std::string_view field,
                   const std::vector<std::string>& asked) {
  for (const std::string& name : asked) {
    const Predicate same = predicate::string_equal(field_named(field), name);
    bool there = false;
    for (std::size_t s = 0; s < view.snapshot().streams().size() && !there; ++s) {
      const auto& joins = view.joins(s);
      there = std::any_of(joins.begin(), joins.end(), [&](const StreamJoin& join) {
        return judge(same, join, nullptr, nullptr) != Verdict::never;
      });
    }
    if (there) continue;
    return Error(ErrorCode::not_found, "job " + view.job() + " has no " + std::string(field) + " " +
                                           name + ": …/streams lists what it has");
  }
  return {};
}

void add_intervals(std::string_view text, std::vector<Interval>& out) {
  std::size_t position = 0;
  auto parsed = parse_intervals(text, position);
  if (parsed.ok()) out.insert(out.end(), parsed->begin(), parsed->end());
}

}  // namespace

Named named_in(const net::Request& request) {
  Named out;
  for (const auto& [name, value] : request.query) {
    if (name == "attempt") add_intervals(value, out.attempts);
    // "all" and the words of `peers` are no numbers, and name nobody.
    if (name == "rank") add_intervals(value, out.ranks);
    if (name == "ranks") add_intervals(value, out.compared);
    if (name == "host") out.hosts.push_back(value);
    if (name == "stream") out.streams.push_back(value);
    if (name != "peers") continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      const std::size_t cut = std::min(rest.find(';'), rest.size());
      add_intervals(rest.substr(0, cut), out.compared);
      rest.remove_prefix(std::min(cut + 1, rest.size()));
    }
  }
  return out;
}

Status check_named(const JobView& view, const Named& named) {
  if (!named.attempts.empty()) {
    LGR_CHECK(check_any(view, "attempt", named.attempts, attempts_of(view)));
  }
  if (!named.ranks.empty() || !named.compared.empty()) {
    const std::set<std::int32_t> known = ranks_of(view);
    LGR_CHECK(check_any(view, "rank", named.ranks, known));
    LGR_CHECK(check_each(view, "rank", named.compared, known));
  }
  LGR_CHECK(check_names(view, "host", named.hosts));
  return check_names(view, "stream", named.streams);
}

}  // namespace logarithm::aggregator
