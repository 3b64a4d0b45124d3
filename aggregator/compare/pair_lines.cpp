#include "aggregator/compare/pair_lines.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "aggregator/compare/sequence_diff.h"
#include "aggregator/query/match.h"
#include "common/line/line.h"

namespace logarithm::aggregator {
namespace {

std::uint32_t channel_of(std::string_view name) {
  if (name == "stdout") return 0;
  return name == "stderr" ? 1 : 2;
}

using Key = std::pair<std::int64_t, std::uint32_t>;
Key key_of_line(const PairLine& line) { return {line.place, line.channel}; }

// Lines [from, to) of one place and channel.
std::size_t end_of_run(const std::vector<PairLine>& lines, std::size_t from) {
  std::size_t to = from;
  while (to < lines.size() && key_of_line(lines[to]) == key_of_line(lines[from])) ++to;
  return to;
}

}  // namespace

PairLines::PairLines(const JobView& view, std::array<std::int32_t, 2> ranks,
                     std::optional<std::int32_t> attempt)
    : ranks_(ranks), attempt_(attempt) {
  for (std::size_t side = 0; side < 2; ++side)
    own_[side].numbers.insert(std::to_string(ranks[side]));
  for (const ProcessFacts& process : view.snapshot().processes()) {
    for (std::size_t side = 0; side < 2; ++side) {
      if (process.info.rank != ranks[side]) continue;
      OwnFacts& own = own_[side];
      own.numbers.insert(std::to_string(process.info.pid));
      own.host = process.info.host;
      for (const auto& number : {process.info.local_rank, process.info.group_rank}) {
        if (number) own.numbers.insert(std::to_string(*number));
      }
      for (const Gpu& gpu : process.info.gpus) own.numbers.insert(std::to_string(gpu.index));
    }
  }
}

Status PairLines::take(const Line& line, const StreamJoin& join, const BlockRef& block) {
  if (attempt_ && join.attempt != attempt_) return {};
  if (line.has(line_flag::progress)) return {};
  const auto rank = rank_of(line, join);
  const auto side = std::find(ranks_.begin(), ranks_.end(), rank.value_or(-1));
  if (!rank || side == ranks_.end()) return {};
  const auto index = static_cast<std::size_t>(side - ranks_.begin());
  if (sides_[0].size() + sides_[1].size() >= kMaxLines) {
    return Error(ErrorCode::invalid, "more than " + std::to_string(kMaxLines) +
                                         " lines of two ranks; narrow the query (iteration)");
  }
  OwnFacts& own = own_[index];
  if (own.host.empty()) own.host = join.attributes->host;
  if (join.attributes->local_rank) {
    own.numbers.insert(std::to_string(*join.attributes->local_rank));
  }
  PairLine out;
  out.place = RankSurvey::place_of(line, join);
  out.iteration = line.iteration;
  out.channel = channel_of(stream_name(line, join));
  out.template_id = line.template_id;
  out.line_id = join.stream_text + ":" + std::to_string(line.offset);
  out.body = body_of(line);
  Row row(line, join);
  out.text = std::string(row.text());
  out.key = join.attributes->name;
  out.offset = line.offset;
  out.time = line.time;
  out.severity = line.severity;
  out.block = block;
  sides_[index].push_back(std::move(out));
  return {};
}

std::string_view to_string(RowKind kind) {
  constexpr std::array<std::string_view, 4> kNames = {"same", "value", "left", "right"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<PairRow> lay_side_by_side(PairLines& lines, const TemplateGroups& groups) {
  for (std::size_t side = 0; side < 2; ++side) {
    for (PairLine& line : lines.side(side)) line.group = groups.group_of(line.template_id);
    std::stable_sort(lines.side(side).begin(), lines.side(side).end(),
                     [](const PairLine& a, const PairLine& b) {
                       return std::tie(a.place, a.channel, a.key, a.offset) <
                              std::tie(b.place, b.channel, b.key, b.offset);
                     });
  }
  const std::vector<PairLine>&left = lines.side(0), &right = lines.side(1);
  std::vector<PairRow> rows;
  const auto add_left = [&](std::size_t i) {
    rows.push_back({RowKind::left, i, std::nullopt, {}});
  };
  const auto add_right = [&](std::size_t i) {
    rows.push_back({RowKind::right, std::nullopt, i, {}});
  };
  std::size_t x = 0, y = 0;
  while (x < left.size() || y < right.size()) {
    const bool only_left =
        y == right.size() || (x < left.size() && key_of_line(left[x]) < key_of_line(right[y]));
    const bool only_right =
        !only_left && (x == left.size() || key_of_line(right[y]) < key_of_line(left[x]));
    const std::size_t end_x = only_right ? x : end_of_run(left, x);
    const std::size_t end_y = only_left ? y : end_of_run(right, y);
    std::vector<std::uint64_t> a, b;
    for (std::size_t i = x; i < end_x; ++i) a.push_back(left[i].group);
    for (std::size_t i = y; i < end_y; ++i) b.push_back(right[i].group);
    std::size_t next_x = x, next_y = y;
    for (const Aligned& pair : align(a, b)) {
      while (next_x < x + pair.a) add_left(next_x++);
      while (next_y < y + pair.b) add_right(next_y++);
      PairRow row{RowKind::same, next_x, next_y, {}};
      row.differences =
          value_differences(left[next_x].body, lines.own(0), right[next_y].body, lines.own(1));
      if (!row.differences.empty()) row.kind = RowKind::value;
      rows.push_back(std::move(row));
      ++next_x, ++next_y;
    }
    while (next_x < end_x) add_left(next_x++);
    while (next_y < end_y) add_right(next_y++);
    x = end_x, y = end_y;
  }
  return rows;
}

}  // namespace logarithm::aggregator
