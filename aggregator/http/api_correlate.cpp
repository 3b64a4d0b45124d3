#include <array>
#include <map>
#include <set>
#include <utility>

#include "aggregator/compare/correlation.h"
#include "aggregator/http/api.h"
#include "aggregator/http/lines_task.h"
#include "aggregator/http/named.h"
#include "aggregator/http/plan_params.h"
#include "aggregator/http/problem.h"
#include "aggregator/http/request_params.h"
#include "aggregator/http/views.h"
#include "aggregator/query/logql_parser.h"
#include "aggregator/query/mark_scanner.h"
#include "aggregator/query/match_cache.h"

namespace logarithm::aggregator {
namespace {

constexpr std::uint64_t kDefaultPairs = 100, kMaxPairs = 10'000;

struct CorrelateRequest {
  JobKey job;
  Named named;
  std::array<ScanPlan, 2> plans;  // of the first lines, and of the second
  CorrelateBy by = CorrelateBy::rank;
  Within within;
  std::size_t limit = 0;
  std::size_t memory = 256u << 20;
};

// Merges the two scans in the order of their lines, then reads the lines that are told.
class CorrelateTask final : public QueryTask {
 public:
  CorrelateTask(Storage& storage, MatchCache& cache, CorrelateRequest request)
      : storage_(storage), cache_(cache), request_(std::move(request)) {}

  Result<bool> step(BlockingToken& token, const std::function<bool()>& time_is_up) override {
    if (!view_) LGR_CHECK(open(token));
    if (!looked_ahead_) {
      LGR_TRY(looked_ahead_, look_ahead(token, time_is_up));
      if (!looked_ahead_) return false;
    }
    if (!paired_) {
      LGR_TRY(paired_, pair_up(token, time_is_up));
      if (!paired_) return false;
      note_wanted();
    }
    while (!wanted_.empty()) {
      if (time_is_up()) return false;
      LGR_CHECK(read_some(token));
    }
    write();
    return true;
  }

  JsonWriter& out() { return out_; }
  const JobView& view() const { return *view_; }
  const Predicate& predicate(std::size_t side) const { return request_.plans[side].predicate; }

 private:
  static constexpr std::size_t kTurnRows = 1024, kFew = 20'000;
  struct Side {
    std::unique_ptr<MarkScanner> scanner;
    std::vector<Mark> rows;
    std::size_t next = 0;
    bool finished = false;
  };

  Status open(BlockingToken& token) {
    LGR_TRY(view_, open_job(token, storage_, request_.job));
    LGR_CHECK(check_named(*view_, request_.named));
    MarkLimits limits;
    limits.memory = request_.memory / 2;
    limits.cache = &cache_;
    if (request_.by == CorrelateBy::gpu) limits.word_key = Correlation::kDeviceKey;
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      sides_[i].scanner = std::make_unique<MarkScanner>(*view_, request_.plans[i], limits);
    }
    correlation_ =
        std::make_unique<Correlation>(*view_, request_.by, request_.within, request_.limit);
    return {};
  }

  // Where the first lines are few, the second ones are read only where they can be paired. False:
  // call again.
  Result<bool> look_ahead(BlockingToken& token, const std::function<bool()>& time_is_up) {
    Side &first = sides_[0], &then = sides_[1];
    ScanTurn turn;
    turn.time_is_up = time_is_up;
    while (!first.finished && first.rows.size() < kFew) {
      if (time_is_up()) return false;
      turn.max_rows = kFew - first.rows.size();
      LGR_TRY(const ScanState state, first.scanner->next(token, turn, first.rows));
      first.finished = state == ScanState::finished;
    }
    if (!first.finished) return true;
    auto strangers = correlation_->strangers_to(first.rows);
    const auto wanted = [strangers = std::move(strangers)](const StreamJoin& join) {
      return !strangers(join);
    };
    then.scanner->give_only(wanted, request_.within.iterations.has_value());
    return true;
  }

  // False: call again.
  Result<bool> pair_up(BlockingToken& token, const std::function<bool()>& time_is_up) {
    while (true) {
      for (Side& side : sides_) {
        if (side.next < side.rows.size() || side.finished) continue;
        if (time_is_up()) return false;
        LGR_CHECK(fill(token, side, time_is_up));
        if (side.rows.empty() && !side.finished) return false;
      }
      LGR_TRY(bool more, take_one());
      if (!more) return true;
    }
  }

  Status fill(BlockingToken& token, Side& side, const std::function<bool()>& time_is_up) {
    side.rows.clear();
    side.next = 0;
    ScanTurn turn;
    turn.max_rows = kTurnRows;
    turn.time_is_up = time_is_up;
    LGR_TRY(ScanState state, side.scanner->next(token, turn, side.rows));
    side.finished = state == ScanState::finished;
    return {};
  }

  // The earlier of the two next lines; false at the end. A line that is both is a second one first:
  // it is no pair with itself.
  Result<bool> take_one() {
    Side &first = sides_[0], &then = sides_[1];
    const bool has_first = first.next < first.rows.size();
    const bool has_then = then.next < then.rows.size();
    // Without second lines to come nothing can be paired any more, but firsts are counted.
    if (!has_first && !has_then) return false;
    if (has_then &&
        (!has_first || key_of(then.rows[then.next]) <= key_of(first.rows[first.next]))) {
      correlation_->add_then(then.rows[then.next++]);
      return true;
    }
    LGR_CHECK(correlation_->add_first(first.rows[first.next++]));
    return true;
  }

  void note_wanted() {
    correlation_->count_thens(sides_[1].scanner->counted());
    pairs_ = correlation_->take_pairs();
    for (const CorrelatedPair& pair : pairs_) {
      wanted_[pair.first.join->stream].insert(pair.first.offset);
      wanted_[pair.then.join->stream].insert(pair.then.offset);
    }
  }

  // The lines of the next block that has some.
  Status read_some(BlockingToken& token) {
    const auto at = wanted_.begin();
    const std::vector<std::uint64_t> offsets(at->second.begin(), at->second.end());
    LGR_TRY(std::vector<Line> lines, lines_at(token, *view_, at->first, offsets));
    for (Line& line : lines) {
      at->second.erase(line.offset);
      const auto key = std::make_pair(at->first, line.offset);
      lines_.emplace(key, std::move(line));
    }
    if (lines.empty()) at->second.erase(offsets.front());
    if (at->second.empty()) wanted_.erase(at);
    return {};
  }

  // Of a block that turned out to be damaged only the mark is left.
  void write_marked(const Mark& mark) {
    const auto found = lines_.find({mark.join->stream, mark.offset});
    if (found != lines_.end()) return write_line(out_, found->second, *mark.join);
    Line line;
    line.offset = line.head = mark.offset;
    line.time = line.observed = mark.time;
    line.iteration = mark.iteration;
    line.wrapper_rank = mark.wrapper_rank;
    write_line(out_, line, *mark.join);
  }

  void write() {
    out_.begin_object().key("job").string(request_.job.job);
    out_.key("by").string(to_string(request_.by));
    out_.key("pairs").begin_array();
    for (const CorrelatedPair& pair : pairs_) {
      const Mark &a = pair.first, &b = pair.then;
      out_.begin_object().key(to_string(request_.by));
      if (request_.by == CorrelateBy::rank) {
        out_.integer(*rank_of(a));
      } else {
        out_.string(pair.key);
      }
      if (a.iteration && b.iteration) out_.key("iterations").integer(*b.iteration - *a.iteration);
      out_.key("seconds").real(static_cast<double>(b.time - a.time) / 1e9);
      out_.key("first");
      write_marked(a);
      out_.key("then");
      write_marked(b);
      out_.end_object();
    }
    out_.end_array();
    out_.key("count").count(correlation_->pairs());
    out_.key("firsts").count(correlation_->firsts());
    out_.key("thens").count(correlation_->thens());
    out_.key("without_key").count(correlation_->without_key());
    out_.key("without_iteration").count(correlation_->without_iteration());
  }

  Storage& storage_;
  MatchCache& cache_;
  CorrelateRequest request_;
  std::unique_ptr<JobView> view_;
  std::array<Side, 2> sides_;
  std::unique_ptr<Correlation> correlation_;
  bool looked_ahead_ = false, paired_ = false;
  std::vector<CorrelatedPair> pairs_;
  std::map<std::size_t, std::set<std::uint64_t>> wanted_;  // offsets by stream, not read yet
  std::map<std::pair<std::size_t, std::uint64_t>, Line> lines_;
  JsonWriter out_;
};

// Adds a LogQL query to a plan; else the 400 that says where it is wrong.
std::optional<net::Response> add_query(const net::Request& request, std::string_view name,
                                       ScanPlan& plan) {
  const auto text = request.param(name);
  if (!text) {
    return problem(400, std::string(name) + " is needed: a LogQL query", std::nullopt,
                   std::string(name));
  }
  std::size_t position = 0;
  auto parsed = parse_logql(*text, position);
  if (!parsed.ok()) {
    return problem(400,
                   std::string(name) + ": " + parsed.error().message() + " at position " +
                       std::to_string(position),
                   position, std::string(name));
  }
  std::vector<Predicate> both;
  both.push_back(plan.predicate);
  both.push_back(std::move(parsed).value());
  plan.predicate = predicate::all_of(std::move(both));
  plan.direction = Direction::forward;
  return std::nullopt;
}

}  // namespace

Api::Answer Api::correlate(Call call) {
  const net::Request& request = call.request;
  CorrelateRequest asked;
  asked.job = JobKey{call.tenant, call.capture};
  ScanPlan plan;
  if (auto refused = read_filters(request, queries_.clock().wall_now(), plan)) {
    co_return std::move(*refused);
  }
  asked.named = named_in(request);
  asked.plans = {plan, plan};
  if (auto refused = add_query(request, "first", asked.plans[0])) co_return std::move(*refused);
  if (auto refused = add_query(request, "then", asked.plans[1])) co_return std::move(*refused);
  const auto by = parse_correlate_by(request.param("by").value_or("rank"));
  if (!by) co_return problem(400, "by is rank, host or gpu", std::nullopt, "by");
  asked.by = *by;
  auto within = parse_within(request.param("within").value_or("1i"));
  if (!within.ok()) co_return problem(400, within.error().message(), std::nullopt, "within");
  asked.within = *within;
  auto limit = number_param(request, "limit", kDefaultPairs, 1, kMaxPairs);
  if (!limit.ok()) co_return problem(400, limit.error().message(), std::nullopt, "limit");
  asked.limit = static_cast<std::size_t>(*limit);

  auto place = queries_.try_admit();
  if (!place) co_return too_many_queries();
  asked.memory = queries_.memory_share();
  const JobKey job = asked.job;
  auto task = std::make_shared<CorrelateTask>(storage_, *matches_, std::move(asked));
  auto running = queries_.run(task);
  Status status = co_await std::move(running);
  if (!status.ok()) co_return problem_of(status.error());
  JsonWriter& out = task->out();
  out.key("completeness");
  std::vector<Predicate> either;
  either.push_back(task->predicate(0));
  either.push_back(task->predicate(1));
  const Predicate any = predicate::any_of(std::move(either));
  write_completeness(out, completeness(job, task->view(), any));
  out.end_object();
  net::Response response;
  response.body = out.take();
  co_return response;
}

}  // namespace logarithm::aggregator
