// Curves over the steps of training as an SVG picture.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

struct Curve {
  struct Point {
    double step, value;
  };
  std::string name, colour;
  std::vector<Point> points;
  bool marked = false;  // a dot at each point
};

/// The distance of about `count` ticks up to `end`: 1, 2 or 5 times a power of ten.
inline double tick_distance(double end, int count) {
  const double rough = std::max(end, 1e-9) / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double digit : {1, 2, 5}) {
    if (digit * power >= rough) return digit * power;
  }
  return 10 * power;
}

/// Axes from 0, with ticks, a grid and a legend.
class CurveDrawing {
 public:
  CurveDrawing(double steps, double top) : steps_(steps), top_(top) {}

  std::string svg(const std::vector<Curve>& curves, const std::string& title) {
    out_ << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 640 360' "
            "font-family='sans-serif' font-size='13'>\n"
            "<rect width='640' height='360' fill='white'/>\n"
            "<text x='60' y='24' font-size='15'>"
         << title << "</text>\n";
    draw_ticks();
    for (const Curve& curve : curves) draw(curve);
    double legend = 56;
    out_ << "<rect x='462' y='40' width='158' height='" << 20 * curves.size() + 4
         << "' fill='white'/>\n";
    for (const Curve& curve : curves) {
      out_ << "<path d='M470 " << legend - 4 << "h24' stroke='" << curve.colour
           << "' stroke-width='2'/><text x='500' y='" << legend << "'>" << curve.name
           << "</text>\n";
      legend += 20;
    }
    out_ << "</svg>\n";
    return out_.str();
  }

 private:
  double x(double step) const { return tenths(60 + 560 * step / steps_); }
  double y(double value) const { return tenths(315 - 275 * value / top_); }
  static double tenths(double value) { return std::round(10 * value) / 10; }

  void draw_ticks() {
    const double across = tick_distance(steps_, 8), up = tick_distance(top_, 6);
    for (double step = 0; step <= steps_ * 1.001; step += across) {
      out_ << "<text x='" << x(step) << "' y='334' text-anchor='middle'>" << step << "</text>\n";
    }
    for (double value = 0; value <= top_ * 1.001; value += up) {
      out_ << "<path d='M60 " << y(value) << "H620' stroke='" << (value == 0 ? "black" : "#ddd")
           << "'/><text x='52' y='" << y(value) + 4 << "' text-anchor='end'>" << value
           << "</text>\n";
    }
    out_ << "<text x='620' y='352' text-anchor='end'>step</text>\n";
  }

  void draw(const Curve& curve) {
    out_ << "<polyline fill='none' stroke='" << curve.colour << "' stroke-width='"
         << (curve.marked ? 2 : 1) << "' points='";
    for (const Curve::Point& p : curve.points) out_ << x(p.step) << ',' << y(p.value) << ' ';
    out_ << "'/>\n";
    if (!curve.marked) return;
    for (const Curve::Point& p : curve.points) {
      out_ << "<circle cx='" << x(p.step) << "' cy='" << y(p.value) << "' r='3' fill='"
           << curve.colour << "'/>\n";
    }
  }

  double steps_, top_;
  std::ostringstream out_;
};

/// Writes the picture to `path`. Returns the absolute path, or "cannot write PATH".
inline std::string draw_curves(const std::vector<Curve>& curves, const std::string& title,
                               const std::string& path) {
  double steps = 1, top = 0;
  for (const Curve& curve : curves) {
    for (const Curve::Point& p : curve.points) {
      steps = std::max(steps, p.step);
      top = std::max(top, p.value);
    }
  }
  std::ofstream file(path);
  file << CurveDrawing(steps, std::max(top, 1e-9)).svg(curves, title);
  file.close();
  return (file.good() ? "" : "cannot write ") + std::filesystem::absolute(path).string();
}
