#include "aggregator/compare/correlation.h"

#include <algorithm>
#include <array>
#include <charconv>

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
      gpus_[process.info.key()].push_back(process.info.host + " " + pci_of(gpu.pci));
    }
  }
}

std::vector<std::string> Correlation::keys_of(const QueryLine& line) const {
  switch (by_) {
    case CorrelateBy::rank: {
      const auto rank = rank_of(line.line, *line.join);
      if (!rank) return {};
      return {std::to_string(*rank)};
    }
    case CorrelateBy::host:
      if (line.join->attributes->host.empty()) return {};
      return {line.join->attributes->host};
    case CorrelateBy::gpu: break;
  }
  // A kernel's line names the device; a rank's line is of those that its process holds.
  for (const MetaPair& pair : line.line.meta) {
    const auto* text = std::get_if<std::string>(&pair.value);
    if (pair.key == "pci" && text != nullptr) {
      return {line.join->attributes->host + " " + pci_of(*text)};
    }
  }
  const auto found = gpus_.find(line.join->attributes->process);
  return found == gpus_.end() ? std::vector<std::string>() : found->second;
}

bool Correlation::is_over(const QueryLine& first, const QueryLine& now) const {
  if (within_.iterations) return false;  // a stream may go back to an earlier iteration
  return now.line.time - first.line.time > within_.nanos;
}

bool Correlation::is_pair(const QueryLine& first, const QueryLine& then) const {
  if (!within_.iterations) return then.line.time - first.line.time <= within_.nanos;
  // The axis is (attempt, iteration): a restart counts anew.
  if (first.join->attempt != then.join->attempt) return false;
  const std::int64_t a = *first.line.iteration, b = *then.line.iteration;
  return b >= a && b - a <= *within_.iterations;
}

Status Correlation::add_first(QueryLine line) {
  ++firsts_;
  const auto keys = keys_of(line);
  if (keys.empty()) {
    ++without_key_;
    return {};
  }
  if (within_.iterations && !line.line.iteration) {
    ++without_iteration_;
    return {};
  }
  for (const std::string& key : keys) {
    std::deque<QueryLine>& open = open_[key];
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

void Correlation::add_then(const QueryLine& line) {
  ++thens_;
  const auto keys = keys_of(line);
  if (keys.empty()) {
    ++without_key_;
    return;
  }
  if (within_.iterations && !line.line.iteration) {
    ++without_iteration_;
    return;
  }
  for (const std::string& key : keys) {
    const auto found = open_.find(key);
    if (found == open_.end()) continue;
    std::deque<QueryLine> left;
    for (QueryLine& first : found->second) {
      if (is_over(first, line)) {
        --open_count_;
      } else if (is_pair(first, line)) {
        --open_count_;
        ++pair_count_;
        if (pairs_.size() < limit_) pairs_.push_back({key, std::move(first), line});
      } else {
        left.push_back(std::move(first));
      }
    }
    found->second = std::move(left);
  }
}

std::vector<CorrelatedPair> Correlation::take_pairs() { return std::move(pairs_); }

}  // namespace logarithm::aggregator
