#include "aggregator/compare/departures.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace logarithm::aggregator {
namespace {

// One rank at one place.
struct Entry {
  std::int64_t place = 0;
  std::uint32_t rank = 0;
  std::uint32_t bag = 0;
};

// A difference in one group at one place, before it is judged.
struct Difference {
  std::uint32_t rank = 0;
  std::uint32_t group = 0;
  std::size_t at = 0;  // index into the class's places
  bool extra = false;
  bool ended = false;
};

class Comparer {
 public:
  Comparer(History& history, const Peers& peers, const PeerClass& members)
      : history_(history), peers_(peers), class_(members) {
    for (const std::size_t rank : class_.members) all_.push_back(rank);
    for (const std::size_t rank : class_.guests) all_.push_back(rank);
    std::sort(all_.begin(), all_.end());
    is_guest_.assign(history_.ranks.size(), false);
    for (const std::size_t rank : class_.guests) is_guest_[rank] = true;
  }

  ClassFindings run() {
    collect();
    learn_rhythms();
    for (std::size_t from = 0; from < entries_.size();) {
      std::size_t to = from;
      while (to < entries_.size() && entries_[to].place == entries_[from].place) ++to;
      compare_place(from, to);
      from = to;
    }
    cancel_shifts();
    judge();
    return std::move(out_);
  }

 private:
  const RankHistory& rank_of(std::size_t rank) const { return history_.ranks[rank]; }

  void collect() {
    for (const std::size_t rank : all_) {
      for (const Cell& cell : rank_of(rank).cells) {
        entries_.push_back({cell.place, static_cast<std::uint32_t>(rank), cell.bag});
      }
    }
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return a.place != b.place ? a.place < b.place : a.rank < b.rank;
    });
    for (const std::size_t rank : all_) {
      end_ = std::max(end_, rank_of(rank).last);
    }
  }

  // How often members print a group over all their iterations: breaks ties between two peers.
  void learn_rhythms() {
    std::size_t cells = 0;
    std::unordered_map<std::uint32_t, std::size_t> times;  // by bag
    for (const Entry& entry : entries_) {
      if (!is_iteration(entry.place) || is_guest_[entry.rank]) continue;
      ++cells;
      ++times[entry.bag];
    }
    for (const auto& [bag, count] : times) {
      for (const auto& [group, number] : history_.bags[bag]) printed_[group] += count;
    }
    for (auto& [group, count] : printed_) usual_[group] = count * 2 > cells;
  }

  // A rank takes part where its life spans the place.
  bool takes_part(std::size_t rank, std::int64_t place) const {
    if (!is_iteration(place)) return true;
    return rank_of(rank).first <= place && place <= rank_of(rank).last;
  }

  void compare_place(std::size_t from, std::size_t to) {
    const std::int64_t place = entries_[from].place;
    // Bags of the members, most frequent first: the usual case is one bag for all.
    std::map<std::uint32_t, std::size_t> bags;
    std::size_t present = 0;
    for (std::size_t i = from; i < to; ++i) {
      if (is_guest_[entries_[i].rank]) continue;
      ++bags[entries_[i].bag];
      ++present;
    }
    std::size_t members = 0;
    for (const std::size_t rank : class_.members) members += takes_part(rank, place) ? 1 : 0;
    const std::size_t absent = members - std::min(members, present);
    const Bag expected = expected_bag(bags, members, place);
    if (members > 0 && !expected.empty()) {
      Expected agreed;
      agreed.place = place;
      agreed.bag = history_.bags.intern(expected);
      agreed.ranks = static_cast<std::uint32_t>(members);
      out_.consensus.push_back(agreed);
    }
    places_.push_back(place);
    if (absent == 0 && bags.size() == 1 && to - from == members && !ends_here(place)) return;
    note_differences(from, to, expected, present > absent);
  }

  // Some rank of the class printed its last iteration before this one.
  bool ends_here(std::int64_t place) const {
    if (!is_iteration(place)) return false;
    return std::any_of(all_.begin(), all_.end(),
                       [&](std::size_t rank) { return rank_of(rank).last < place; });
  }

  // What most members print: by group, since two departures may leave no bag with a majority.
  Bag expected_bag(const std::map<std::uint32_t, std::size_t>& bags, std::size_t members,
                   std::int64_t place) const {
    if (members == 0) return {};
    for (const auto& [bag, ranks] : bags) {
      if (ranks * 2 > members) return history_.bags[bag];
    }
    std::map<std::uint32_t, std::map<std::uint32_t, std::size_t>>
        counts;  // group -> count -> ranks
    for (const auto& [bag, ranks] : bags) {
      for (const auto& [group, count] : history_.bags[bag]) counts[group][count] += ranks;
    }
    Bag out;
    for (const auto& [group, by_count] : counts) {
      std::size_t printing = 0, best = 0;
      std::uint32_t usual = 0;
      for (const auto& [count, ranks] : by_count) {
        printing += ranks;
        if (ranks > best) best = ranks, usual = count;
      }
      const bool tie = printing * 2 == members;
      const auto known = usual_.find(group);
      const bool by_habit = is_iteration(place) && known != usual_.end() && known->second;
      if (printing * 2 > members || (tie && by_habit)) out.emplace_back(group, usual);
    }
    return out;
  }

  // Whether how often a group was printed is worth comparing: most have exactly this number.
  bool exact_count(std::size_t from, std::size_t to, std::uint32_t group,
                   std::uint32_t count) const {
    std::size_t same = 0, all = 0;
    for (std::size_t i = from; i < to; ++i) {
      if (is_guest_[entries_[i].rank]) continue;
      const std::uint32_t printed = count_of(history_.bags[entries_[i].bag], group);
      if (printed == 0) continue;
      ++all;
      same += printed == count ? 1 : 0;
    }
    // Over whole lives the counts of what is printed by the clock differ a little.
    if (is_iteration(entries_[from].place)) return same * 2 > all;
    return all >= 3 && same * 10 >= all * 9;
  }

  void note_differences(std::size_t from, std::size_t to, const Bag& expected, bool most_present) {
    const std::int64_t place = entries_[from].place;
    std::size_t next = from;
    for (const std::size_t rank : all_) {
      std::uint32_t bag = 0;
      if (next < to && entries_[next].rank == rank) bag = entries_[next++].bag;
      if (!takes_part(rank, place)) {
        note_end(rank, place, expected);
        continue;
      }
      if (bag == 0 && !most_present && expected.empty()) continue;
      compare_bags(from, to, rank, history_.bags[bag], expected);
    }
  }

  // The first iteration of its peers after a rank's last one.
  void note_end(std::size_t rank, std::int64_t place, const Bag& expected) {
    const RankHistory& history = rank_of(rank);
    const bool over = is_iteration(place) && history.last < place && history.first <= history.last;
    if (!over || expected.empty() || ended_.contains(rank)) return;
    // A rank that still runs may only be a little behind.
    if (!history.ended && end_ - history.last < 2) return;
    ended_.emplace(rank, true);
    Difference ended;
    ended.rank = static_cast<std::uint32_t>(rank);
    ended.group = expected.front().first;
    ended.at = places_.size() - 1;
    ended.ended = true;
    differences_.push_back(ended);
  }

  void compare_bags(std::size_t from, std::size_t to, std::size_t rank, const Bag& bag,
                    const Bag& expected) {
    const std::int64_t place = entries_[from].place;
    const auto note = [&](std::uint32_t group, bool extra) {
      if (is_excused(rank, place, group, extra)) return;
      Difference found;
      found.rank = static_cast<std::uint32_t>(rank);
      found.group = group;
      found.at = places_.size() - 1;
      found.extra = extra;
      differences_.push_back(found);
    };
    auto x = bag.begin();
    auto y = expected.begin();
    while (x != bag.end() || y != expected.end()) {
      if (y == expected.end() || (x != bag.end() && x->first < y->first)) {
        note(x++->first, true);
      } else if (x == bag.end() || y->first < x->first) {
        note(y++->first, false);
      } else {
        if (x->second != y->second && exact_count(from, to, x->first, y->second)) {
          note(x->first, x->second > y->second);
        }
        ++x, ++y;
      }
    }
  }

  bool is_excused(std::size_t rank, std::int64_t place, std::uint32_t group, bool extra) const {
    const RankHistory& history = rank_of(rank);
    const GroupFacts& facts = history_.groups[group];
    // More may come to the last iteration of a rank that runs, and to what has no iteration.
    if (!extra && !history.ended && (!is_iteration(place) || place == history.last)) return true;
    const bool loud = facts.severity >= Severity::warning || facts.marked;
    if (is_guest_[rank] || class_.strangers) {
      if (extra && peers_.is_habit(rank, group)) return true;
      if (!extra && !prints(rank, group) && !universal(group)) return true;
    }
    if (loud) return false;
    // The rank that logs for all saves and evaluates too seldom for a habit, but at round numbers.
    const bool logs_for_all = history.rank == 0 || is_guest_[rank];
    if (extra && logs_for_all && is_iteration(place)) return is_round(history, place);
    // Rank 0 and the like say at the start, or once, what holds for all.
    return history.special && !is_iteration(place);
  }

  static bool is_round(const RankHistory& history, std::int64_t place) {
    return place % 10 == 0 || (place + 1) % 10 == 0 || place == history.first ||
           place == history.last;
  }

  bool prints(std::size_t rank, std::uint32_t group) const {
    auto [at, fresh] = groups_of_.try_emplace(rank);
    if (fresh) {
      std::set<std::uint32_t> bags;
      for (const Cell& cell : rank_of(rank).cells) bags.insert(cell.bag);
      for (const std::uint32_t bag : bags) {
        for (const auto& [printed, count] : history_.bags[bag]) at->second.insert(printed);
      }
    }
    return at->second.contains(group);
  }

  // Nine of ten ranks of the job print it.
  bool universal(std::uint32_t group) const {
    const auto known = universal_.find(group);
    if (known != universal_.end()) return known->second;
    std::size_t printing = 0;
    for (std::size_t r = 0; r < history_.ranks.size(); ++r) printing += prints(r, group) ? 1 : 0;
    return universal_[group] = printing * 10 >= (history_.ranks.size() - 1) * 9;
  }

  // A line that does not say its iteration may fall into the one before or after: not a departure.
  void cancel_shifts() {
    std::sort(differences_.begin(), differences_.end(),
              [](const Difference& a, const Difference& b) {
                return std::tie(a.rank, a.group, a.at, a.extra) <
                       std::tie(b.rank, b.group, b.at, b.extra);
              });
    std::vector<Difference> kept;
    for (const Difference& difference : differences_) {
      const bool loose = !history_.groups[difference.group].says_iteration && !difference.ended;
      if (loose && !kept.empty()) {
        const Difference& before = kept.back();
        if (before.rank == difference.rank && before.group == difference.group && !before.ended &&
            before.extra != difference.extra && difference.at - before.at <= 1 &&
            is_iteration(places_[before.at])) {
          kept.pop_back();
          continue;
        }
      }
      kept.push_back(difference);
    }
    differences_ = std::move(kept);
  }

  void judge() {
    // How many ranks depart in the same way: what half of them do is noise, not a departure.
    std::map<std::tuple<std::uint32_t, bool, bool>, std::size_t> ranks_departing;
    std::map<std::tuple<std::uint32_t, bool, bool>, std::uint32_t> last_rank;
    for (const Difference& difference : differences_) {
      const std::tuple key{difference.group, difference.extra, difference.ended};
      const auto [at, fresh] = last_rank.try_emplace(key, difference.rank);
      if (!fresh && at->second == difference.rank) continue;
      at->second = difference.rank;
      ++ranks_departing[key];
    }
    for (std::size_t i = 0; i < differences_.size();) {
      const Difference& first = differences_[i];
      Departure departure;
      departure.rank = first.rank;
      departure.group = first.group;
      departure.kind = first.extra ? DepartureKind::extra : DepartureKind::missing;
      departure.ended = first.ended;
      departure.first = departure.last = places_[first.at];
      departure.times = 0;
      std::size_t j = i;
      for (; j < differences_.size(); ++j) {
        const Difference& next = differences_[j];
        const bool same = next.rank == first.rank && next.group == first.group &&
                          next.extra == first.extra && next.ended == first.ended;
        if (!same || is_iteration(places_[next.at]) != is_iteration(departure.first)) break;
        departure.last = places_[next.at];
        ++departure.times;
      }
      i = j;
      const std::size_t departing = ranks_departing[{first.group, first.extra, first.ended}];
      departure.score = score_of(departure, departing);
      if (departure.score > 0) out_.departures.push_back(departure);
    }
  }

  double score_of(const Departure& departure, std::size_t departing) const {
    const auto peers = static_cast<double>(all_.size());
    const double rare = 1.0 - static_cast<double>(departing - 1) / peers;
    if (rare <= 0.5) return 0;
    const GroupFacts& facts = history_.groups[departure.group];
    double weight = 0.8;
    if (departure.kind == DepartureKind::missing) {
      weight = departure.ended ? 0.75 : 0.85;
    } else if (facts.follows) {
      weight = 0.7;
    } else if (facts.marked) {
      weight = 1.0;
    } else if (facts.severity >= Severity::error) {
      weight = 0.95;  // a frame of a traceback says less than its exception
    } else if (facts.severity == Severity::warning) {
      weight = 0.9;
    }
    if (departure.kind == DepartureKind::missing && facts.follows) weight = 0.65;
    return rare * weight;
  }

  History& history_;
  const Peers& peers_;
  const PeerClass& class_;
  std::vector<std::size_t> all_;  // members and guests, ascending
  std::vector<bool> is_guest_;    // by rank
  std::vector<Entry> entries_;
  std::vector<std::int64_t> places_;
  std::int64_t end_ = kOutside;
  std::unordered_map<std::uint32_t, std::size_t> printed_;  // group -> cells of members
  std::unordered_map<std::uint32_t, bool> usual_;
  std::map<std::size_t, bool> ended_;
  // What was asked before.
  mutable std::unordered_map<std::uint32_t, bool> universal_;
  mutable std::unordered_map<std::size_t, std::unordered_set<std::uint32_t>> groups_of_;
  std::vector<Difference> differences_;
  ClassFindings out_;
};

}  // namespace

std::string_view to_string(DepartureKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"missing", "extra", "value"};
  return kNames[static_cast<std::size_t>(kind)];
}

ClassFindings compare_class(History& history, const Peers& peers, const PeerClass& members) {
  return Comparer(history, peers, members).run();
}

}  // namespace logarithm::aggregator
