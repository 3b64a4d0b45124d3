#include "cli/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

namespace logarithm::cli {
namespace {

struct Extent {
  double min = 0, max = 0;
  void widen(double value) {
    min = std::min(min, value);
    max = std::max(max, value);
  }
};

// Dots in characters, 2 wide and 4 high.
class Canvas {
 public:
  Canvas(std::size_t columns, std::size_t rows) : columns_(columns), cells_(columns * rows, 0) {}

  void set(std::size_t x, std::size_t y) {
    static constexpr unsigned char kDots[4][2] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    cells_[y / 4 * columns_ + x / 2] |= kDots[y % 4][x % 2];
  }

  std::string row(std::size_t row) const {
    std::string out;
    for (std::size_t i = 0; i < columns_; ++i) {
      const unsigned char dots = cells_[row * columns_ + i];
      if (dots == 0) {
        out += ' ';
        continue;
      }
      // U+2800 + dots in UTF-8.
      out += '\xE2';
      out += static_cast<char>(0xA0 | dots >> 6);
      out += static_cast<char>(0x80 | (dots & 0x3F));
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
  }

 private:
  std::size_t columns_;
  std::vector<unsigned char> cells_;
};

// A frame: what is drawn where.
class Frame {
 public:
  Frame(Extent x, std::optional<Extent> y, PlotSize size)
      : x_(x),
        y_(y),
        high_(y ? short_number(y->max) : ""),
        low_(y ? short_number(y->min) : ""),
        label_(std::max({std::size_t{3}, high_.size(), low_.size()})),
        columns_(std::max(size.columns, label_ + 2 + kLeastColumns) - label_ - 2),
        rows_(std::max<std::size_t>(size.rows, 2)),
        canvas_(columns_, rows_),
        nan_(columns_, ' '),
        inf_(columns_, ' ') {}

  void draw(const PlotLine& line) {
    std::optional<PlotPoint> before;
    for (const PlotPoint& point : line) {
      if (!std::isfinite(point.y)) {
        (std::isnan(point.y) ? nan_ : inf_)[dot_x(point.x) / 2] = 'x';
        before.reset();
        continue;
      }
      connect(before.value_or(point), point);
      before = point;
    }
  }

  std::string text() const {
    const std::string lost[2] = {nan_, inf_};
    std::string out;
    for (std::size_t i = 0; y_ && i < rows_; ++i) {
      const std::string& label = i == 0 ? high_ : low_;
      const bool labelled = i == 0 || i + 1 == rows_;
      out += labelled ? std::string(label_ - label.size(), ' ') + label : std::string(label_, ' ');
      out += " │" + canvas_.row(i) + "\n";
    }
    for (std::size_t i = 0; i < 2; ++i) {
      const std::size_t last = lost[i].find_last_not_of(' ');
      if (last == std::string::npos) continue;
      out += std::string(label_ - 3, ' ') + (i == 0 ? "NaN" : "inf") + " │" +
             lost[i].substr(0, last + 1) + "\n";
    }
    out += std::string(label_, ' ') + " └";
    for (std::size_t i = 0; i < columns_; ++i) out += "─";
    const std::string first = short_number(x_.min), final = short_number(x_.max);
    out += "\n" + std::string(label_ + 2, ' ') + first;
    if (x_.max > x_.min && first.size() + final.size() < columns_) {
      out += std::string(columns_ - first.size() - final.size(), ' ') + final;
    }
    return out + "\n";
  }

 private:
  static std::size_t place(double value, const Extent& extent, std::size_t dots) {
    if (!(extent.max > extent.min)) return 0;
    // Halves: the difference of two huge ends would be infinite.
    const double part = (value / 2 - extent.min / 2) / (extent.max / 2 - extent.min / 2);
    if (!(part >= 0)) return 0;  // ends so near that their halves are one
    const double at = std::round(part * static_cast<double>(dots - 1));
    return static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(dots - 1)));
  }
  std::size_t dot_x(double x) const { return place(x, x_, columns_ * 2); }
  std::size_t dot_y(double y) const { return rows_ * 4 - 1 - place(y, *y_, rows_ * 4); }

  void connect(const PlotPoint& from, const PlotPoint& to) {
    const auto x0 = static_cast<long>(dot_x(from.x)), y0 = static_cast<long>(dot_y(from.y));
    const auto x1 = static_cast<long>(dot_x(to.x)), y1 = static_cast<long>(dot_y(to.y));
    const long steps = std::max({std::labs(x1 - x0), std::labs(y1 - y0), 1L});
    for (long i = 0; i <= steps; ++i) {
      canvas_.set(static_cast<std::size_t>(x0 + (x1 - x0) * i / steps),
                  static_cast<std::size_t>(y0 + (y1 - y0) * i / steps));
    }
  }

  static constexpr std::size_t kLeastColumns = 10;

  Extent x_;
  std::optional<Extent> y_;  // absent: nothing finite
  std::string high_, low_;   // labels of its ends
  std::size_t label_;        // their width
  std::size_t columns_, rows_;
  Canvas canvas_;
  std::string nan_, inf_;
};

}  // namespace

std::string short_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char text[40];
  if (value == std::floor(value) && std::fabs(value) < 1e15) {
    std::snprintf(text, sizeof text, "%.0f", value);
  } else {
    std::snprintf(text, sizeof text, "%.5g", value);
  }
  return text;
}

std::string plot(const std::vector<PlotLine>& lines, PlotSize size) {
  std::optional<Extent> x, y;
  for (const PlotLine& line : lines) {
    for (const PlotPoint& point : line) {
      if (!x) x = Extent{point.x, point.x};
      x->widen(point.x);
      if (!std::isfinite(point.y)) continue;
      if (!y) y = Extent{point.y, point.y};
      y->widen(point.y);
    }
  }
  if (!x) return "";
  Frame frame(*x, y, size);
  for (const PlotLine& line : lines) frame.draw(line);
  return frame.text();
}

}  // namespace logarithm::cli
