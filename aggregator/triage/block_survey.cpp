#include "aggregator/triage/block_survey.h"

#include <string_view>
#include <utility>
#include <variant>

#include "aggregator/triage/block_events.h"
#include "aggregator/triage/checkpoints.h"
#include "aggregator/triage/time_unit.h"
#include "aggregator/triage/told_times.h"

namespace logarithm::aggregator::triage {
namespace {

void add_mention(const Line& line, BlockSurvey& out) {
  const std::int64_t *pid = nullptr, *rank = nullptr, *local_rank = nullptr;
  for (const MetaPair& pair : line.meta) {
    const auto* whole = std::get_if<std::int64_t>(&pair.value);
    if (pair.key == "pid") pid = whole;
    if (pair.key == "rank") rank = whole;
    if (pair.key == "local_rank") local_rank = whole;
  }
  if (pid == nullptr || rank == nullptr || local_rank == nullptr) return;
  if (out.mentions.size() < kMentions) out.mentions.push_back({*pid, *rank});
}

// Numbers without a unit in their name: the line says it behind them, or they are no times.
Status name_units(BlockingToken& token, JobView& view, const BlockRef& block,
                  std::map<std::string, Metric>& metrics) {
  for (auto metric = metrics.begin(); metric != metrics.end();) {
    const std::string& key = metric->first;
    if (!may_be_duration(key) || metric->second.samples.empty()) {
      ++metric;
      continue;
    }
    const TemplateId id = metric->second.samples.back().template_id;
    LGR_TRY(auto text, view.snapshot().template_text(token, block.shard, id));
    const std::string_view unit = text ? unit_behind(*text, key) : std::string_view();
    if (!unit.empty()) metrics.emplace(key + std::string(unit), std::move(metric->second));
    metric = metrics.erase(metric);
  }
  return {};
}

// What the header alone says of the lines that were not looked at.
void add_rest(const BlockHeader& header, RankSurvey& out) {
  out.lines = header.lines;
  out.first = header.time.min;
  out.last = header.time.max;
  for (const FieldStats& field : header.fields) {
    if (field.type == MetaType::float64) out.metrics[field.key].finite_before = true;
  }
}

}  // namespace

Result<std::shared_ptr<const BlockSurvey>> survey_block(BlockingToken& token, JobView& view,
                                                        const BlockRef& block, Depth depth) {
  auto out = std::make_shared<BlockSurvey>();
  auto looked_at = look_at(token, view, block, depth);
  if (!looked_at.ok()) {
    if (!view.note_damage(block, looked_at.error())) return looked_at.error();
    return std::shared_ptr<const BlockSurvey>(std::move(out));
  }
  const StreamId& stream = view.snapshot().streams()[block.stream].id;
  EventDates dates(*out);
  Teller teller;
  TimedKeys timed;
  const std::vector<Line>& lines = looked_at->lines;
  note_ignored(lines, *out);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    RankSurvey& rank = out->ranks[line.wrapper_rank];
    const bool ignored = out->ignored.contains(line.head);
    if (i >= looked_at->recent) {
      if (!ignored) add_tail(stream, line, rank);
      add_line(stream, line, timed, rank);
      teller.add(stream, line);
    } else {
      add_iteration(line, rank);
    }
    if (!ignored) add_events(stream, line, *out);
    dates.add(line);
    if (line.meta.size() >= 3) add_mention(line, *out);
  }
  count_routine(lines, *out);
  if (!looked_at->whole) add_rest(looked_at->header, out->ranks[std::nullopt]);
  LGR_CHECK(teller.finish(token, view, block, out->told));
  for (auto& [rank, survey] : out->ranks) {
    LGR_CHECK(name_units(token, view, block, survey.metrics));
    for (const auto& [id, starts] : survey.arrivals) {
      if (out->texts.contains(id)) continue;
      LGR_TRY(auto text, view.snapshot().template_text(token, block.shard, id));
      out->texts.emplace(id, text.value_or(""));
    }
    trim_tail(survey.tail);
  }
  LGR_CHECK(note_checkpoints(token, view, block, *out));
  return std::shared_ptr<const BlockSurvey>(std::move(out));
}

}  // namespace logarithm::aggregator::triage
