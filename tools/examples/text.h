// Reads text files, holds out the last tenth of each, and makes batches of character numbers.
#pragma once

#include <kiln/k.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

struct Text {
  std::string train, held_out, alphabet;

  void add_file(const std::filesystem::path& path) {
    std::error_code missing;
    const auto status = std::filesystem::status(path, missing);
    // Checked before opening: open() of a named pipe blocks, and a device has no end.
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
      throw kiln::IoError("--text", "", path.string() + " is not a regular file");
    }
    std::ifstream file(path, std::ios::binary);
    if (!file.is_open()) throw kiln::IoError("--text", "", "cannot read " + path.string());
    const std::string all((std::istreambuf_iterator<char>(file)), {});
    const std::size_t cut = all.size() - all.size() / 10;
    train += all.substr(0, cut);
    held_out += all.substr(cut);
  }

  explicit Text(const std::string& name) {
    std::vector<std::filesystem::path> paths;
    if (!name.empty()) {
      paths.push_back(name);
    } else {
      std::error_code missing;
      const std::filesystem::directory_iterator entries("/usr/share/common-licenses", missing);
      for (const auto& entry : entries) {
        if (entry.is_regular_file() && !entry.is_symlink()) paths.push_back(entry.path());
      }
      std::sort(paths.begin(), paths.end());
    }
    if (paths.empty()) {
      throw kiln::IoError("--text", "", "no files in /usr/share/common-licenses; name a text");
    }
    for (const auto& path : paths) add_file(path);
    if (held_out.size() < 2)
      throw kiln::ValueError("--text", "", "the text has too few characters");
    alphabet = train + held_out;
    std::sort(alphabet.begin(), alphabet.end());
    alphabet.erase(std::unique(alphabet.begin(), alphabet.end()), alphabet.end());
  }

  std::int32_t index(char c) const { return static_cast<std::int32_t>(alphabet.find(c)); }

  /// Rows of `time` characters from `starts`, and the characters that follow each.
  std::pair<kiln::Array, kiln::Array> batch(const std::string& from,
                                            const std::vector<std::size_t>& starts,
                                            std::int64_t time) const {
    std::vector<std::int32_t> x, y;
    for (std::size_t start : starts) {
      for (std::size_t i = start; i < start + static_cast<std::size_t>(time); ++i) {
        x.push_back(index(from[i]));
        y.push_back(index(from[i + 1]));
      }
    }
    const std::vector<std::int64_t> shape{static_cast<std::int64_t>(starts.size()), time};
    return {kiln::Array(x, shape), kiln::Array(y, shape)};
  }
};
