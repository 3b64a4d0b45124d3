#pragma once

#include <cstddef>
#include <vector>

#include "aggregator/compare/comparison.h"
#include "aggregator/compare/pair_lines.h"
#include "aggregator/http/json_text.h"

namespace logarithm::aggregator {

// "%016x", as lines have it.
std::string template_text_of(TemplateId id);

// The members of a comparison's object: ranks, peers, consensus, values, first_divergence,
// departures.
void write_comparison(JsonWriter& out, const Comparison& comparison);
// Only: first_divergence, departures.
void write_departures(JsonWriter& out, const Comparison& comparison);
// Only: ranks, first_divergence, departures.
void write_first(JsonWriter& out, const Comparison& comparison,
                 const std::set<std::int32_t>& ranks);
// Only: ranks, peers, consensus, values.
void write_consensus(JsonWriter& out, const Comparison& comparison);

// Two ranks side by side; rows that are the same are counted beyond `context` of them around a
// difference.
struct PairView {
  std::array<std::int32_t, 2> ranks{};
  const std::vector<PairLine>* left = nullptr;
  const std::vector<PairLine>* right = nullptr;
  const std::vector<PairRow>* rows = nullptr;
  std::size_t limit = 0, context = 0;
};
// first_divergence, departures and rows.
void write_pair(JsonWriter& out, const PairView& view);

}  // namespace logarithm::aggregator
