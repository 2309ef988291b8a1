// The loss curve as an SVG picture.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

/// Where it is, or that it cannot be written.
inline std::string draw_curve(const std::vector<double>& losses, const std::string& path) {
  std::ofstream svg(path);
  const double top = *std::max_element(losses.begin(), losses.end());
  svg << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 640 360' font-family='sans-serif'>"
      << "<rect width='640' height='360' fill='white'/><path d='M50 20V320H620' fill='none' "
      << "stroke='black'/><text x='8' y='30'>" << top << "</text><text x='30' y='325'>0</text>"
      << "<text x='280' y='350'>" << losses.size() << " steps, nats/char</text>"
      << "<polyline fill='none' stroke='steelblue' points='";
  for (std::size_t i = 0; i < losses.size(); ++i) {
    svg << 50 + 570.0 * static_cast<double>(i) / std::max<double>(1, losses.size() - 1.0) << ','
        << 320 - 300 * losses[i] / top << ' ';
  }
  svg << "'/></svg>\n";
  svg.close();
  return (svg.good() ? "" : "cannot write ") + std::filesystem::absolute(path).string();
}
