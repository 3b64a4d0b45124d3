#include "aggregator/http/triage_task.h"

#include <ctime>

#include "aggregator/http/lines_task.h"
#include "aggregator/http/views.h"
#include "aggregator/triage/decide.h"
#include "aggregator/triage/evidence_texts.h"

namespace logarithm::aggregator {
namespace {

// The reserved job of streams that belong to none.
constexpr const char* kHostJob = "_host";

std::string line_id(const triage::LineRef& line) {
  return to_text(line.stream) + ":" + std::to_string(line.offset);
}

void write_first(JsonWriter& out, const std::optional<triage::First>& first) {
  out.key("first");
  if (!first) {
    out.null();
    return;
  }
  out.begin_object().key("ranks").begin_array();
  for (const std::int32_t rank : first->ranks) out.integer(rank);
  out.end_array();
  out.key("host");
  first->host.empty() ? out.null() : out.string(first->host);
  out.nullable_integer("iteration", first->iteration).nullable_time("time", first->time);
  out.key("certain").boolean(first->certain);
  out.nullable_real("margin_ms", first->margin_ms).nullable_real("error_ms", first->error_ms);
  out.end_object();
}

void write_evidence(JsonWriter& out, const triage::Evidence& evidence) {
  out.begin_object().key("claim").string(evidence.claim).key("class").string(evidence.klass);
  out.key("confidence").real(evidence.confidence).optional_integer("rank", evidence.rank);
  out.key("lines").begin_array();
  for (const triage::LineRef& line : evidence.lines) out.string(line_id(line));
  out.end_array().optional_string("text", evidence.text).end_object();
}

void write_hardware(JsonWriter& out, const triage::Hardware& row) {
  out.begin_object().key("kind").string(row.kind).optional_string("host", row.host);
  out.optional_string("device", row.device).optional_integer("rank", row.rank);
  out.optional_integer("code", row.code).key("time").time(row.time);
  out.key("line").string(line_id(row.line)).end_object();
}

}  // namespace

void write_verdict(JsonWriter& out, const triage::Facts& facts, const triage::Verdict& verdict) {
  out.key("job").string(facts.job).key("attempt");
  facts.attempt ? out.integer(*facts.attempt) : out.null();
  out.key("verdict").string(verdict.verdict).key("kind").string(verdict.kind);
  out.key("phase").string(verdict.phase);
  write_first(out, verdict.first);
  out.key("cascade").begin_object().key("ranks").string(compress(verdict.cascade));
  out.key("count").count(verdict.cascade.size()).end_object();
  out.key("silent").begin_array();
  for (const auto& silent : verdict.silent) {
    out.begin_object().key("rank").integer(silent.rank).key("since").time(silent.since);
    out.end_object();
  }
  out.end_array().key("stragglers").begin_array();
  for (const auto& late : verdict.stragglers) {
    out.begin_object().key("rank").integer(late.rank).key("late_ms").real(late.late_ms);
    out.end_object();
  }
  out.end_array().key("hardware").begin_array();
  for (const auto& row : verdict.hardware) write_hardware(out, row);
  out.end_array().key("not_captured").begin_array();
  for (const auto& row : verdict.not_captured) {
    out.begin_object().key("rank").integer(row.rank).key("stream").string(row.stream);
    out.key("why").string(row.why).end_object();
  }
  out.end_array().key("evidence").begin_array();
  for (const auto& evidence : verdict.evidence) write_evidence(out, evidence);
  out.end_array().key("summary").string(verdict.summary);
}

namespace {

std::chrono::nanoseconds thread_cpu() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

Result<bool> TriageTask::step(BlockingToken& token, const std::function<bool()>& time_is_up) {
  const auto before = thread_cpu();
  auto done = work(token, time_is_up);
  cpu_ += thread_cpu() - before;
  return done;
}

Result<bool> TriageTask::work(BlockingToken& token, const std::function<bool()>& time_is_up) {
  if (!view_) {
    LGR_TRY(view_, open_job(token, storage_, job_));
    auto hosts = open_job(token, storage_, JobKey{job_.tenant, kHostJob});
    if (hosts.ok() && job_.job != kHostJob) host_view_ = std::move(hosts).value();
    if (!hosts.ok() && hosts.error().code() != ErrorCode::not_found) return hosts.error();
    options_.clocks = [this](BlockingToken& worker, const std::string& host) {
      return storage_.clock_history(worker, job_.tenant, host);
    };
    gatherer_ = std::make_unique<triage::Gatherer>(*view_, host_view_.get(), cache_, options_);
  }
  LGR_TRY(bool gathered, gatherer_->step(token, time_is_up));
  if (!gathered) return false;
  triage::Verdict verdict = triage::decide(gatherer_->facts());
  LGR_CHECK(triage::fill_texts(token, *view_, host_view_.get(), verdict));
  out_.begin_object();
  write_verdict(out_, gatherer_->facts(), verdict);
  return true;
}

}  // namespace logarithm::aggregator
