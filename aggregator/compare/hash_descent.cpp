#include "aggregator/compare/hash_descent.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "aggregator/store/iteration_hash.h"

namespace logarithm::aggregator {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr unsigned kTop = kHashLevels - 1;
constexpr std::int64_t kSample = 63;  // iterations behind the first one of a sample

using Leaves = std::map<std::int64_t, std::uint64_t>;

class Descent {
 public:
  Descent(std::size_t ranks, const HashNodes& nodes, std::int64_t from)
      : nodes_(nodes), from_(from), spans_(ranks) {}

  Result<std::optional<HashDivergence>> run() {
    LGR_CHECK(measure());
    LGR_CHECK(find_peers());
    std::optional<HashDivergence> first;
    for (const auto& peers : classes_) {
      if (peers.size() < 2) continue;
      LGR_TRY(auto found, search(peers, kTop, kLeast, kMost));
      if (found && (!first || found->iteration < first->iteration)) first = found;
    }
    return first;
  }

 private:
  struct Span {
    std::int64_t first = kMost, last = kLeast;
  };

  // Iterations that the children of a node cover.
  static std::int64_t first_child(std::int64_t node) { return node << kHashBits; }
  static std::int64_t last_child(std::int64_t node) {
    return (node << kHashBits) + (1 << kHashBits) - 1;
  }

  Result<Leaves> read(std::size_t rank, unsigned level, std::int64_t first, std::int64_t last) {
    LGR_TRY(auto nodes, nodes_(rank, level, first, last));
    Leaves out;
    for (const IterationNode& node : nodes) out.emplace(node.node, node.hash);
    return out;
  }

  // First and last iteration of every rank, down the edges of its tree.
  Status measure() {
    for (std::size_t rank = 0; rank < spans_.size(); ++rank) {
      std::int64_t low_first = kLeast, low_last = kMost, high_first = kLeast, high_last = kMost;
      for (unsigned level = kTop + 1; level-- > 0;) {
        LGR_TRY(const Leaves low, read(rank, level, low_first, low_last));
        LGR_TRY(const Leaves high, read(rank, level, high_first, high_last));
        if (low.empty() || high.empty()) break;
        const std::int64_t least = low.begin()->first, most = high.rbegin()->first;
        if (level == 0) {
          spans_[rank] = {least, most};
          break;
        }
        low_first = first_child(least), low_last = last_child(least);
        high_first = first_child(most), high_last = last_child(most);
      }
    }
    return {};
  }

  // A sample: 64 iterations at the beginning and 64 in the middle of what is common.
  Status find_peers() {
    std::int64_t first = kLeast, last = kMost;
    for (const Span& span : spans_) {
      if (span.first > span.last) continue;
      first = std::max(first, span.first);
      last = std::min(last, span.last);
    }
    if (first > last || first == kLeast) {  // lives that do not meet: compare what there is
      first = kMost;
      for (const Span& span : spans_) first = std::min(first, span.first);
      last = first;
    }
    const std::int64_t most = kMost - kSample;
    first = std::min(first, most);  // nobody has any, or only the last ones that there may be
    const std::int64_t middle = std::min(std::midpoint(first, last), most);
    std::vector<Leaves> samples;
    for (std::size_t rank = 0; rank < spans_.size(); ++rank) {
      LGR_TRY(Leaves sample, read(rank, 0, first, first + kSample));
      LGR_TRY(Leaves more, read(rank, 0, middle, middle + kSample));
      sample.merge(more);
      samples.push_back(std::move(sample));
    }
    for (std::size_t rank = 0; rank < spans_.size(); ++rank) {
      if (spans_[rank].first > spans_[rank].last) continue;
      const auto fits = std::find_if(classes_.begin(), classes_.end(), [&](const auto& peers) {
        return mostly_equal(samples[peers.front()], samples[rank]);
      });
      if (fits == classes_.end()) {
        classes_.push_back({rank});
      } else {
        fits->push_back(rank);
      }
    }
    return {};
  }

  static bool mostly_equal(const Leaves& a, const Leaves& b) {
    std::size_t common = 0, equal = 0;
    for (const auto& [iteration, hash] : a) {
      const auto other = b.find(iteration);
      if (other == b.end()) continue;
      ++common;
      equal += other->second == hash ? 1 : 0;
    }
    return common > 0 && equal * 2 >= common;
  }

  bool lives(std::size_t rank, std::int64_t iteration) const {
    return spans_[rank].first <= iteration && iteration <= spans_[rank].last;
  }

  Result<std::optional<HashDivergence>> search(const std::vector<std::size_t>& peers,
                                               unsigned level, std::int64_t first,
                                               std::int64_t last) {
    std::vector<Leaves> nodes;
    std::map<std::int64_t, bool> all;  // every node that somebody has
    for (const std::size_t rank : peers) {
      LGR_TRY(Leaves of_rank, read(rank, level, first, last));
      for (const auto& [node, hash] : of_rank) all.emplace(node, true);
      nodes.push_back(std::move(of_rank));
    }
    for (const auto& [node, any] : all) {
      if (last_of(node, level) < from_ || united(nodes, node)) continue;
      if (level == 0) {
        if (auto found = judge(peers, nodes, node)) return std::optional<HashDivergence>(found);
        continue;
      }
      LGR_TRY(auto found, search(peers, level - 1, first_child(node), last_child(node)));
      if (found) return found;
    }
    return std::optional<HashDivergence>();
  }

  static std::int64_t last_of(std::int64_t node, unsigned level) {
    for (; level > 0; --level) node = last_child(node);
    return node;
  }

  static bool united(const std::vector<Leaves>& nodes, std::int64_t node) {
    const auto first = nodes.front().find(node);
    if (first == nodes.front().end()) return false;
    return std::all_of(nodes.begin(), nodes.end(), [&](const Leaves& of_rank) {
      const auto found = of_rank.find(node);
      return found != of_rank.end() && found->second == first->second;
    });
  }

  // Who departs from the majority of those that live at the iteration.
  std::optional<HashDivergence> judge(const std::vector<std::size_t>& peers,
                                      const std::vector<Leaves>& nodes, std::int64_t iteration) {
    std::map<std::uint64_t, std::size_t> votes;
    std::vector<std::pair<std::size_t, std::uint64_t>> living;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (!lives(peers[i], iteration)) continue;
      const auto found = nodes[i].find(iteration);
      // The last iteration of a rank may go on, or be cut short by its end.
      if (iteration == spans_[peers[i]].last) continue;
      const std::uint64_t hash = found == nodes[i].end() ? 0 : found->second;
      living.emplace_back(peers[i], hash);
      ++votes[hash];
    }
    if (votes.size() < 2) return std::nullopt;
    const auto most =
        std::max_element(votes.begin(), votes.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    // Of two that differ the later one is named, as compare does.
    for (auto at = living.rbegin(); at != living.rend(); ++at) {
      const bool tie = most->second * 2 <= living.size();
      if (at->second != most->first || (tie && living.size() == 2)) {
        return HashDivergence{iteration, at->first};
      }
    }
    return std::nullopt;
  }

  const HashNodes& nodes_;
  std::int64_t from_;
  std::vector<Span> spans_;
  std::vector<std::vector<std::size_t>> classes_;
};

}  // namespace

Result<std::optional<HashDivergence>> first_hash_divergence(std::size_t ranks,
                                                            const HashNodes& nodes,
                                                            std::int64_t from) {
  return Descent(ranks, nodes, from).run();
}

}  // namespace logarithm::aggregator
