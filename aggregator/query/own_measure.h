#pragma once

#include <string_view>
#include <vector>

// What is measured on each rank for itself (times, rates, memory), which nobody expects to agree:
// chance may let it for a while. A number's name says so, or the unit behind it.
namespace logarithm::aggregator {

bool is_own_measure(std::string_view key);

// Of a time or of a rate: "ms", "seconds", "s/it", "samples/s", "tokens per second", "TFLOPs".
bool is_own_unit(std::string_view unit);

// The word that may be a unit, of what stands behind a number.
std::string_view unit_of(std::string_view behind);

// The units of the numbers that a template's text gives the name `key`: "ms" of "batch ready in
// <*> ms" and "batch_ready_in". A word with a number behind it is the next name, and no unit.
std::vector<std::string_view> units_behind(std::string_view template_text, std::string_view key);

}  // namespace logarithm::aggregator
