// Grey images, each with a caption, as one SVG picture.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

struct Picture {
  std::vector<float> pixels;  // ink from 0 to 1, row by row
  std::int64_t width = 0;
  std::string caption;
  bool right = true;  // else the caption is red
};

/// Where it is, or that it cannot be written. `columns` pictures in a row.
inline std::string draw_pictures(const std::vector<Picture>& pictures, std::size_t columns,
                                 const std::string& path) {
  constexpr std::int64_t kPixel = 8, kGap = 16, kText = 24;
  std::int64_t width = 0, height = 0;
  for (const Picture& p : pictures) {
    width = std::max(width, p.width);
    height = std::max(height, static_cast<std::int64_t>(p.pixels.size()) / p.width);
  }
  const std::int64_t across = kPixel * width + kGap, down = kPixel * height + kText + kGap;
  const auto rows = static_cast<std::int64_t>((pictures.size() + columns - 1) / columns);
  std::ofstream svg(path);
  svg << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 "
      << static_cast<std::int64_t>(columns) * across + kGap << ' ' << rows * down + kGap
      << "' font-family='sans-serif'><rect width='100%' height='100%' fill='white'/>\n";
  for (std::size_t n = 0; n < pictures.size(); ++n) {
    const Picture& p = pictures[n];
    const std::int64_t left = kGap + static_cast<std::int64_t>(n % columns) * across;
    const std::int64_t top = kGap + static_cast<std::int64_t>(n / columns) * down;
    for (std::size_t i = 0; i < p.pixels.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const int grey = 255 - static_cast<int>(255 * std::clamp(p.pixels[i], 0.f, 1.f));
      svg << "<rect x='" << left + kPixel * (at % p.width) << "' y='"
          << top + kPixel * (at / p.width) << "' width='" << kPixel << "' height='" << kPixel
          << "' fill='rgb(" << grey << ',' << grey << ',' << grey << ")'/>";
    }
    svg << "<text x='" << left << "' y='" << top + kPixel * height + kText - 6 << "' fill='"
        << (p.right ? "black" : "red") << "'>" << p.caption << "</text>\n";
  }
  svg << "</svg>\n";
  svg.close();
  return (svg.good() ? "" : "cannot write ") + std::filesystem::absolute(path).string();
}
