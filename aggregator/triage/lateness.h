#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace logarithm::aggregator::triage {

// The upper one of two in the middle; 0 of none.
double median(std::vector<double> values);

// What the ranks did in one iteration: when they said a line, or a time that they printed;
// nanoseconds.
struct Row {
  std::int64_t iteration = 0;
  std::vector<double> values;  // by position of the rank; of the same ranks in every row
};

// Of one rank in one row, against the median of the others; and how far these differ. Nanoseconds.
struct Lateness {
  double by = 0, spread = 0;
};

// Of every rank in every row, by rank. Rows need two ranks at least.
std::vector<std::vector<Lateness>> all_lateness(const std::vector<Row>& rows);

// How late the latest of the others typically is: on a busy host somebody always is.
double usual_worst(const std::vector<std::vector<Lateness>>& ranks, std::size_t but);

}  // namespace logarithm::aggregator::triage
