#include "aggregator/query/line_buckets.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "aggregator/query/block_filter.h"

namespace logarithm::aggregator {
namespace {

constexpr std::pair<std::string_view, BucketBy> kBucketWords[] = {
    {"time", BucketBy::time},           {"iteration", BucketBy::iteration},
    {"rank", BucketBy::rank},           {"host", BucketBy::host},
    {"severity", BucketBy::severity},   {"callsite", BucketBy::callsite},
    {"template", BucketBy::template_id}};

constexpr std::int64_t kBucketSecond = 1'000'000'000;
constexpr std::array<std::int64_t, 17> kClockSteps = {
    1,   2,   5,    10,   15,       30,       60,        120,      300,
    600, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600};

bool by_order(BucketBy by) {
  return by == BucketBy::time || by == BucketBy::iteration || by == BucketBy::rank ||
         by == BucketBy::severity;
}

TemplateId template_of_key(const LineBuckets::Key& key) {
  return static_cast<TemplateId>(std::get<std::int64_t>(key));
}

}  // namespace

std::optional<BucketBy> parse_bucket_by(std::string_view word) {
  for (const auto& [name, by] : kBucketWords) {
    if (name == word) return by;
  }
  return std::nullopt;
}

std::string_view to_string(BucketBy by) {
  for (const auto& [name, known] : kBucketWords) {
    if (known == by) return name;
  }
  return "";
}

std::int64_t bucket_start(std::int64_t value, std::int64_t step) {
  const std::int64_t into = value % step;
  if (into >= 0) return value - into;
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  return value - into < least + step ? least : value - into - step;
}

std::int64_t nice_step(BucketBy by, std::int64_t first, std::int64_t last, std::int64_t buckets) {
  const double wanted =
      (static_cast<double>(last) - static_cast<double>(first)) / static_cast<double>(buckets);
  if (by == BucketBy::time && wanted >= static_cast<double>(kBucketSecond)) {
    for (const std::int64_t seconds : kClockSteps) {
      if (static_cast<double>(seconds * kBucketSecond) >= wanted) return seconds * kBucketSecond;
    }
    const std::int64_t day = 24 * 3600 * kBucketSecond;
    return day *
           std::max<std::int64_t>(nice_step(BucketBy::iteration, 0,
                                            static_cast<std::int64_t>(wanted / 1e9 / 86400), 1),
                                  1);
  }
  std::int64_t power = 1;
  while (power < std::numeric_limits<std::int64_t>::max() / 100) {
    for (const std::int64_t digit : {1, 2, 5}) {
      if (static_cast<double>(digit * power) >= wanted) return digit * power;
    }
    power *= 10;
  }
  return power;
}

std::optional<Interval> bucket_range(const JobView& view, const ScanPlan& plan, BucketBy by) {
  const BlockFilter filter = block_filter(plan.predicate, plan.start, plan.end, view);
  std::optional<Interval> out;
  const auto& streams = view.snapshot().streams();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (filter.streams && !filter.streams->contains(i)) continue;
    std::optional<std::int64_t> first = streams[i].first_time, last = streams[i].last_time;
    if (by == BucketBy::iteration) {
      last = streams[i].last_iteration;
      first = last ? std::optional<std::int64_t>(std::min<std::int64_t>(0, *last)) : std::nullopt;
    }
    if (!first || !last) continue;
    out = out ? Interval{std::min(out->min, *first), std::max(out->max, *last)}
              : Interval{*first, *last};
  }
  if (!out) return out;
  if (by == BucketBy::time) {
    out->min = std::max(out->min, plan.start.value_or(out->min));
    out->max = std::min(out->max, plan.end.value_or(out->max));
  } else if (filter.iteration) {
    out->min = std::max(out->min, filter.iteration->min);
    out->max = std::min(out->max, filter.iteration->max);
  }
  if (out->min > out->max) return std::nullopt;
  return out;
}

Status LineBuckets::check_room() const {
  if (numbers_.size() + texts_.size() <= kMaxKeys && text_bytes_ <= kMaxKeyBytes) return {};
  return Error(ErrorCode::invalid, "more than " + std::to_string(kMaxKeys) +
                                       " different values of " + std::string(to_string(by_)) +
                                       "; narrow the query or enlarge the step");
}

Status LineBuckets::add(std::optional<std::int64_t> key, std::uint64_t count) {
  if (!key) {
    absent_ += count;
    return {};
  }
  const bool stepped = by_ == BucketBy::time || by_ == BucketBy::iteration;
  const std::int64_t start = stepped ? bucket_start(*key, step_) : *key;
  auto [at, fresh] = numbers_.try_emplace(start, 0);
  at->second += count;
  return fresh ? check_room() : Status();
}

Status LineBuckets::add(std::string_view key, std::uint64_t count) {
  if (key.empty()) return add(std::optional<std::int64_t>(), count);
  auto [at, fresh] = texts_.try_emplace(std::string(key), 0);
  at->second += count;
  if (!fresh) return {};
  text_bytes_ += key.size();
  return check_room();
}

Result<Taken> LineBuckets::take_block(const BlockRef& block, const StreamJoin& join,
                                      const HeaderSource& source) {
  if (by_ == BucketBy::time) {
    if (bucket_start(block.time_min, step_) != bucket_start(block.time_max, step_)) {
      return Taken::no;
    }
    LGR_CHECK(add(std::optional<std::int64_t>(block.time_min), block.lines));
    return Taken::wholly;
  }
  if (by_ == BucketBy::host) {
    LGR_CHECK(add(std::string_view(join.attributes->host), block.lines));
    return Taken::wholly;
  }
  if (by_ == BucketBy::rank && join.rank_is_fixed) {
    LGR_CHECK(add(std::optional<std::int64_t>(join.rank), block.lines));
    return Taken::wholly;
  }
  LGR_TRY(BlockHeader header, source());
  std::optional<std::int64_t> only;
  bool one = false;
  switch (by_) {
    case BucketBy::rank:
      one = !header.wrapper_rank;
      only = join.rank;
      break;
    case BucketBy::iteration:
      one = !header.iteration ||
            (header.all_have_iteration && bucket_start(header.iteration->min, step_) ==
                                              bucket_start(header.iteration->max, step_));
      if (header.iteration) only = header.iteration->min;
      break;
    case BucketBy::severity:
      for (unsigned bit = 0; bit < 8; ++bit) {
        if (header.severities != 1u << bit) continue;
        one = true;
        if (bit != 0) only = bit;
      }
      break;
    case BucketBy::callsite: one = !header.has_callsite; break;
    case BucketBy::template_id:
      one = header.body_templates.size() == 1;
      if (one) only = static_cast<std::int64_t>(header.body_templates.front());
      break;
    case BucketBy::time:
    case BucketBy::host: break;
  }
  if (!one) return Taken::no;
  LGR_CHECK(add(only, block.lines));
  return Taken::wholly;
}

Status LineBuckets::take(const Line& line, const StreamJoin& join, const BlockRef&) {
  std::optional<std::int64_t> key;
  switch (by_) {
    case BucketBy::time: key = line.time; break;
    case BucketBy::iteration: key = line.iteration; break;
    case BucketBy::rank: key = rank_of(line, join); break;
    case BucketBy::severity:
      if (line.severity != Severity::unset) key = static_cast<std::int64_t>(line.severity);
      break;
    case BucketBy::template_id: key = static_cast<std::int64_t>(line.template_id); break;
    case BucketBy::host: return add(std::string_view(join.attributes->host), 1);
    case BucketBy::callsite: return add(std::string_view(line.callsite), 1);
  }
  return add(key, 1);
}

LineBuckets::Answer LineBuckets::answer(std::size_t limit) const {
  Answer out;
  std::vector<Bucket>& buckets = out.buckets;
  buckets.reserve(numbers_.size() + texts_.size() + 1);
  for (const auto& [key, count] : numbers_) buckets.push_back({key, count});
  for (const auto& [key, count] : texts_) buckets.push_back({key, count});
  if (absent_ > 0) buckets.push_back({std::monostate(), absent_});
  const bool ordered = by_order(by_);
  std::sort(buckets.begin(), buckets.end(), [&](const Bucket& a, const Bucket& b) {
    if (!ordered && a.count != b.count) return a.count > b.count;
    // Those without the field last.
    if (a.key.index() == 0 || b.key.index() == 0) return a.key.index() > b.key.index();
    if (by_ == BucketBy::template_id) return template_of_key(a.key) < template_of_key(b.key);
    return a.key < b.key;
  });
  for (const Bucket& bucket : buckets) out.total += bucket.count;
  for (std::size_t i = limit; i < buckets.size(); ++i) {
    out.other += buckets[i].count;
    ++out.other_buckets;
  }
  if (buckets.size() > limit) buckets.resize(limit);
  return out;
}

}  // namespace logarithm::aggregator
