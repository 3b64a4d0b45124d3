#include "aggregator/triage/values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "aggregator/query/own_measure.h"

namespace logarithm::aggregator::triage {
namespace {

// So many iterations in which all agree make a number one that must agree.
constexpr std::size_t kAgreed = 5;

struct At {
  const RankFacts* rank = nullptr;
  const Sample* sample = nullptr;
};

// Per iteration, what each rank said of one metric.
using Table = std::map<std::int64_t, std::vector<At>>;

std::map<std::string, Table> tables_of(const Facts& facts) {
  std::map<std::string, Table> out;
  for (const RankFacts& rank : facts.ranks) {
    for (const auto& [key, metric] : rank.metrics) {
      for (const Sample& sample : metric.samples) {
        out[key][sample.iteration].push_back({&rank, &sample});
      }
    }
  }
  return out;
}

// How many ranks say a number at all.
std::size_t said_by(const Facts& facts, const std::string& key) {
  std::size_t out = 0;
  for (const RankFacts& rank : facts.ranks) out += rank.metrics.contains(key) ? 1 : 0;
  return out;
}

// Digits after the point with which a number is written when nothing is lost.
int decimals_of(double value) {
  std::array<char, 400> text;
  const auto end = std::to_chars(text.begin(), text.end(), value, std::chars_format::fixed).ptr;
  const auto* point = std::find(text.begin(), end, '.');
  return point == end ? 0 : static_cast<int>(end - point) - 1;
}

// One line rounds a number to four digits, another to six. A rank whose second line is still to
// come has said the same as the others, as far as the coarser of the two tells.
bool same(const Sample& a, const Sample& b) {
  if (a.value == b.value || (std::isnan(a.value) && std::isnan(b.value))) return true;
  if (a.template_id == b.template_id) return false;
  if (!std::isfinite(a.value) || !std::isfinite(b.value)) return false;
  const int decimals = std::min(decimals_of(a.value), decimals_of(b.value));
  return std::abs(a.value - b.value) <= 0.51 * std::pow(10.0, -decimals);
}

// The rank that alone says another number than all others; nullptr when all agree or it is not one.
const At* odd_one(const std::vector<At>& row, bool& all_agree) {
  all_agree = true;
  if (row.size() < 3) return nullptr;
  // Of three, two are the same or none is worth comparing.
  const Sample &a = *row[0].sample, &b = *row[1].sample, &c = *row[2].sample;
  const Sample& usual = same(a, b) || same(a, c) ? a : b;
  const At* odd = nullptr;
  std::size_t others = 0;
  for (const At& at : row) {
    if (same(*at.sample, usual)) continue;
    odd = &at;
    ++others;
  }
  all_agree = others == 0;
  return others == 1 ? odd : nullptr;
}

Candidate candidate_of(const At& at, std::string kind) {
  Candidate out;
  out.ranks = {at.rank->rank};
  out.kind = std::move(kind);
  out.at = at.rank;
  out.when = {at.sample->time, at.sample->time + at.rank->resolution};
  out.line = at.sample->line;
  out.iteration = at.sample->iteration;
  return out;
}

std::optional<Candidate> departure_in(const Table& table, const std::string& key) {
  // Not every rank says every number: of a pipeline the last stage alone knows the loss.
  std::size_t world = 0;
  for (const auto& [iteration, row] : table) world = std::max(world, row.size());
  if (world < 3) return std::nullopt;
  std::size_t agreed = 0, differed = 0;
  const At* first = nullptr;
  std::size_t departures = 0;
  for (const auto& [iteration, row] : table) {
    if (row.size() < world) continue;  // somebody has not said it yet
    bool all_agree = false;
    const At* odd = odd_one(row, all_agree);
    if (all_agree) {
      if (first == nullptr) ++agreed;
      continue;
    }
    if (odd == nullptr && first == nullptr) ++differed;  // never meant to agree
    if (odd == nullptr) continue;
    if (std::isnan(odd->sample->value)) return std::nullopt;  // find_nan() knows better
    if (first == nullptr) first = odd;
    if (odd->rank == first->rank) ++departures;
  }
  if (first == nullptr || agreed < kAgreed || differed > 0 || departures == 0) return std::nullopt;
  Candidate out = candidate_of(*first, "corruption");
  out.claim = key + ", the same on all ranks until then, is another one on " +
              name_ranks({first->rank->rank}) + " at iteration " +
              std::to_string(first->sample->iteration);
  out.confidence = departures > 1 ? 0.9 : 0.75;
  return out;
}

}  // namespace

std::optional<Candidate> find_nan(const Analysis& analysis) {
  // (iteration, key) -> where it began there.
  std::map<std::int64_t, std::map<std::string, std::vector<At>>> began;
  for (const RankFacts& rank : analysis.facts.ranks) {
    for (const auto& [key, metric] : rank.metrics) {
      if (!metric.first_nan || !metric.finite_before) continue;
      began[metric.first_nan->iteration][key].push_back({&rank, &*metric.first_nan});
    }
  }
  if (began.empty()) return std::nullopt;
  const auto& [iteration, keys] = *began.begin();
  const std::vector<At>* fewest = nullptr;
  const std::string* name = nullptr;
  for (const auto& [key, where] : keys) {
    if (fewest != nullptr && where.size() >= fewest->size()) continue;
    fewest = &where;
    name = &key;
  }
  // All say it, or one rank speaks for all: then who named a NaN in words knows better.
  const std::size_t saying = said_by(analysis.facts, *name);
  if (2 * fewest->size() > saying) {
    for (const Outcome& outcome : analysis.outcomes) {
      if (outcome.end == End::root && outcome.cause->kind == "nan") return std::nullopt;
    }
  }
  Candidate out = candidate_of(fewest->front(), "nan");
  out.ranks.clear();
  for (const At& at : *fewest) out.ranks.push_back(at.rank->rank);
  out.claim = *name + " became NaN on " + name_ranks(as_set(out.ranks)) + " at iteration " +
              std::to_string(iteration);
  out.confidence = fewest->size() == 1 ? 0.95 : 0.6;
  return out;
}

std::optional<Candidate> find_corruption(const Analysis& analysis) {
  std::optional<Candidate> first;
  for (const auto& [key, table] : tables_of(analysis.facts)) {
    if (is_own_measure(key)) continue;
    auto found = departure_in(table, key);
    if (!found) continue;
    if (!first || *found->iteration < *first->iteration) first = std::move(found);
  }
  return first;
}

}  // namespace logarithm::aggregator::triage
