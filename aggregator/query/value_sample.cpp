#include "aggregator/query/value_sample.h"

#include <algorithm>

#include "common/line/hash64.h"

namespace logarithm::aggregator {

void ValueSample::add(std::string_view text, std::size_t cap, std::uint64_t count) {
  const std::uint64_t hash = hash64(text);
  if (hash > limit_) return;
  auto [at, fresh] = values_.try_emplace(hash);
  Value& value = at->second;
  value.count += count;
  if (!fresh) return;
  value.cut = text.size() > kShownBytes;
  value.text = std::string(text.substr(0, kShownBytes));
  // Seldom, so that it costs little a value.
  if (values_.size() > 2 * cap) shrink(cap);
}

void ValueSample::shrink(std::size_t cap) {
  if (values_.size() <= cap) return;
  std::vector<std::uint64_t> hashes;
  hashes.reserve(values_.size());
  for (const auto& [hash, value] : values_) hashes.push_back(hash);
  const auto last = hashes.begin() + static_cast<std::ptrdiff_t>(cap == 0 ? 0 : cap - 1);
  std::nth_element(hashes.begin(), last, hashes.end());
  limit_ = *last;
  std::erase_if(values_, [&](const auto& entry) { return entry.first > limit_; });
}

std::uint64_t ValueSample::distinct() const {
  if (exact() || values_.size() < 2) return values_.size();
  const double density = static_cast<double>(values_.size() - 1) / static_cast<double>(limit_);
  return static_cast<std::uint64_t>(density * 18446744073709551616.0);
}

std::vector<ValueSample::Value> ValueSample::top(std::size_t most) const {
  std::vector<Value> out;
  if (!exact()) return out;
  out.reserve(values_.size());
  for (const auto& [hash, value] : values_) out.push_back(value);
  std::sort(out.begin(), out.end(), [](const Value& a, const Value& b) {
    return a.count != b.count ? a.count > b.count : a.text < b.text;
  });
  if (out.size() > most) out.resize(most);
  return out;
}

}  // namespace logarithm::aggregator
