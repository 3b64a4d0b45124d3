#include "aggregator/compare/comparison.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_set>

#include "aggregator/compare/regroup.h"
#include "aggregator/query/own_measure.h"

namespace logarithm::aggregator {
namespace {

// Iterations first, in order; then what has none.
std::tuple<int, std::int64_t, std::int64_t> when(const Told& told) {
  if (told.iteration) return {0, *told.iteration, told.time.value_or(0)};
  return {1, told.departure.first, told.time.value_or(0)};
}

}  // namespace

Result<bool> Comparing::step(BlockingToken& token, JobView& view,
                             const std::function<bool()>& time_is_up) {
  if (stage_ == Stage::begin) {
    history_ = survey_.finish();
    LGR_CHECK(groups_.open(token, view));
    note_unknown_templates();
    stage_ = Stage::texts;
  }
  if (stage_ == Stage::texts) {
    LGR_TRY(bool all, groups_.add_lines(token, view, unknown_, time_is_up));
    if (!all) return false;
    stage_ = Stage::compare;
  }
  if (stage_ == Stage::compare) {
    groups_.build();
    note_own_measures();
    regroup(history_, survey_.templates(), groups_.groups(), index_);
    compare(view);
    finder_ = std::make_unique<LineFinder>(survey_, groups_.groups());
    stage_ = Stage::tell;
  }
  if (stage_ == Stage::tell) {
    for (; told_ < out_.departures.size(); ++told_) {
      if (time_is_up()) return false;
      LGR_CHECK(tell(token, view, out_.departures[told_]));
    }
    finish();
    stage_ = Stage::done;
  }
  return true;
}

// Templates without a stored text. Those that all ranks print lie in the first rank's blocks, so
// few blocks are read for them.
void Comparing::note_unknown_templates() {
  for (const TemplateSeen& seen : survey_.templates()) {
    if (groups_.knows(seen.id)) continue;
    unknown_.push_back({seen.id, survey_.blocks()[seen.block], seen.offset});
  }
}

// A name alone may not tell that its number is a time: the unit behind it does.
void Comparing::note_own_measures() {
  for (std::uint32_t key = 0; key < history_.keys.size(); ++key) {
    for (const std::uint32_t seen : survey_.templates_of_key(key)) {
      const std::string* text = groups_.groups().template_text(survey_.templates()[seen].id);
      if (text == nullptr) continue;
      const auto units = units_behind(*text, history_.keys[key]);
      if (std::any_of(units.begin(), units.end(), is_own_unit)) history_.own_measures.insert(key);
    }
  }
}

Peers Comparing::find_peers(const JobView& view) const {
  std::map<std::string, std::set<std::int32_t>> named;
  switch (rule_.kind) {
    case PeerRule::Kind::habits: return peers_by_habits(history_);
    case PeerRule::Kind::given: return peers_given(history_, rule_.given);
    case PeerRule::Kind::all: return peers_given(history_, {});
    case PeerRule::Kind::host:
    case PeerRule::Kind::local_rank: break;
  }
  for (std::size_t s = 0; s < view.snapshot().streams().size(); ++s) {
    for (const StreamJoin& join : view.joins(s)) {
      if (!join.rank) continue;
      const auto local = join.attributes->local_rank;
      named[rule_.kind == PeerRule::Kind::host ? join.attributes->host
                                               : std::to_string(local.value_or(-1))]
          .insert(*join.rank);
    }
  }
  std::vector<std::set<std::int32_t>> classes;
  for (auto& [name, ranks] : named) classes.push_back(std::move(ranks));
  return peers_given(history_, classes);
}

std::set<std::int32_t> Comparing::ranks_of(const std::vector<std::size_t>& members) const {
  std::set<std::int32_t> out;
  for (const std::size_t rank : members) out.insert(history_.ranks[rank].rank);
  return out;
}

void Comparing::compare(const JobView& view) {
  for (const RankHistory& rank : history_.ranks) out_.ranks.insert(rank.rank);
  const Peers peers = find_peers(view);
  std::map<std::uint32_t, std::uint64_t> agreed;
  for (const PeerClass& members : peers.classes) {
    ClassFindings findings = compare_class(history_, peers, members);
    Agreement agreement = find_agreement(history_, members);
    tell_consensus(findings, out_.peers.size());
    std::set<std::int32_t> everyone = ranks_of(members.members);
    for (const std::size_t guest : members.guests) everyone.insert(history_.ranks[guest].rank);
    out_.peers.push_back(everyone);
    for (const Agreed& value : agreement.agreed) {
      agreed[value.key] = std::max(agreed[value.key], value.iterations);
    }
    auto& departures = findings.departures;
    departures.insert(departures.end(), agreement.departures.begin(), agreement.departures.end());
    for (const Departure& departure : departures) {
      Told told;
      told.departure = departure;
      told.rank = history_.ranks[departure.rank].rank;
      if (is_iteration(departure.first)) told.iteration = departure.first;
      told.others = everyone;
      told.others.erase(told.rank);
      if (departure.kind == DepartureKind::value) {
        told.key = history_.keys[departure.key];
      } else {
        told.group = index_.ids[departure.group];
      }
      out_.departures.push_back(std::move(told));
    }
  }
  for (const auto& [key, iterations] : agreed) {
    out_.values.push_back({history_.keys[key], iterations});
  }
  std::sort(out_.values.begin(), out_.values.end(),
            [](const AgreedValue& a, const AgreedValue& b) { return a.key < b.key; });
  tell_groups();
  std::sort(out_.departures.begin(), out_.departures.end(), comes_before);
  // Records are told as one further on, so a few more are looked at than are shown.
  const std::size_t most = limit_ * 4;
  if (out_.departures.size() > most) {
    out_.more_departures = out_.departures.size() - most;
    out_.departures.resize(most);
  }
}

void Comparing::tell_consensus(const ClassFindings& findings, std::size_t peers) {
  std::map<std::uint32_t, ConsensusPattern> patterns;
  for (const Expected& expected : findings.consensus) {
    ConsensusPattern& pattern = patterns[expected.bag];
    ++pattern.count;
    if (!is_iteration(expected.place)) {
      pattern.outside = true;
    } else if (!pattern.iterations.empty() &&
               pattern.iterations.back().second + 1 == expected.place) {
      pattern.iterations.back().second = expected.place;
    } else {
      pattern.iterations.emplace_back(expected.place, expected.place);
    }
  }
  const auto position = [&](std::uint32_t group) {
    const GroupFacts& facts = history_.groups[group];
    return static_cast<double>(facts.place_sum) / static_cast<double>(facts.lines);
  };
  for (auto& [bag, pattern] : patterns) {
    pattern.peers = peers;
    Bag groups = history_.bags[bag];
    std::sort(groups.begin(), groups.end(), [&](const auto& a, const auto& b) {
      return std::tuple(position(a.first), index_.ids[a.first]) <
             std::tuple(position(b.first), index_.ids[b.first]);
    });
    for (const auto& [group, count] : groups) pattern.groups.emplace_back(index_.ids[group], count);
    out_.patterns.push_back(std::move(pattern));
  }
}

void Comparing::tell_groups() {
  std::map<std::uint32_t, ConsensusGroup> groups;
  std::unordered_set<TemplateId> agreed;
  for (const ConsensusPattern& pattern : out_.patterns) {
    for (const auto& [group, count] : pattern.groups) agreed.insert(group);
  }
  for (const RankHistory& rank : history_.ranks) {
    std::set<std::uint32_t> bags;
    for (const Cell& cell : rank.cells) bags.insert(cell.bag);
    for (const std::uint32_t bag : bags) {
      for (const auto& [group, count] : history_.bags[bag]) {
        if (agreed.contains(index_.ids[group])) groups[group].ranks.insert(rank.rank);
      }
    }
  }
  for (auto& [index, group] : groups) {
    group.group = index_.ids[index];
    group.text = cut_text(groups_.groups().text_of(group.group));
    group.lines = history_.groups[index].lines;
    group.severity = history_.groups[index].severity;
    out_.groups.push_back(std::move(group));
  }
  std::sort(out_.groups.begin(), out_.groups.end(), [](const auto& a, const auto& b) {
    return std::tuple(b.lines, a.group) < std::tuple(a.lines, b.group);
  });
  std::sort(out_.patterns.begin(), out_.patterns.end(), [](const auto& a, const auto& b) {
    return std::tuple(b.count, a.peers, a.groups) < std::tuple(a.count, b.peers, b.groups);
  });
}

// Finds the line of a departure: the rank's own, or what a peer printed in its place.
Status Comparing::tell(BlockingToken& token, JobView& view, Told& told) {
  const Departure& departure = told.departure;
  std::optional<FoundLine> found;
  if (departure.kind != DepartureKind::missing) {
    LGR_TRY(found, finder_->find(token, view, told.rank, departure.first, told.group, told.key));
  } else {
    for (const std::int32_t other : told.others) {
      LGR_TRY(found, finder_->find(token, view, other, departure.first, told.group, ""));
      if (found) break;
    }
  }
  if (found && departure.kind != DepartureKind::value) {
    told.record = std::string(to_string(departure.kind)) + " " + std::to_string(told.rank) + " " +
                  found->record;
  }
  if (found) {
    told.text = found->text;
    told.line_id = found->id;
    told.time = found->time;
    told.severity = found->severity;
    told.marked = found->marked;
    told.group = found->group;
    if (!told.iteration) told.iteration = found->iteration;
  }
  if (told.text.empty()) told.text = cut_text(groups_.groups().text_of(told.group));
  return {};
}

bool Comparing::comes_before(const Told& a, const Told& b) {
  return std::tuple(-a.departure.score, a.departure.first, a.rank, a.departure.kind, a.group,
                    a.key) < std::tuple(-b.departure.score, b.departure.first, b.rank,
                                        b.departure.kind, b.group, b.key);
}

// A record (a traceback) is told once: by its marked line, else by the gravest.
void Comparing::finish() {
  std::map<std::string, std::size_t> records;
  std::vector<Told> kept;
  for (Told& told : out_.departures) {
    const auto [at, fresh] = told.record.empty() ? std::pair(records.end(), true)
                                                 : records.try_emplace(told.record, kept.size());
    if (fresh) {
      kept.push_back(std::move(told));
      continue;
    }
    Told& record = kept[at->second];
    const std::uint64_t lines = record.lines + 1;
    const double score = std::max(record.departure.score, told.departure.score);
    if (std::tuple(told.marked, told.severity) > std::tuple(record.marked, record.severity)) {
      // What follows from another's failure is no more than that, whatever surrounds it.
      record = std::move(told);
    } else if (!record.marked) {
      record.departure.score = score;
    }
    record.lines = lines;
  }
  std::sort(kept.begin(), kept.end(), comes_before);
  if (kept.size() > limit_) {
    out_.more_departures += kept.size() - limit_;
    kept.resize(limit_);
  }
  out_.departures = std::move(kept);
  for (std::size_t i = 0; i < out_.departures.size(); ++i) {
    if (!out_.first || when(out_.departures[i]) < when(out_.departures[*out_.first])) {
      out_.first = i;
    }
  }
}

}  // namespace logarithm::aggregator
