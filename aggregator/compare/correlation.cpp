#include "aggregator/compare/correlation.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "common/config/units.h"

namespace logarithm::aggregator {
namespace {

constexpr std::array<std::string_view, 3> kBy = {"rank", "host", "gpu"};

// "0000:3B:00.0" and "0000:3b:00" are one device.
std::string pci_of(std::string_view text) {
  std::string out(text.substr(0, text.find('.')));
  for (char& c : out) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c | 0x20);
  }
  // Some print a domain of 8 digits.
  if (out.size() > 12 && out.starts_with("0000")) out.erase(0, 4);
  return out;
}

}  // namespace

std::optional<CorrelateBy> parse_correlate_by(std::string_view word) {
  const auto at = std::find(kBy.begin(), kBy.end(), word);
  if (at == kBy.end()) return std::nullopt;
  return static_cast<CorrelateBy>(at - kBy.begin());
}

std::string_view to_string(CorrelateBy by) { return kBy[static_cast<std::size_t>(by)]; }

Result<Within> parse_within(std::string_view text) {
  Within out;
  if (text.ends_with('i')) {
    std::int64_t count = 0;
    const char* end = text.data() + text.size() - 1;
    const auto [stop, problem] = std::from_chars(text.data(), end, count);
    if (problem == std::errc{} && stop == end && count >= 0) {
      out.iterations = count;
      return out;
    }
  } else if (auto duration = config::parse_duration(text); duration.ok()) {
    out.nanos = duration->count();
    return out;
  }
  return Error(ErrorCode::invalid, "within is a number of iterations (2i) or a time (30s)");
}

Correlation::Correlation(const JobView& view, CorrelateBy by, Within within, std::size_t limit)
    : by_(by), within_(within), limit_(limit) {
  if (by != CorrelateBy::gpu) return;
  for (const ProcessFacts& process : view.snapshot().processes()) {
    for (const Gpu& gpu : process.info.gpus) {
      if (gpu.pci.empty()) continue;
      const Key key = named(process.info.host + " " + pci_of(gpu.pci));
      gpus_[process.info.key()].push_back(key);
    }
  }
}

Correlation::Key Correlation::named(const std::string& name) {
  const auto [at, fresh] = places_.try_emplace(name, static_cast<Key>(names_.size()));
  if (fresh) names_.push_back(name);
  return at->second;
}

const Correlation::Keys& Correlation::keys_of(const Mark& line) {
  const StreamAttributes& attributes = *line.join->attributes;
  keys_.clear();
  if (by_ == CorrelateBy::rank) {
    if (const auto rank = rank_of(line)) keys_.push_back(*rank);
    return keys_;
  }
  // A kernel's line names the device; a rank's line is of those that its process holds.
  if (by_ == CorrelateBy::gpu && line.word != nullptr) {
    keys_.push_back(named(attributes.host + " " + pci_of(*line.word)));
    return keys_;
  }
  const auto [at, fresh] = joins_.try_emplace(line.join);
  if (!fresh) return at->second;
  if (by_ == CorrelateBy::host) {
    if (!attributes.host.empty()) at->second.push_back(named(attributes.host));
  } else if (const auto found = gpus_.find(attributes.process); found != gpus_.end()) {
    at->second = found->second;
  }
  return at->second;
}

bool Correlation::is_over(const Mark& first, const Mark& now) const {
  if (within_.iterations) return false;  // a stream may go back to an earlier iteration
  return now.time - first.time > within_.nanos;
}

bool Correlation::is_pair(const Mark& first, const Mark& then) const {
  if (!within_.iterations) return then.time - first.time <= within_.nanos;
  // The axis is (attempt, iteration): a restart counts anew.
  if (first.join->attempt != then.join->attempt) return false;
  const std::int64_t a = *first.iteration, b = *then.iteration;
  return b >= a && b - a <= *within_.iterations;
}

const Correlation::Keys& Correlation::pairable(const Mark& line) {
  static const Keys kNone;
  const Keys& keys = keys_of(line);
  if (keys.empty()) {
    ++without_key_;
    return keys;
  }
  if (within_.iterations && !line.iteration) {
    ++without_iteration_;
    return kNone;
  }
  return keys;
}

std::function<bool(const StreamJoin&)> Correlation::strangers_to(
    const std::vector<Mark>& firsts) const {
  switch (by_) {
    case CorrelateBy::rank: {
      std::set<std::int32_t> ranks;
      for (const Mark& first : firsts) {
        if (const auto rank = rank_of(first)) ranks.insert(*rank);
      }
      return [ranks = std::move(ranks)](const StreamJoin& join) {
        const bool sure = join.rank_is_fixed || join.facts->lacks_wrapper_ranks;
        return sure && join.rank && !ranks.contains(*join.rank);
      };
    }
    case CorrelateBy::host: {
      std::set<std::string> hosts;
      for (const Mark& first : firsts) hosts.insert(first.join->attributes->host);
      return [hosts = std::move(hosts)](const StreamJoin& join) {
        return !join.attributes->host.empty() && !hosts.contains(join.attributes->host);
      };
    }
    case CorrelateBy::gpu: break;
  }
  return [](const StreamJoin&) { return false; };
}

Status Correlation::add_first(const Mark& line) {
  ++firsts_;
  for (const Key key : pairable(line)) {
    std::deque<Mark>& open = open_[key];
    while (!open.empty() && is_over(open.front(), line)) {
      open.pop_front();
      --open_count_;
    }
    open.push_back(line);
    if (++open_count_ > kMaxOpen) {
      return Error(ErrorCode::invalid, "more than " + std::to_string(kMaxOpen) +
                                           " first lines wait for a second one; narrow `first`");
    }
  }
  return {};
}

void Correlation::add_then(const Mark& line) {
  ++thens_;
  for (const Key key : pairable(line)) {
    const auto found = open_.find(key);
    if (found == open_.end()) continue;
    std::deque<Mark>& open = found->second;
    const auto closed = [&](const Mark& first) {
      if (is_over(first, line)) return true;
      if (!is_pair(first, line)) return false;
      ++pair_count_;
      if (pairs_.size() < limit_) {
        pairs_.push_back(
            {by_ == CorrelateBy::rank ? std::to_string(key) : names_[static_cast<std::size_t>(key)],
             first, line});
      }
      return true;
    };
    // In order, so that pairs come as their first lines do.
    std::size_t kept = 0;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (closed(open[i])) continue;
      if (kept != i) open[kept] = open[i];
      ++kept;
    }
    open_count_ -= open.size() - kept;
    open.resize(kept);
  }
}

std::vector<CorrelatedPair> Correlation::take_pairs() { return std::move(pairs_); }

}  // namespace logarithm::aggregator
