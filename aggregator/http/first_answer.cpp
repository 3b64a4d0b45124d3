#include "aggregator/http/first_answer.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/compare/hash_descent.h"
#include "aggregator/http/compare_views.h"
#include "aggregator/http/ranks_fold.h"
#include "aggregator/query/judge.h"
#include "aggregator/store/iteration_hash.h"

namespace logarithm::aggregator {
namespace {

class FirstAnswer final : public RanksFold {
 public:
  FirstAnswer(PeerRule rule, std::size_t limit, bool attempt_stated)
      : RanksFold(std::move(rule), limit, attempt_stated) {}

  Status narrow(BlockingToken& token, JobView& view, ScanPlan& plan) override {
    if (!view_) read_axes(view, plan);
    attempt_.choose(view, plan);
    auto found = first_hash_divergence(
        axes_.size(),
        [&](std::size_t rank, unsigned level, std::int64_t first, std::int64_t last) {
          return nodes_of(token, view, rank, level, first, last);
        },
        from_);
    // Shards from before the hashes: all lines are read.
    if (!found.ok() && found.error().code() == ErrorCode::unavailable) {
      found_.reset();
      return {};
    }
    LGR_TRY(found_, std::move(found));
    if (found_) {
      // Enough iterations to know who is whose peer.
      narrow_to(plan, "iteration",
                {Interval{found_->iteration - kAround, found_->iteration + kAround}});
    } else {
      narrow_to(plan, "iteration", {});
    }
    return {};
  }

  // Templates differed, groups do not (or a hole was filled later): the search goes on.
  bool again() override {
    ++rounds_;
    if (!found_ || comparing_->result().first || rounds_ >= kMaxRounds) return false;
    from_ = found_->iteration + 1;
    return true;
  }

  void write(JsonWriter& out) override {
    attempt_.write(out, *view_);
    std::set<std::int32_t> ranks;
    for (const auto& [rank, axes] : axes_) ranks.insert(rank);
    write_first(out, comparing_->result(), ranks);
  }

 private:
  static constexpr std::int64_t kAround = 32;
  static constexpr int kMaxRounds = 50;

  // The hash trees of each rank: one of its processes, or of its files.
  void read_axes(const JobView& view, ScanPlan plan) {
    attempt_.choose(view, plan);
    std::map<std::int32_t, std::set<std::string>> axes;
    for (std::size_t s = 0; s < view.snapshot().streams().size(); ++s) {
      for (const StreamJoin& join : view.joins(s)) {
        const std::string axis = iteration_axis(*join.attributes);
        if (!join.rank || axis.empty()) continue;
        if (judge(plan.predicate, join, nullptr, nullptr) == Verdict::never) continue;
        axes[*join.rank].insert(axis);
      }
    }
    axes_.assign(axes.begin(), axes.end());
  }

  Result<std::vector<IterationNode>> nodes_of(BlockingToken& token, JobView& view, std::size_t rank,
                                              unsigned level, std::int64_t first,
                                              std::int64_t last) const {
    std::map<std::int64_t, std::uint64_t> sums;
    for (const std::string& axis : axes_[rank].second) {
      LGR_TRY(auto nodes, view.snapshot().iteration_nodes(token, axis, level, first, last));
      if (axes_[rank].second.size() == 1) return nodes;
      for (const IterationNode& node : nodes) sums[node.node] += node.hash;
    }
    std::vector<IterationNode> out;
    for (const auto& [node, hash] : sums) out.push_back({node, hash & kHashMask});
    return out;
  }

  std::vector<std::pair<std::int32_t, std::set<std::string>>> axes_;
  std::int64_t from_ = kOutside;
  std::optional<HashDivergence> found_;
  int rounds_ = 0;
};

}  // namespace

std::unique_ptr<FoldAnswer> first_answer(PeerRule rule, std::size_t limit, bool attempt_stated) {
  return std::make_unique<FirstAnswer>(std::move(rule), limit, attempt_stated);
}

}  // namespace logarithm::aggregator
