#include "common/block/token_collector.h"

namespace logarithm::block {

void HashSet::insert(std::uint64_t hash) {
  if (hash == 0) {
    if (!has_zero_) values_.push_back(0);
    has_zero_ = true;
    return;
  }
  if (2 * (values_.size() + 1) > table_.size()) grow();
  const std::size_t mask = table_.size() - 1;
  std::size_t at = hash & mask;
  while (table_[at] != 0) {
    if (table_[at] == hash) return;
    at = (at + 1) & mask;
  }
  table_[at] = hash;
  values_.push_back(hash);
}

void HashSet::grow() {
  std::vector<std::uint64_t> table(table_.empty() ? 256 : 2 * table_.size());
  const std::size_t mask = table.size() - 1;
  for (const std::uint64_t hash : values_) {
    if (hash == 0) continue;
    std::size_t at = hash & mask;
    while (table[at] != 0) at = (at + 1) & mask;
    table[at] = hash;
  }
  table_ = std::move(table);
}

void TokenCollector::add_broken(std::string_view text, std::size_t begin,
                                const std::vector<Span>& breaks) {
  auto at = breaks.begin();
  for_each_token(text, [&](std::string_view token) {
    const auto first = static_cast<std::size_t>(token.data() - text.data());
    while (at != breaks.end() && at->begin + std::size_t{at->length} <= first) ++at;
    if (first < begin || at == breaks.end() || at->begin >= first + token.size()) return;
    hashes_.insert(token_hash(token));
  });
}

}  // namespace logarithm::block
