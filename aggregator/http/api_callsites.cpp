#include "aggregator/compare/job_groups.h"
#include "aggregator/http/api.h"
#include "aggregator/http/compare_views.h"
#include "aggregator/http/fold_task.h"
#include "aggregator/http/plan_params.h"
#include "aggregator/http/problem.h"
#include "aggregator/http/request_params.h"
#include "aggregator/http/views.h"
#include "aggregator/query/site_survey.h"

namespace logarithm::aggregator {
namespace {

constexpr std::uint64_t kDefaultSites = 100, kMaxShownSites = 1000;

void write_sum(JsonWriter& out, const LineSum& sum) {
  out.key("lines").count(sum.lines).key("bytes").big(sum.bytes);
}

class CallsitesAnswer final : public FoldAnswer {
 public:
  explicit CallsitesAnswer(std::uint64_t limit) : limit_(limit) {}

  Result<LineSink*> open(const JobView&, const ScanPlan&) override {
    return static_cast<LineSink*>(&survey_);
  }

  Result<bool> finish(BlockingToken& token, JobView& view,
                      const std::function<bool()>& time_is_up) override {
    if (!answer_) {
      if (!opened_) {
        LGR_CHECK(groups_.open(token, view));
        for (const SiteSurvey::Unnamed& one : survey_.unnamed()) {
          if (!groups_.knows(one.id)) unknown_.push_back({one.id, one.block, one.offset});
        }
        opened_ = true;
      }
      LGR_TRY(bool all, groups_.add_lines(token, view, unknown_, time_is_up));
      if (!all) return false;
      groups_.build();
      survey_.regroup([&](TemplateId id) { return groups_.groups().group_of(id); });
      answer_ = survey_.finish(limit_);
    }
    for (; named_ < answer_->sites.size(); ++named_) {
      if (time_is_up()) return false;
      Site& site = answer_->sites[named_];
      // A group shows where its templates differ.
      const bool alone = site.templates == std::vector<TemplateId>{site.template_id};
      if (site.callsite.empty() && !alone) {
        site.text = groups_.groups().text_of(site.template_id);
      }
      LGR_CHECK(SiteSurvey::name(token, view, site));
    }
    return true;
  }

  void write(JsonWriter& out) override {
    out.key("callsites").begin_array();
    for (const Site& site : answer_->sites) write_site(out, site);
    out.end_array();
    out.key("total").begin_object();
    write_sum(out, answer_->total);
    out.end_object().key("other").begin_object();
    out.key("callsites").count(answer_->other_sites);
    write_sum(out, answer_->other);
    out.end_object();
    out.key("ranks").string(compress(answer_->ranks));
  }

 private:
  // Frequent, from every rank, in nearly every iteration, never a warning, and not what tells the
  // iteration: nobody would miss it.
  bool is_noise(const Site& site, const std::set<std::int32_t>& missing) const {
    const bool frequent = site.sum.lines * 100 >= answer_->total.lines;
    return frequent && missing.empty() && answer_->ranks.size() > 1 && answer_->cells >= 10 &&
           site.cells * 10 >= answer_->cells * 9 && site.severity < Severity::warning &&
           !site.says_iteration;
  }

  void write_site(JsonWriter& out, const Site& site) const {
    out.begin_object();
    out.optional_string("callsite", site.callsite);
    if (site.callsite.empty()) {
      out.key("template").string(template_text_of(site.template_id));
      out.key("text").string(site.text);
      if (site.templates.size() > 1) {
        out.key("templates").begin_array();
        for (const TemplateId id : site.templates) out.string(template_text_of(id));
        out.end_array();
      }
    }
    write_sum(out, site.sum);
    const auto all = static_cast<double>(answer_->total.bytes);
    out.key("share").real(all > 0 ? static_cast<double>(site.sum.bytes) / all : 0.0);
    std::set<std::int32_t> missing = answer_->ranks, ranks;
    for (const auto& [rank, sum] : site.ranks) {
      if (!rank) continue;
      ranks.insert(*rank);
      missing.erase(*rank);
    }
    out.key("ranks").string(compress(ranks)).key("missing").string(compress(missing));
    if (is_noise(site, missing)) out.key("noise").boolean(true);
    out.key("by_rank").begin_array();
    for (const auto& [rank, sum] : site.ranks) {
      out.begin_object().key("rank");
      rank ? out.integer(*rank) : out.null();
      write_sum(out, sum);
      out.end_object();
    }
    out.end_array();
    if (site.iteration) {
      out.key("first_iteration").integer(site.iteration->min);
      out.key("last_iteration").integer(site.iteration->max);
    }
    out.key("first_time").time(site.time.min).key("last_time").time(site.time.max);
    out.end_object();
  }

  std::uint64_t limit_;
  SiteSurvey survey_;
  JobGroups groups_;
  std::vector<TemplateSample> unknown_;
  bool opened_ = false;
  std::optional<SiteSurvey::Answer> answer_;
  std::size_t named_ = 0;
};

}  // namespace

Api::Answer Api::callsites(Call call) {
  const net::Request& request = call.request;
  ScanPlan plan;
  if (auto refused = read_filters(request, queries_.clock().wall_now(), plan)) {
    co_return std::move(*refused);
  }
  auto limit = number_param(request, "limit", kDefaultSites, 1, kMaxShownSites);
  if (!limit.ok()) co_return problem(400, limit.error().message(), std::nullopt, "limit");
  std::unique_ptr<FoldAnswer> answer = std::make_unique<CallsitesAnswer>(*limit);
  auto folding = folded(std::move(call), std::move(plan), std::move(answer));
  co_return co_await std::move(folding);
}

}  // namespace logarithm::aggregator
