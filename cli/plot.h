#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace logarithm::cli {

struct PlotPoint {
  double x = 0, y = 0;
};
// Points by ascending x. A y that is NaN or infinite breaks the line and is marked under it.
using PlotLine = std::vector<PlotPoint>;

struct PlotSize {
  std::size_t columns = 80;  // of the whole plot, labels included
  std::size_t rows = 15;     // of the area between the axes
};

// Lines over each other in one frame, in braille dots (2 x 4 a character), with the range of y on
// the left and that of x below. A row "NaN" (and "inf") marks with an x the columns where some line
// has one. Every output line ends with '\n'; empty when there are no points.
std::string plot(const std::vector<PlotLine>& lines, PlotSize size);

// "0.0012", "1.5e+09", "NaN": at most 7 characters for most values.
std::string short_number(double value);

}  // namespace logarithm::cli
