// Grey images, each with a caption, as one SVG picture.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

struct Picture {
  std::vector<float> pixels;  // ink from 0 to 1, row by row
  std::int64_t width = 0;
  std::string caption;
  bool right = true;  // else the caption is red
};

/// Writes the pictures, `columns` in a row, below a title. Returns the absolute path, or "cannot
/// write PATH".
inline std::string draw_pictures(const std::vector<Picture>& pictures, std::size_t columns,
                                 const std::string& title, const std::string& path) {
  constexpr std::int64_t kWidth = 800, kGap = 14, kText = 22, kTitle = 34;
  std::int64_t width = 1, height = 1;
  for (const Picture& p : pictures) {
    width = std::max(width, p.width);
    height = std::max(height, static_cast<std::int64_t>(p.pixels.size()) / p.width);
  }
  const auto in_row = static_cast<std::int64_t>(columns);
  const std::int64_t pixel = std::max<std::int64_t>(1, (kWidth / in_row - kGap) / width);
  const std::int64_t across = pixel * width + kGap, down = pixel * height + kText + kGap;
  const std::int64_t rows = (static_cast<std::int64_t>(pictures.size()) + in_row - 1) / in_row;
  std::ofstream svg(path);
  svg << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " << in_row * across + kGap << ' '
      << kTitle + rows * down << "' font-family='sans-serif' font-size='15'>\n"
      << "<rect width='100%' height='100%' fill='white'/><text x='" << kGap << "' y='22'>" << title
      << "</text>\n";
  std::map<int, std::string> squares;  // of each grey, as path data
  for (std::size_t n = 0; n < pictures.size(); ++n) {
    const Picture& p = pictures[n];
    const std::int64_t left = kGap + static_cast<std::int64_t>(n) % in_row * across;
    const std::int64_t top = kTitle + static_cast<std::int64_t>(n) / in_row * down;
    const std::string side = std::to_string(pixel);
    for (std::size_t i = 0; i < p.pixels.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const int grey = 255 - static_cast<int>(255 * std::clamp(p.pixels[i], 0.f, 1.f));
      if (grey == 255) continue;
      squares[grey] += "M" + std::to_string(left + pixel * (at % p.width)) + " " +
                       std::to_string(top + pixel * (at / p.width)) + "h" + side + "v" + side +
                       "h-" + side + "z";
    }
    svg << "<rect x='" << left << "' y='" << top << "' width='" << pixel * p.width << "' height='"
        << pixel * height << "' fill='none' stroke='#ccc'/><text x='" << left << "' y='"
        << top + pixel * height + kText - 5 << "' fill='" << (p.right ? "black" : "red") << "'>"
        << p.caption << "</text>\n";
  }
  for (const auto& [grey, data] : squares) {
    svg << "<path shape-rendering='crispEdges' fill='rgb(" << grey << ',' << grey << ',' << grey
        << ")' d='" << data << "'/>\n";
  }
  svg << "</svg>\n";
  svg.close();
  return (svg.good() ? "" : "cannot write ") + std::filesystem::absolute(path).string();
}
