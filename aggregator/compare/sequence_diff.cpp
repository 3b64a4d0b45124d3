#include "aggregator/compare/sequence_diff.h"

#include <algorithm>
#include <map>

namespace logarithm::aggregator {
namespace {

constexpr int kMostEdits = 200;  // that are searched for exactly
constexpr int kMostNesting = 40;

struct Stretch {
  std::size_t from = 0, to = 0;
  std::size_t size() const { return to - from; }
};

class Aligner {
 public:
  Aligner(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b)
      : a_(a), b_(b) {}

  std::vector<Aligned> run() {
    align({0, a_.size()}, {0, b_.size()}, 0);
    std::sort(out_.begin(), out_.end(),
              [](const Aligned& x, const Aligned& y) { return x.a < y.a; });
    return std::move(out_);
  }

 private:
  void align(Stretch a, Stretch b, int depth) {
    while (a.size() > 0 && b.size() > 0 && a_[a.from] == b_[b.from]) {
      out_.push_back({a.from++, b.from++});
    }
    while (a.size() > 0 && b.size() > 0 && a_[a.to - 1] == b_[b.to - 1]) {
      out_.push_back({--a.to, --b.to});
    }
    if (a.size() == 0 || b.size() == 0) return;
    if (search(a, b) || depth >= kMostNesting) return;
    const std::vector<Aligned> anchors = nth_occurrences(a, b);
    if (anchors.empty()) return;
    Stretch left = a, right = b;
    for (const Aligned& anchor : anchors) {
      out_.push_back(anchor);
      align({left.from, anchor.a}, {right.from, anchor.b}, depth + 1);
      left.from = anchor.a + 1;
      right.from = anchor.b + 1;
    }
    align(left, right, depth + 1);
  }

  // Myers' greedy search of the shortest edit script. False when it is longer than kMostEdits.
  bool search(Stretch a, Stretch b) {
    const int n = static_cast<int>(a.size()), m = static_cast<int>(b.size());
    const int most = std::min(n + m, kMostEdits);
    std::vector<std::vector<int>> steps;  // furthest x by diagonal, one row an edit
    std::vector<int> furthest(static_cast<std::size_t>(2 * most + 3), 0);
    const auto at = [&](int k) -> int& { return furthest[static_cast<std::size_t>(k + most + 1)]; };
    for (int edits = 0; edits <= most; ++edits) {
      steps.push_back(furthest);
      for (int k = -edits; k <= edits; k += 2) {
        const bool down = k == -edits || (k != edits && at(k - 1) < at(k + 1));
        int x = down ? at(k + 1) : at(k - 1) + 1;
        int y = x - k;
        while (x < n && y < m &&
               a_[a.from + static_cast<std::size_t>(x)] ==
                   b_[b.from + static_cast<std::size_t>(y)]) {
          ++x, ++y;
        }
        at(k) = x;
        if (x >= n && y >= m) {
          trace(a, b, steps, edits, most);
          return true;
        }
      }
    }
    return false;
  }

  void trace(Stretch a, Stretch b, const std::vector<std::vector<int>>& steps, int edits,
             int most) {
    int x = static_cast<int>(a.size()), y = static_cast<int>(b.size());
    for (int d = edits; d >= 0; --d) {
      const auto at = [&](int k) {
        return steps[static_cast<std::size_t>(d)][static_cast<std::size_t>(k + most + 1)];
      };
      const int k = x - y;
      const bool down = k == -d || (k != d && at(k - 1) < at(k + 1));
      const int before = d == 0 ? 0 : (down ? at(k + 1) : at(k - 1));
      const int before_y = d == 0 ? 0 : before - (down ? k + 1 : k - 1);
      const int from_x = d == 0 ? 0 : (down ? before : before + 1);
      while (x > from_x && y > 0) {
        --x, --y;
        out_.push_back(
            {a.from + static_cast<std::size_t>(x), b.from + static_cast<std::size_t>(y)});
      }
      x = before;
      y = before_y;
    }
  }

  // The n-th occurrence of an element is taken for the n-th one of the other side; of these pairs
  // the longest chain that keeps the order.
  std::vector<Aligned> nth_occurrences(Stretch a, Stretch b) const {
    std::map<std::uint64_t, std::vector<std::size_t>> places;
    for (std::size_t i = b.from; i < b.to; ++i) places[b_[i]].push_back(i);
    std::map<std::uint64_t, std::size_t> used;
    std::vector<Aligned> pairs;
    for (std::size_t i = a.from; i < a.to; ++i) {
      const auto found = places.find(a_[i]);
      if (found == places.end()) continue;
      const std::size_t n = used[a_[i]]++;
      if (n < found->second.size()) pairs.push_back({i, found->second[n]});
    }
    return longest_chain(pairs);
  }

  static std::vector<Aligned> longest_chain(const std::vector<Aligned>& pairs) {
    std::vector<std::size_t> tails;  // by length: the pair with the least end
    std::vector<std::size_t> before(pairs.size(), SIZE_MAX);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto at = std::lower_bound(
          tails.begin(), tails.end(), pairs[i].b,
          [&](std::size_t tail, std::size_t value) { return pairs[tail].b < value; });
      if (at != tails.begin()) before[i] = *(at - 1);
      if (at == tails.end()) {
        tails.push_back(i);
      } else {
        *at = i;
      }
    }
    std::vector<Aligned> out;
    for (std::size_t i = tails.empty() ? SIZE_MAX : tails.back(); i != SIZE_MAX; i = before[i]) {
      out.push_back(pairs[i]);
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

  const std::vector<std::uint64_t>& a_;
  const std::vector<std::uint64_t>& b_;
  std::vector<Aligned> out_;
};

}  // namespace

std::vector<Aligned> align(const std::vector<std::uint64_t>& a,
                           const std::vector<std::uint64_t>& b) {
  return Aligner(a, b).run();
}

}  // namespace logarithm::aggregator
