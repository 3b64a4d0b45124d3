#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "aggregator/compare/hash_descent.h"
#include "aggregator/http/against_task.h"
#include "aggregator/http/api.h"
#include "aggregator/http/compare_views.h"
#include "aggregator/http/fold_task.h"
#include "aggregator/http/plan_params.h"
#include "aggregator/http/problem.h"
#include "aggregator/http/request_params.h"
#include "aggregator/http/views.h"
#include "aggregator/query/filters.h"
#include "aggregator/query/judge.h"
#include "aggregator/store/iteration_hash.h"

namespace logarithm::aggregator {
namespace {

constexpr std::uint64_t kDefaultDepartures = 100, kMaxDepartures = 1000;
constexpr std::uint64_t kDefaultRows = 1000, kMaxRows = 10'000, kDefaultContext = 2;

// What the two kinds of comparison share: one attempt, and which.
class OneAttempt {
 public:
  // `stated`: the request's own, which its plan has.
  explicit OneAttempt(bool stated) : stated_(stated) {}
  void choose(const JobView& view, ScanPlan& plan) {
    if (stated_) return;
    attempt_ = newest_attempt(view);
    if (attempt_) narrow_to(plan, "attempt", {Interval{*attempt_, *attempt_}});
  }
  const std::optional<std::int32_t>& attempt() const { return attempt_; }
  void write(JsonWriter& out, const JobView& view) const {
    out.key("job").string(view.job());
    out.optional_integer("attempt", attempt_);
  }

 private:
  bool stated_;
  std::optional<std::int32_t> attempt_;
};

class CompareAnswer final : public FoldAnswer {
 public:
  CompareAnswer(PeerRule rule, std::size_t limit, bool attempt_stated)
      : rule_(std::move(rule)), limit_(limit), attempt_(attempt_stated) {}

  Status narrow(BlockingToken&, JobView& view, ScanPlan& plan) override {
    attempt_.choose(view, plan);
    return {};
  }

  Result<LineSink*> open(const JobView& view, const ScanPlan&) override {
    view_ = &view;
    survey_ = std::make_unique<RankSurvey>(view, attempt_.attempt());
    return static_cast<LineSink*>(survey_.get());
  }

  Result<bool> finish(BlockingToken& token, JobView& view,
                      const std::function<bool()>& time_is_up) override {
    if (!comparing_) comparing_ = std::make_unique<Comparing>(*survey_, rule_, limit_);
    return comparing_->step(token, view, time_is_up);
  }

  void write(JsonWriter& out) override {
    attempt_.write(out, *view_);
    write_comparison(out, comparing_->result());
    out.key("lines").count(survey_->lines());
    out.key("without_rank").count(survey_->without_rank());
    if (survey_->values_left_out() > 0) {
      out.key("values_left_out").count(survey_->values_left_out());
    }
  }

 private:
  PeerRule rule_;
  std::size_t limit_;
  OneAttempt attempt_;
  const JobView* view_ = nullptr;
  std::unique_ptr<RankSurvey> survey_;
  std::unique_ptr<Comparing> comparing_;
};

// The first divergence alone: the hashes say where, and only the lines around that are read.
class FirstAnswer final : public FoldAnswer {
 public:
  FirstAnswer(PeerRule rule, std::size_t limit, bool attempt_stated)
      : rule_(std::move(rule)), limit_(limit), attempt_(attempt_stated) {}

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

  Result<LineSink*> open(const JobView& view, const ScanPlan&) override {
    view_ = &view;
    survey_ = std::make_unique<RankSurvey>(view, attempt_.attempt());
    comparing_.reset();
    return static_cast<LineSink*>(survey_.get());
  }

  Result<bool> finish(BlockingToken& token, JobView& view,
                      const std::function<bool()>& time_is_up) override {
    if (!comparing_) comparing_ = std::make_unique<Comparing>(*survey_, rule_, limit_);
    return comparing_->step(token, view, time_is_up);
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

  PeerRule rule_;
  std::size_t limit_;
  OneAttempt attempt_;
  const JobView* view_ = nullptr;
  std::vector<std::pair<std::int32_t, std::set<std::string>>> axes_;
  std::int64_t from_ = kOutside;
  std::optional<HashDivergence> found_;
  int rounds_ = 0;
  std::unique_ptr<RankSurvey> survey_;
  std::unique_ptr<Comparing> comparing_;
};

// Gives lines to two sinks.
class BothSinks final : public LineSink {
 public:
  BothSinks(LineSink& a, LineSink& b) : a_(a), b_(b) {}
  BlockPart parts() const override { return a_.parts() | b_.parts(); }
  Status take(const Line& line, const StreamJoin& join, const BlockRef& block) override {
    LGR_CHECK(a_.take(line, join, block));
    return b_.take(line, join, block);
  }

 private:
  LineSink& a_;
  LineSink& b_;
};

class PairAnswer final : public FoldAnswer {
 public:
  PairAnswer(std::array<std::int32_t, 2> ranks, std::size_t limit, std::size_t context,
             bool attempt_stated)
      : ranks_(ranks), limit_(limit), context_(context), attempt_(attempt_stated) {}

  Status narrow(BlockingToken&, JobView& view, ScanPlan& plan) override {
    attempt_.choose(view, plan);
    return {};
  }

  Result<LineSink*> open(const JobView& view, const ScanPlan&) override {
    view_ = &view;
    survey_ = std::make_unique<RankSurvey>(view, attempt_.attempt());
    lines_ = std::make_unique<PairLines>(view, ranks_, attempt_.attempt());
    both_ = std::make_unique<BothSinks>(*survey_, *lines_);
    return static_cast<LineSink*>(both_.get());
  }

  Result<bool> finish(BlockingToken& token, JobView& view,
                      const std::function<bool()>& time_is_up) override {
    if (!comparing_) {
      PeerRule all;
      all.kind = PeerRule::Kind::all;
      comparing_ = std::make_unique<Comparing>(*survey_, all, std::size_t{1});
    }
    LGR_TRY(bool done, comparing_->step(token, view, time_is_up));
    if (!done) return false;
    rows_ = lay_side_by_side(*lines_, comparing_->groups());
    return true;
  }

  void write(JsonWriter& out) override {
    attempt_.write(out, *view_);
    write_consensus(out, comparing_->result());
    PairView pair;
    pair.ranks = ranks_;
    pair.left = &lines_->side(0);
    pair.right = &lines_->side(1);
    pair.rows = &rows_;
    pair.limit = limit_;
    pair.context = context_;
    write_pair(out, pair);
  }

 private:
  std::array<std::int32_t, 2> ranks_;
  std::size_t limit_, context_;
  OneAttempt attempt_;
  const JobView* view_ = nullptr;
  std::unique_ptr<RankSurvey> survey_;
  std::unique_ptr<PairLines> lines_;
  std::unique_ptr<BothSinks> both_;
  std::unique_ptr<Comparing> comparing_;
  std::vector<PairRow> rows_;
};

// "0-7;8-15": classes of ranks, one a part.
Result<PeerRule> parse_peers(std::string_view text) {
  PeerRule rule;
  if (text == "auto" || text.empty()) return rule;
  rule.kind = PeerRule::Kind::all;
  if (text == "all") return rule;
  rule.kind = PeerRule::Kind::host;
  if (text == "host") return rule;
  rule.kind = PeerRule::Kind::local_rank;
  if (text == "local_rank") return rule;
  rule.kind = PeerRule::Kind::given;
  constexpr std::int64_t kMostRanks = 1'000'000;
  while (!text.empty()) {
    const std::size_t cut = std::min(text.find(';'), text.size());
    std::size_t position = 0;
    auto intervals = parse_intervals(text.substr(0, cut), position);
    if (!intervals.ok()) {
      return Error(ErrorCode::invalid,
                   "peers is auto, all, host, local_rank, or ranks like 0-7;8-15");
    }
    std::set<std::int32_t> ranks;
    for (const Interval& interval : *intervals) {
      if (interval.min < 0 || interval.max > kMostRanks) {
        return Error(ErrorCode::invalid, "peers: ranks are from 0 to 1000000");
      }
      for (std::int64_t rank = interval.min; rank <= interval.max; ++rank) {
        ranks.insert(static_cast<std::int32_t>(rank));
      }
    }
    rule.given.push_back(std::move(ranks));
    text.remove_prefix(std::min(cut + 1, text.size()));
  }
  return rule;
}

// The two ranks of "0,3", in their order; nullopt for any other set.
std::optional<std::array<std::int32_t, 2>> two_ranks(const std::vector<Interval>& intervals) {
  std::vector<std::int64_t> ranks;
  for (const Interval& interval : intervals) {
    if (interval.min < INT32_MIN || interval.max > INT32_MAX) return std::nullopt;
    if (interval.max - interval.min > 1) return std::nullopt;
    for (std::int64_t rank = interval.min; rank <= interval.max; ++rank) ranks.push_back(rank);
  }
  if (ranks.size() != 2 || ranks[0] == ranks[1]) return std::nullopt;
  return std::array<std::int32_t, 2>{static_cast<std::int32_t>(ranks[0]),
                                     static_cast<std::int32_t>(ranks[1])};
}

// An attempt that a request names by one number.
Result<std::optional<std::int32_t>> one_attempt(const net::Request& request,
                                                std::string_view name) {
  if (!request.param(name)) return std::optional<std::int32_t>();
  LGR_TRY(std::uint64_t number, number_param(request, name, 0, 0, INT32_MAX));
  return std::optional<std::int32_t>(static_cast<std::int32_t>(number));
}

// This run and the one it is compared with. With an attempt of the same job, `attempt` is one
// number.
Result<std::array<AgainstTask::Side, 2>> read_sides(const Call& call, const ScanPlan& plan,
                                                    const Named& named) {
  std::array<AgainstTask::Side, 2> sides;
  sides[0].job = sides[1].job = JobKey{call.tenant, call.capture};
  LGR_TRY(sides[0].attempt, one_attempt(call.request, "attempt"));
  LGR_TRY(sides[1].attempt, one_attempt(call.request, "against_attempt"));
  if (const auto other = call.request.param("against_job")) sides[1].job.job = *other;
  // The filters hold for both; the attempt is each side's own.
  for (AgainstTask::Side& side : sides) {
    side.plan = plan;
    side.named = named;
  }
  return sides;
}

// What the kind of comparison that is asked for would pass over; else nullopt.
std::optional<net::Response> refuse_unused(const net::Request& request, bool against, bool pair,
                                           bool first) {
  const auto refuse = [](const char* name, const char* why) {
    return problem(400, std::string(name) + ": " + why, std::nullopt, name);
  };
  if (against && first) return refuse("first", "is asked of one run, not of two");
  if (request.param("peers") && against) {
    return refuse("peers", "each rank is compared with itself in the other run");
  }
  if (request.param("peers") && pair && !first) {
    return refuse("peers", "the two ranks are compared with each other");
  }
  if (request.param("context") && (against || first || !pair)) {
    return refuse("context", "goes with two ranks side by side");
  }
  return std::nullopt;
}

}  // namespace

Api::Answer Api::compare(Call call) {
  const net::Request& request = call.request;
  const bool against = request.param("against_attempt") || request.param("against_job");
  ScanPlan plan;
  // Of two runs each has its own attempt.
  net::Request filters = request;
  if (against) {
    std::erase_if(filters.query, [](const auto& param) { return param.first == "attempt"; });
  }
  if (auto refused = read_filters(filters, queries_.clock().wall_now(), plan)) {
    co_return std::move(*refused);
  }
  std::optional<std::array<std::int32_t, 2>> pair;
  if (const auto ranks = request.param("ranks"); ranks && *ranks != "all") {
    std::size_t position = 0;
    auto intervals = parse_intervals(*ranks, position);
    if (!intervals.ok()) {
      co_return problem(400, intervals.error().message(), position, "ranks");
    }
    pair = two_ranks(*intervals);
    narrow_to(plan, "rank", std::move(*intervals));
  }
  auto rule = parse_peers(request.param("peers").value_or(""));
  if (!rule.ok()) co_return problem(400, rule.error().message(), std::nullopt, "peers");
  auto context = number_param(request, "context", kDefaultContext, 0, kMaxRows);
  if (!context.ok()) co_return problem(400, context.error().message(), std::nullopt, "context");
  auto limit = pair ? number_param(request, "limit", kDefaultRows, 1, kMaxRows)
                    : number_param(request, "limit", kDefaultDepartures, 1, kMaxDepartures);
  if (!limit.ok()) co_return problem(400, limit.error().message(), std::nullopt, "limit");
  auto first = bool_param(request, "first", false);
  if (!first.ok()) co_return problem(400, first.error().message(), std::nullopt, "first");
  if (auto refused = refuse_unused(request, against, pair.has_value(), *first)) {
    co_return std::move(*refused);
  }
  const bool stated = request.param("attempt").has_value();
  if (against) {
    auto sides = read_sides(call, plan, named_in(filters));
    if (!sides.ok()) co_return problem(400, sides.error().message());
    auto place = queries_.try_admit();
    if (!place) co_return too_many_queries();
    const JobKey job = (*sides)[0].job;
    const auto most = static_cast<std::size_t>(std::min(*limit, kMaxDepartures));
    auto task = std::make_shared<AgainstTask>(storage_, std::move(*sides), most);
    auto running = queries_.run(task);
    Status status = co_await std::move(running);
    if (!status.ok()) co_return problem_of(status.error());
    JsonWriter& out = task->out();
    out.key("completeness");
    write_completeness(out, completeness(job, task->view(), task->predicate()));
    out.end_object();
    net::Response response;
    response.body = out.take();
    co_return response;
  }
  std::unique_ptr<FoldAnswer> answer;
  if (*first) {
    answer = std::make_unique<FirstAnswer>(std::move(*rule), *limit, stated);
  } else if (pair) {
    answer = std::make_unique<PairAnswer>(*pair, *limit, *context, stated);
  } else {
    answer = std::make_unique<CompareAnswer>(std::move(*rule), *limit, stated);
  }
  auto folding = folded(std::move(call), std::move(plan), std::move(answer));
  co_return co_await std::move(folding);
}

}  // namespace logarithm::aggregator
