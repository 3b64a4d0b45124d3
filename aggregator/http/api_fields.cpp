#include <charconv>

#include "aggregator/http/api.h"
#include "aggregator/http/fold_task.h"
#include "aggregator/http/plan_params.h"
#include "aggregator/http/problem.h"
#include "aggregator/http/request_params.h"
#include "aggregator/query/field_survey.h"

namespace logarithm::aggregator {
namespace {

class FieldsAnswer final : public FoldAnswer {
 public:
  explicit FieldsAnswer(std::uint64_t top) : top_(top) {}

  Result<LineSink*> open(const JobView&, const ScanPlan&) override {
    return static_cast<LineSink*>(&survey_);
  }

  void write(JsonWriter& out) override {
    out.key("lines").count(survey_.lines());
    out.key("fields").begin_array();
    for (const FieldFacts& field : survey_.finish()) {
      out.begin_object().key("name").string(field.name);
      out.key("kind").string(field.is_metadata ? "metadata" : "column");
      out.key("count").count(field.count());
      out.key("types").begin_array();
      for (const ValueFacts& facts : field.types) write_type(out, facts);
      out.end_array().end_object();
    }
    out.end_array();
    out.key("pairs_left_out").count(survey_.pairs_left_out());
  }

 private:
  void write_type(JsonWriter& out, const ValueFacts& facts) const {
    out.begin_object().key("type").string(to_string(facts.type));
    out.key("count").count(facts.count);
    if (facts.points > 0) out.key("points").count(facts.points);
    if (facts.counted) {
      out.key("distinct").count(facts.values.distinct());
      out.key("exact").boolean(facts.values.exact());
    }
    if (facts.integers) {
      const bool time = facts.type == ValueType::time;
      out.key("min");
      time ? out.time(facts.integers->min) : out.integer(facts.integers->min);
      out.key("max");
      time ? out.time(facts.integers->max) : out.integer(facts.integers->max);
    }
    if (facts.type == ValueType::real) {
      if (facts.reals) out.key("min").real(facts.reals->min).key("max").real(facts.reals->max);
      out.key("has_nan").boolean(facts.has_nan);
    }
    const bool shows_top = facts.type == ValueType::string || facts.type == ValueType::integer;
    if (shows_top && facts.counted && facts.values.exact()) write_top(out, facts);
    out.end_object();
  }

  void write_top(JsonWriter& out, const ValueFacts& facts) const {
    out.key("top").begin_array();
    for (const ValueSample::Value& value : facts.values.top(top_)) {
      out.begin_object().key("value");
      if (facts.type == ValueType::integer) {
        std::int64_t number = 0;
        std::from_chars(value.text.data(), value.text.data() + value.text.size(), number);
        out.integer(number);
      } else {
        out.string(value.text);
      }
      if (value.cut) out.key("cut").boolean(true);
      out.key("count").count(value.count).end_object();
    }
    out.end_array();
  }

  std::uint64_t top_;
  FieldSurvey survey_;
};

}  // namespace

Api::Answer Api::fields(Call call) {
  const net::Request& request = call.request;
  ScanPlan plan;
  if (auto refused = read_filters(request, queries_.clock().wall_now(), plan)) {
    co_return std::move(*refused);
  }
  auto top = number_param(request, "top", 10, 0, 1000);
  if (!top.ok()) co_return problem(400, top.error().message(), std::nullopt, "top");
  std::unique_ptr<FoldAnswer> answer = std::make_unique<FieldsAnswer>(*top);
  auto folding = folded(std::move(call), std::move(plan), std::move(answer));
  co_return co_await std::move(folding);
}

}  // namespace logarithm::aggregator
