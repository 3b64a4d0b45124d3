#include "aggregator/triage/odd_ranks.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace logarithm::aggregator::triage {
namespace {

// Clocks of a program and a file server: the latter is rarely without time synchronisation.
constexpr std::int64_t kFileServer = 6'000'000'000;

// What a rank said since its peers' last iteration began, or its very last lines.
bool said(const RankFacts& rank, TemplateId id) {
  return std::any_of(rank.tail.begin(), rank.tail.end(),
                     [&](const TailLine& line) { return line.template_id == id; });
}

// The last iteration of any rank was said long after the line: what ranks say at the start, each in
// its own words, stays the last line of many an output.
bool is_overtaken(const Analysis& analysis, const RankFacts& rank, const TailLine& line) {
  const UnixNanos until =
      line.latest() + (line.has(line_flag::derived_time) ? kFileServer : 0) + kDelivery;
  for (const RankFacts& other : analysis.facts.ranks) {
    if (other.iterations.empty()) continue;
    const auto offset = analysis.clocks.between(other, rank);
    const std::int64_t ahead = offset ? offset->hi : kOtherClock;
    if (other.iterations.back().time - ahead > until) return true;
  }
  return false;
}

// The last line (template, iteration) that most ranks share; nullptr where it is a word of the
// start.
const TailLine* common_last(const Analysis& analysis) {
  struct Entry {
    std::size_t ranks = 0;
    const RankFacts* rank = nullptr;
    const TailLine* line = nullptr;
  };
  std::map<std::pair<TemplateId, std::int64_t>, Entry> entries;
  for (const RankFacts& rank : analysis.facts.ranks) {
    const TailLine* last = last_normal(rank);
    if (last == nullptr) continue;
    Entry& entry = entries[{last->template_id, last->iteration.value_or(-1)}];
    entry = {entry.ranks + 1, &rank, last};
  }
  Entry best;
  for (const auto& [key, entry] : entries) {
    if (entry.ranks > best.ranks) best = entry;
  }
  const bool most = 2 * best.ranks > analysis.facts.ranks.size();
  return most && !is_overtaken(analysis, *best.rank, *best.line) ? best.line : nullptr;
}

// Ranks that went on to say other things without a line that their peers said in this iteration,
// as often as these.
std::set<std::int32_t> skipped_a_line(const Analysis& analysis, std::int64_t iteration) {
  const Facts& facts = analysis.facts;
  using Times = std::map<const RankFacts*, std::vector<UnixNanos>>;
  std::map<TemplateId, Times> said_then;
  for (const RankFacts& rank : facts.ranks) {
    for (const TailLine& line : rank.tail) {
      if (!line.says_iteration() || *line.iteration != iteration || line.marked) continue;
      said_then[line.template_id][&rank].push_back(line.latest());
    }
  }
  std::set<std::int32_t> out;
  for (const auto& [id, times] : said_then) {
    std::map<std::size_t, std::size_t> ranks_by_count;
    for (const auto& [rank, all] : times) ++ranks_by_count[all.size()];
    const auto usual =
        std::max_element(ranks_by_count.begin(), ranks_by_count.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; })
            ->first;
    for (const auto& [rank, all] : times) {
      if (all.size() >= usual) continue;
      const bool went_past = std::all_of(times.begin(), times.end(), [&](const auto& peer) {
        if (peer.second.size() < usual) return true;
        const auto offset = analysis.clocks.between(*peer.first, *rank);
        const std::int64_t ahead = offset ? offset->lo : -kOtherClock;
        return peer.second[usual - 1] - ahead + kDelivery < rank->last_time;
      });
      if (went_past) out.insert(rank->rank);
    }
  }
  return out;
}

// The last line of one of its outputs is one that no other rank says, and that it did not say in
// earlier iterations: not what it always says more than others.
bool says_more(const Analysis& analysis, const RankFacts& rank) {
  const Facts& facts = analysis.facts;
  std::map<StreamId, const TailLine*> last;
  for (const TailLine& line : rank.tail) {
    const TailLine*& newest = last[line.line.stream];
    if (newest == nullptr || newest->line.offset < line.line.offset) newest = &line;
  }
  const auto own = rank.last_iteration();
  for (const auto& [stream, newest] : last) {
    const bool regular = std::any_of(rank.tail.begin(), rank.tail.end(), [&](const TailLine& line) {
      const bool earlier = line.iteration && own && *line.iteration < *own;
      return line.template_id == newest->template_id && (line.says_iteration() || earlier);
    });
    // What it said in passing, iterations ago, is no last word.
    const bool stale = own && newest->iteration && *newest->iteration < *own;
    if (regular || stale || newest->marked || is_overtaken(analysis, rank, *newest)) continue;
    const bool alone = std::none_of(facts.ranks.begin(), facts.ranks.end(), [&](const auto& peer) {
      return &peer != &rank && said(peer, newest->template_id);
    });
    if (alone) return true;
  }
  return false;
}

// Of ranks that say more than others, those that said so last: the others did in passing.
void keep_latest(const Analysis& analysis, std::vector<std::int32_t>& ranks) {
  const RankFacts& reference = analysis.facts.ranks.front();
  std::map<std::int32_t, UnixNanos> last;
  UnixNanos latest = INT64_MIN;
  for (const std::int32_t number : ranks) {
    const RankFacts& rank = *analysis.facts.find(number);
    const auto offset = analysis.clocks.between(rank, reference);
    UnixNanos& time = last.emplace(number, INT64_MIN).first->second;
    for (const TailLine& line : rank.tail) time = std::max(time, line.latest());
    time -= offset ? offset->estimate : 0;
    latest = std::max(latest, time);
  }
  const std::int64_t step = longest_step(analysis.facts).value_or(0);
  std::erase_if(ranks, [&](std::int32_t number) {
    return last[number] + kSteps * step + kDelivery < latest;
  });
}

// The rank's next iteration is due, by how it says them: whoever says every hundredth is not behind
// who says each. Of one that said a single one: a barrier lets its peers not get far.
bool is_due(const RankFacts& rank, std::int64_t iteration, std::int64_t gap_of_peers) {
  const auto own = rank.last_iteration();
  if (!own || *own >= iteration) return false;
  const std::int64_t missing = iteration - *own;
  if (rank.gap > 0) return missing >= rank.gap;
  return gap_of_peers == 0 || missing <= 2 * gap_of_peers;
}

// `line` is that of `peer`, in the same iteration as far as both know one.
bool is_same(const TailLine& line, const TailLine& peer) {
  if (line.template_id != peer.template_id) return false;
  return !line.iteration || !peer.iteration || line.iteration == peer.iteration;
}

}  // namespace

Odd odd_ranks(const Analysis& analysis) {
  const Facts& facts = analysis.facts;
  Odd out;
  const auto iteration = common_iteration(facts);
  std::int64_t gap = 0;
  for (const RankFacts& rank : facts.ranks) gap = std::max(gap, rank.gap);
  const TailLine* common = common_last(analysis);
  std::set<std::int32_t> behind;
  if (iteration) behind = skipped_a_line(analysis, *iteration);
  for (const RankFacts& rank : facts.ranks) {
    const TailLine* last = last_normal(rank);
    if (iteration && is_due(rank, *iteration, gap)) {
      behind.insert(rank.rank);
    } else if (common != nullptr && last != nullptr && last->template_id != common->template_id) {
      // Who never says that line has another part in the job, and is not behind for that.
      const bool has_it = std::any_of(rank.tail.begin(), rank.tail.end(),
                                      [&](const TailLine& line) { return is_same(line, *common); });
      if (!has_it && said(rank, common->template_id)) behind.insert(rank.rank);
    }
    if (says_more(analysis, rank)) out.extra.push_back(rank.rank);
  }
  out.behind.assign(behind.begin(), behind.end());
  const auto keep_few = [&](std::vector<std::int32_t>& ranks) {
    if (2 * ranks.size() >= facts.ranks.size()) ranks.clear();
  };
  keep_few(out.behind);
  keep_few(out.extra);
  keep_latest(analysis, out.extra);
  return out;
}

}  // namespace logarithm::aggregator::triage
