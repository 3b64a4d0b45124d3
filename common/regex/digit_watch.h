#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace logarithm {

// Where in a text a search looked at the value of a digit, as `[1-9]` and `mlx5` do and `\d` does
// not. A text that has the same digits there, and other ones elsewhere, has the same outcome.
class DigitWatch {
 public:
  static constexpr std::size_t kMost = 24;

  void note(std::uint32_t place) {
    if (std::find(places_.begin(), places_.end(), place) != places_.end()) return;
    if (places_.size() == kMost) {
      all_ = true;
    } else {
      places_.push_back(place);
    }
  }
  void note_all() { all_ = true; }

  // Any digit may matter.
  bool all() const { return all_; }
  const std::vector<std::uint32_t>& places() const { return places_; }

 private:
  std::vector<std::uint32_t> places_;
  bool all_ = false;
};

}  // namespace logarithm
