#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace logarithm {

// Where in a text a search looked at the value of a digit, as `[1-9]` and `mlx5` do and `\d` does
// not. A text that has the same digits there, and other ones elsewhere, has the same outcome.
//
// And where it looked at how many digits a number has, as `\d{4}` does and `\d+` does not: a text
// whose other numbers have any digits, more or fewer of them, has the same outcome at the places
// that these numbers begin and end at.
class DigitWatch {
 public:
  static constexpr std::size_t kMost = 24;
  static constexpr std::size_t kWidths = 512;  // bytes in which widths are told apart

  void note(std::uint32_t place) {
    note_width(place);
    if (std::find(places_.begin(), places_.end(), place) != places_.end()) return;
    if (places_.size() == kMost) {
      all_ = true;
    } else {
      places_.push_back(place);
    }
  }
  void note_all() { all_ = true; }
  // `place` is any digit of the number.
  void note_width(std::uint32_t place) {
    if (place >= kWidths) return;
    widths_[place / 64] |= std::uint64_t{1} << (place % 64);
  }

  // Any digit may matter.
  bool all() const { return all_; }
  const std::vector<std::uint32_t>& places() const { return places_; }
  // Whether note_width() was called for this digit; always true past kWidths.
  bool noted_width(std::size_t place) const {
    return place >= kWidths || (widths_[place / 64] >> (place % 64) & 1) != 0;
  }

 private:
  std::vector<std::uint32_t> places_;
  std::array<std::uint64_t, kWidths / 64> widths_{};
  bool all_ = false;
};

}  // namespace logarithm
