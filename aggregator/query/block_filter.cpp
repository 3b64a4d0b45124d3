#include "aggregator/query/block_filter.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "aggregator/query/judge.h"
#include "common/block/block_header.h"

namespace logarithm::aggregator {
namespace {

using Kind = Predicate::Kind;

// The hull of the iterations that a fulfilling line can have; nullopt when it may have none or any.
std::optional<Interval> iteration_bounds(const Predicate& predicate) {
  switch (predicate.kind) {
    case Kind::all_of: {
      std::optional<Interval> out;
      for (const Predicate& child : predicate.children) {
        auto bounds = iteration_bounds(child);
        if (!bounds) continue;
        if (!out) out = Interval{};
        out->min = std::max(out->min, bounds->min);
        out->max = std::min(out->max, bounds->max);
      }
      return out;
    }
    case Kind::any_of: {
      std::optional<Interval> out;
      for (const Predicate& child : predicate.children) {
        auto bounds = iteration_bounds(child);
        if (!bounds) return std::nullopt;
        if (!out) {
          out = bounds;
        } else {
          out->min = std::min(out->min, bounds->min);
          out->max = std::max(out->max, bounds->max);
        }
      }
      return out;
    }
    case Kind::intervals: {
      if (predicate.field.field != Field::iteration || predicate.intervals.empty()) break;
      Interval out = predicate.intervals.front();
      for (const Interval& in : predicate.intervals) {
        out.min = std::min(out.min, in.min);
        out.max = std::max(out.max, in.max);
      }
      return out;
    }
    case Kind::number: {
      const auto* value = std::get_if<std::int64_t>(&predicate.number);
      if (predicate.field.field != Field::iteration || value == nullptr) break;
      switch (predicate.compare) {
        case Compare::eq: return Interval{*value, *value};
        case Compare::lt:
        case Compare::le: return Interval{std::numeric_limits<std::int64_t>::min(), *value};
        case Compare::gt:
        case Compare::ge: return Interval{*value, std::numeric_limits<std::int64_t>::max()};
        case Compare::ne: break;
      }
      break;
    }
    default: break;
  }
  return std::nullopt;
}

// The severities that a fulfilling line can have, for predicates of that form at the top level.
std::uint8_t severity_bits(const Predicate& predicate) {
  if (predicate.kind == Kind::all_of) {
    std::uint8_t bits = 0xFF;
    for (const Predicate& child : predicate.children) bits &= severity_bits(child);
    return bits;
  }
  if (predicate.kind == Kind::any_of) {
    std::uint8_t bits = 0;
    for (const Predicate& child : predicate.children) bits |= severity_bits(child);
    return bits;
  }
  if (predicate.kind == Kind::negation || predicate.field.field != Field::severity) return 0xFF;
  std::uint8_t bits = 0;
  BlockHeader header;
  StreamJoin nobody;
  for (unsigned bit = 0; bit < 8; ++bit) {
    header.severities = static_cast<std::uint8_t>(1u << bit);
    if (judge(predicate, nobody, &header, nullptr) != Verdict::never) bits |= header.severities;
  }
  return bits;
}

}  // namespace

BlockFilter block_filter(const Predicate& predicate, std::optional<UnixNanos> start,
                         std::optional<UnixNanos> end, const JobView& view) {
  BlockFilter filter;
  filter.start = start;
  filter.end = end;
  filter.severities = severity_bits(predicate);
  if (auto bounds = iteration_bounds(predicate)) {
    filter.iteration = MinMax<std::int64_t>{bounds->min, bounds->max};
  }
  std::set<std::size_t> streams;
  const std::size_t total = view.snapshot().streams().size();
  for (std::size_t i = 0; i < total; ++i) {
    const auto& joins = view.joins(i);
    const bool possible = std::any_of(joins.begin(), joins.end(), [&](const StreamJoin& join) {
      return judge(predicate, join, nullptr, nullptr) != Verdict::never;
    });
    if (possible) streams.insert(i);
  }
  if (streams.size() != total) filter.streams = std::move(streams);
  return filter;
}

BlockFilter time_filter(const ScanPlan& plan) {
  BlockFilter filter;
  filter.start = plan.start;
  filter.end = plan.end;
  if (!plan.after) return filter;
  const UnixNanos time = plan.after->time;
  if (plan.direction == Direction::forward) {
    filter.start = std::max(filter.start.value_or(time), time);
  } else if (time < std::numeric_limits<UnixNanos>::max()) {
    filter.end = std::min(filter.end.value_or(time + 1), time + 1);
  }
  return filter;
}

BlockFilter plan_filter(const ScanPlan& plan, const JobView& view) {
  const BlockFilter time = time_filter(plan);
  return block_filter(plan.predicate, time.start, time.end, view);
}

}  // namespace logarithm::aggregator
