#include "aggregator/query/site_survey.h"

#include <algorithm>
#include <tuple>

#include "aggregator/query/match.h"
#include "common/base/utf8.h"
#include "common/line/template.h"

namespace logarithm::aggregator {

Status SiteSurvey::add(Entry& entry, const Line& line, const StreamJoin& join,
                       const BlockRef& block) {
  if (entry.sum.lines == 0) {
    entry.time = {line.time, line.time};
    entry.block = block;
    entry.offset = line.offset;
  }
  entry.sum.add(line.length);
  entry.time.min = std::min(entry.time.min, line.time);
  entry.time.max = std::max(entry.time.max, line.time);
  if (line.iteration) {
    const std::int64_t iteration = *line.iteration;
    if (!entry.iteration) entry.iteration = MinMax<std::int64_t>{iteration, iteration};
    entry.iteration->min = std::min(entry.iteration->min, iteration);
    entry.iteration->max = std::max(entry.iteration->max, iteration);
  }
  const auto cell = std::pair(join.stream, line.iteration.value_or(INT64_MIN));
  if (entry.cell != cell) {
    entry.cell = cell;
    if (line.iteration) ++entry.cells;
  }
  entry.severity = std::max(entry.severity, line.severity);
  entry.says_iteration |= line.iteration && !line.has(line_flag::derived_iteration);
  const auto rank = rank_of(line, join);
  auto [at, fresh] = entry.ranks.try_emplace(rank ? std::int64_t{*rank} : kNoRank);
  at->second.add(line.length);
  if (fresh && ++cells_ > kMaxCells) {
    return Error(ErrorCode::invalid, "more than " + std::to_string(kMaxCells) +
                                         " pairs of call site and rank; narrow the query");
  }
  return {};
}

Status SiteSurvey::take(const Line& line, const StreamJoin& join, const BlockRef& block) {
  const auto cell = std::pair(join.stream, line.iteration.value_or(INT64_MIN));
  if (cell_ != cell) {
    cell_ = cell;
    if (line.iteration) ++all_cells_;
  }
  if (line.callsite.empty()) return add(templates_[line.template_id], line, join, block);
  return add(callsites_[line.callsite], line, join, block);
}

std::vector<SiteSurvey::Unnamed> SiteSurvey::unnamed() const {
  std::vector<Unnamed> out;
  for (const auto& [id, entry] : templates_) out.push_back({id, entry.block, entry.offset});
  std::sort(out.begin(), out.end(), [](const Unnamed& a, const Unnamed& b) { return a.id < b.id; });
  return out;
}

void SiteSurvey::regroup(const std::function<TemplateId(TemplateId)>& group_of) {
  std::unordered_map<TemplateId, Entry> groups;
  for (const Unnamed& one : unnamed()) {
    Entry& from = templates_[one.id];
    const auto [at, fresh] = groups.try_emplace(group_of(one.id));
    Entry& into = at->second;
    if (fresh) {
      into = std::move(from);
    } else {
      into.sum.lines += from.sum.lines;
      into.sum.bytes += from.sum.bytes;
      into.cells += from.cells;  // about: templates of a group mostly take turns
      into.severity = std::max(into.severity, from.severity);
      into.says_iteration |= from.says_iteration;
      into.time.min = std::min(into.time.min, from.time.min);
      into.time.max = std::max(into.time.max, from.time.max);
      if (!into.iteration) into.iteration = from.iteration;
      if (from.iteration) {
        into.iteration->min = std::min(into.iteration->min, from.iteration->min);
        into.iteration->max = std::max(into.iteration->max, from.iteration->max);
      }
      for (const auto& [rank, sum] : from.ranks) {
        into.ranks[rank].lines += sum.lines;
        into.ranks[rank].bytes += sum.bytes;
      }
    }
    into.templates.push_back(one.id);
  }
  templates_ = std::move(groups);
}

Site SiteSurvey::site_of(const Entry& entry) {
  Site out;
  out.templates = entry.templates;
  out.sum = entry.sum;
  for (const auto& [rank, sum] : entry.ranks) {
    std::optional<std::int32_t> known;
    if (rank != kNoRank) known = static_cast<std::int32_t>(rank);
    out.ranks.emplace_back(known, sum);
  }
  std::sort(out.ranks.begin(), out.ranks.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  out.iteration = entry.iteration;
  out.time = entry.time;
  out.block = entry.block;
  out.offset = entry.offset;
  out.cells = entry.cells;
  out.severity = entry.severity;
  out.says_iteration = entry.says_iteration;
  return out;
}

SiteSurvey::Answer SiteSurvey::finish(std::size_t limit) {
  Answer out;
  out.cells = all_cells_;
  struct Place {
    const std::string* callsite;
    TemplateId template_id;
    const Entry* entry;
  };
  static const std::string kNone;
  std::vector<Place> order;
  for (const auto& [callsite, entry] : callsites_) order.push_back({&callsite, 0, &entry});
  for (const auto& [id, entry] : templates_) order.push_back({&kNone, id, &entry});
  std::sort(order.begin(), order.end(), [](const Place& a, const Place& b) {
    const LineSum &x = a.entry->sum, &y = b.entry->sum;
    return std::tie(y.bytes, y.lines, *a.callsite, a.template_id) <
           std::tie(x.bytes, x.lines, *b.callsite, b.template_id);
  });
  for (const Place& place : order) {
    const LineSum& sum = place.entry->sum;
    out.total.lines += sum.lines;
    out.total.bytes += sum.bytes;
    for (const auto& [rank, of_rank] : place.entry->ranks) {
      if (rank != kNoRank) out.ranks.insert(static_cast<std::int32_t>(rank));
    }
    if (out.sites.size() == limit) {
      ++out.other_sites;
      out.other.lines += sum.lines;
      out.other.bytes += sum.bytes;
      continue;
    }
    Site site = site_of(*place.entry);
    site.callsite = *place.callsite;
    site.template_id = place.template_id;
    out.sites.push_back(std::move(site));
  }
  return out;
}

Status SiteSurvey::name(BlockingToken& token, JobView& view, Site& site) {
  if (!site.callsite.empty()) return {};
  LGR_TRY(auto known, view.snapshot().template_text(token, site.block.shard, site.template_id));
  if (known && site.text.empty()) site.text = display_template(*known);
  if (site.text.empty()) {
    auto lines = read_lines(token, view, site.block);
    if (!lines.ok()) return view.note_damage(site.block, lines.error()) ? Status() : lines.error();
    for (const Line& line : *lines) {
      if (line.offset == site.offset) site.text = body_of(line);
    }
  }
  if (site.text.size() > kMaxText) {
    std::size_t size = kMaxText;
    while (size > 0 && (static_cast<unsigned char>(site.text[size]) & 0xC0) == 0x80) --size;
    site.text.resize(size);
  }
  if (!valid_utf8(site.text)) site.text = sanitize_utf8(site.text);
  return {};
}

}  // namespace logarithm::aggregator
