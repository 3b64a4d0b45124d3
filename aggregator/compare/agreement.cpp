#include "aggregator/compare/agreement.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>

#include "aggregator/query/own_measure.h"

namespace logarithm::aggregator {
namespace {

struct Printed {
  std::int64_t iteration = 0;
  std::uint32_t rank = 0;
  double value = 0;
};

// Where a rank departs from the majority.
struct Dissent {
  std::size_t entry = 0, expected = 0;
  std::size_t at = 0;  // which of the iterations that were compared
};

// Unrelated to each other, in one number of one attempt. More are its nature.
constexpr std::size_t kFaults = 3;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// So many iterations at first make agreeing a rank's nature.
constexpr std::size_t kAgreed = 3;

bool same_bits(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// One key over the ranks of one class.
class KeyComparer {
 public:
  KeyComparer(const History& history, const PeerClass& members, std::uint32_t key)
      : history_(history), key_(key) {
    std::vector<std::size_t> ranks = members.members;
    ranks.insert(ranks.end(), members.guests.begin(), members.guests.end());
    for (const std::size_t rank : ranks) {
      if (history.ranks[rank].values.size() <= key || history.ranks[rank].values[key].empty()) {
        continue;
      }
      ranks_.push_back(rank);
      for (const Value& value : history.ranks[rank].values[key]) {
        entries_.push_back({value.iteration, static_cast<std::uint32_t>(rank), value.value});
      }
    }
    std::sort(entries_.begin(), entries_.end(), [](const Printed& a, const Printed& b) {
      return a.iteration != b.iteration ? a.iteration < b.iteration : a.rank < b.rank;
    });
  }

  void run(Agreement& out) {
    if (ranks_.size() < 2) return;
    for (std::size_t from = 0; from < entries_.size();) {
      std::size_t to = from;
      while (to < entries_.size() && entries_[to].iteration == entries_[from].iteration) ++to;
      if (to - from >= least()) compare(from, to);
      from = to;
    }
    if (!is_agreed()) return;
    out.agreed.push_back({key_, compared_});
    report(out.departures);
  }

 private:
  std::size_t least() const { return ranks_.size() == 2 ? 2 : 3; }

  const Precision& precision_of(std::uint32_t rank) {
    auto [at, fresh] = precisions_.try_emplace(rank);
    if (fresh) {
      for (const Value& value : history_.ranks[rank].values[key_]) at->second.add(value.value);
    }
    return at->second;
  }

  bool agree(const Printed& a, const Printed& b) {
    if (same_bits(a.value, b.value)) return true;
    return values_agree(a.value, precision_of(a.rank), b.value, precision_of(b.rank));
  }

  void compare(std::size_t from, std::size_t to) {
    ++compared_;
    bool all_same = true;
    for (std::size_t i = from + 1; i < to && all_same; ++i) {
      all_same = same_bits(entries_[i].value, entries_[from].value);
    }
    if (all_same) {
      usual_.push_back(entries_[from].value);
      return note_united();
    }
    const std::optional<std::size_t> chosen = majority(from, to);
    if (!chosen) {
      ++split_;
      usual_.push_back(kNone);
      return;
    }
    usual_.push_back(entries_[*chosen].value);
    bool united = true;
    for (std::size_t i = from; i < to; ++i) {
      if (agree(entries_[i], entries_[*chosen])) continue;
      united = false;
      dissent_[entries_[i].rank].push_back({i, *chosen, usual_.size() - 1});
    }
    if (united) note_united();
  }

  void note_united() {
    ++united_;
    if (dissent_.empty() && split_ == 0) ++united_first_;
  }

  // An entry whose value more than half agree with: in the middle of the sorted values, or NaN.
  std::optional<std::size_t> majority(std::size_t from, std::size_t to) {
    std::vector<std::size_t> order;
    for (std::size_t i = from; i < to; ++i) order.push_back(i);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const double x = entries_[a].value, y = entries_[b].value;
      if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
      return x != y ? x < y : a < b;
    });
    const std::size_t middle = order[order.size() / 2];
    std::size_t agreeing = 0;
    for (const std::size_t i : order) agreeing += agree(entries_[i], entries_[middle]) ? 1 : 0;
    if (agreeing * 2 <= order.size()) return std::nullopt;
    return middle;
  }

  // Agreement has to be the rule: in most iterations there is a majority, and those who depart from
  // it are few ranks. Two ranks have no majority: they must agree in most iterations.
  bool is_agreed() const {
    if (compared_ < 3 || split_ * 2 >= compared_) return false;
    if (dissent_.size() > few() && !are_unrelated_faults()) return false;
    // A rank that differs most of the time does so by its nature, unless it once agreed.
    return united_ * 2 >= compared_ || united_first_ >= kAgreed || went_wrong();
  }

  std::size_t few() const { return std::max<std::size_t>(1, ranks_.size() / 8); }

  // More than a few ranks depart, but not together: few at a time, for once or for good. Of a
  // number that seldom changes chance may tell the same; one that is another each time, on so many
  // ranks, agrees because it must.
  bool are_unrelated_faults() const {
    if (dissent_.size() * 2 > ranks_.size() || !is_ever_new()) return false;
    std::vector<std::size_t> stretches;
    for (const auto& [rank, places] : dissent_) {
      std::size_t count = 1;
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (is_out_of_step(places[i])) return false;
        count += i > 0 && places[i].at > places[i - 1].at + 1 ? 1 : 0;
      }
      stretches.push_back(count);
    }
    const auto faults = by_beginning();
    if (faults.size() > kFaults) return false;
    for (const auto& [at, ranks] : faults) {
      if (ranks > few()) return false;
    }
    // A few may come and go as they like, as they may alone.
    std::sort(stretches.begin(), stretches.end());
    stretches.resize(stretches.size() - few());
    return std::accumulate(stretches.begin(), stretches.end(), std::size_t{0}) <= kFaults * few();
  }

  // How many ranks first depart at an iteration: they have one fault.
  std::map<std::size_t, std::size_t> by_beginning() const {
    std::map<std::size_t, std::size_t> out;
    for (const auto& [rank, places] : dissent_) ++out[places.front().at];
    return out;
  }

  // Whoever departs agreed before and then stays away for good, or departs once or twice: so an
  // early fault does not make a later one a rank's nature.
  bool went_wrong() const {
    if (by_beginning().size() > kFaults || !is_ever_new()) return false;
    return std::all_of(dissent_.begin(), dissent_.end(), [&](const auto& of_rank) {
      const std::vector<Dissent>& places = of_rank.second;
      const std::size_t span = places.back().at - places.front().at + 1;
      if (places.size() <= 2 && places.size() * 5 <= compared_) return true;
      return places.front().at >= kAgreed && places.size() == span;
    });
  }

  // What most say is mostly another number than in the iteration before.
  bool is_ever_new() const {
    std::size_t numbers = 0, changes = 0;
    double last = kNone;
    for (const double value : usual_) {
      if (!std::isfinite(value)) continue;  // NaN to the end says nothing more
      ++numbers;
      changes += value != last ? 1 : 0;
      last = value;
    }
    return changes * 2 >= numbers;
  }

  // A rank says what most say one iteration earlier or later: a counter that was read too early.
  bool is_out_of_step(const Dissent& place) const {
    const double value = entries_[place.entry].value;
    return (place.at > 0 && value == usual_[place.at - 1]) ||
           (place.at + 1 < usual_.size() && value == usual_[place.at + 1]);
  }

  void report(std::vector<Departure>& out) {
    for (const auto& [rank, places] : dissent_) {
      Departure departure;
      departure.rank = rank;
      departure.kind = DepartureKind::value;
      departure.key = key_;
      departure.first = entries_[places.front().entry].iteration;
      departure.last = entries_[places.back().entry].iteration;
      departure.times = places.size();
      departure.value = entries_[places.front().entry].value;
      departure.expected = entries_[places.front().expected].value;
      const auto n = static_cast<double>(ranks_.size());
      departure.score = 0.95 * (1.0 - (static_cast<double>(dissent_.size()) - 1) / n);
      out.push_back(departure);
    }
    if (ranks_.size() == 2 && split_ > 0) report_pair(out);
  }

  // Nobody can say which of two is right: the second is told as departing from the first.
  void report_pair(std::vector<Departure>& out) {
    Departure departure;
    for (std::size_t i = 0; i + 1 < entries_.size(); ++i) {
      const Printed &a = entries_[i], &b = entries_[i + 1];
      if (a.iteration != b.iteration || agree(a, b)) continue;
      if (departure.times++ == 0) {
        departure.rank = b.rank;
        departure.kind = DepartureKind::value;
        departure.key = key_;
        departure.first = b.iteration;
        departure.value = b.value;
        departure.expected = a.value;
        departure.score = 0.7;
      }
      departure.last = b.iteration;
    }
    out.push_back(departure);
  }

  const History& history_;
  std::uint32_t key_;
  std::vector<std::size_t> ranks_;
  std::vector<Printed> entries_;
  std::map<std::uint32_t, Precision> precisions_;
  std::map<std::uint32_t, std::vector<Dissent>> dissent_;
  std::uint64_t compared_ = 0, united_ = 0, united_first_ = 0, split_ = 0;
  std::vector<double> usual_;  // what most say, of each iteration that was compared
};

}  // namespace

void Precision::add(double value) {
  if (!std::isfinite(value)) return;
  std::array<char, 64> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific)
          .ptr;
  const std::string_view printed(text.data(), static_cast<std::size_t>(end - text.data()));
  const std::size_t e = printed.find('e');
  int count = 0;
  for (const char c : printed.substr(0, e)) count += c >= '0' && c <= '9' ? 1 : 0;
  int exponent = 0;
  const char* power = text.data() + e + 1;
  if (*power == '+') ++power;
  std::from_chars(power, end, exponent);
  digits = std::max(digits, count);
  decimals = std::max(decimals, count - 1 - exponent);
}

bool values_agree(double a, const Precision& of_a, double b, const Precision& of_b) {
  if (same_bits(a, b)) return true;
  if (!std::isfinite(a) || !std::isfinite(b)) return false;
  const double away = std::abs(a - b);
  const int decimals = std::min(of_a.decimals, of_b.decimals);
  const int digits = std::min(of_a.digits, of_b.digits);
  // Printed alike, a difference is one: only the shorter print hides what it rounds away.
  if (of_a.decimals == of_b.decimals && of_a.digits == of_b.digits) return false;
  constexpr double kHalf = 0.5 + 1e-6;
  if (of_a.decimals != of_b.decimals && away <= kHalf * std::pow(10.0, -decimals)) return true;
  if (of_a.digits == of_b.digits || digits < 1) return false;
  const double size = std::max(std::abs(a), std::abs(b));
  return away <= kHalf * std::pow(10.0, std::floor(std::log10(size)) - (digits - 1));
}

Agreement find_agreement(const History& history, const PeerClass& members) {
  Agreement out;
  for (std::uint32_t key = 0; key < history.keys.size(); ++key) {
    if (history.own_measures.contains(key) || is_own_measure(history.keys[key])) continue;
    KeyComparer(history, members, key).run(out);
  }
  return out;
}

}  // namespace logarithm::aggregator
