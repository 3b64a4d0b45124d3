#include "aggregator/triage/lateness.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace logarithm::aggregator::triage {
namespace {

// Among so many ranks one moves no median: they are taken over all, once for a row.
constexpr std::size_t kManyRanks = 64;

Lateness lateness(const Row& row, std::size_t rank) {
  std::vector<double> others;
  for (std::size_t i = 0; i < row.values.size(); ++i) {
    if (i != rank) others.push_back(row.values[i]);
  }
  const double usual = median(others);
  std::vector<double> away;
  for (const double value : others) away.push_back(std::abs(value - usual));
  const auto latest = *std::max_element(others.begin(), others.end());
  return {row.values[rank] - usual, std::max(median(away), (latest - usual) / 2)};
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<std::vector<Lateness>> all_lateness(const std::vector<Row>& rows) {
  const std::size_t ranks = rows.empty() ? 0 : rows.front().values.size();
  std::vector<std::vector<Lateness>> out(ranks);
  for (const Row& row : rows) {
    if (ranks <= kManyRanks) {
      for (std::size_t i = 0; i < ranks; ++i) out[i].push_back(lateness(row, i));
      continue;
    }
    const double usual = median(row.values);
    std::vector<double> away, latest(2);
    for (const double value : row.values) away.push_back(std::abs(value - usual));
    const double spread = median(std::move(away));
    std::partial_sort_copy(row.values.begin(), row.values.end(), latest.begin(), latest.end(),
                           std::greater<>());
    for (std::size_t i = 0; i < ranks; ++i) {
      const double of_others = latest[row.values[i] == latest[0] ? 1 : 0];
      out[i].push_back({row.values[i] - usual, std::max(spread, (of_others - usual) / 2)});
    }
  }
  return out;
}

double usual_worst(const std::vector<std::vector<Lateness>>& ranks, std::size_t but) {
  std::vector<double> worst;
  for (std::size_t r = 0; r < ranks[but].size(); ++r) {
    double most = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (i != but) most = std::max(most, ranks[i][r].by);
    }
    worst.push_back(most);
  }
  return median(worst);
}

}  // namespace logarithm::aggregator::triage
