#pragma once

#include <string>
#include <vector>

namespace logarithm::bench {

// Lines of the shapes of tests/data/formats.jsonl (files' paths left out), their digits varied at
// random, so that templates repeat and values do not. The same for the same seed.
std::vector<std::string> mixed_lines(std::size_t count, unsigned seed);

// The same, and one number in four of their messages has a digit more or less, as counters and
// measurements have: most lines then have a shape (common/line/digit_shape.h) that few others have.
std::vector<std::string> widened_lines(std::size_t count, unsigned seed);

// Lines of 1 MiB that try what is expensive: one run of a letter, digits, quotes, pairs, words.
std::vector<std::pair<std::string, std::string>> hostile_lines();

}  // namespace logarithm::bench
