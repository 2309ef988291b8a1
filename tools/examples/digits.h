// Reads handwritten digits from CSV, gzipped or plain, an image a line: 64 pixels from 0 to 16, row
// by row, then the digit. E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten
// Digits", UCI Machine Learning Repository, 1998.
#pragma once

#include <kiln/error.h>

#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#ifndef DIGITS_FILE  // where tools/digits puts them
#define DIGITS_FILE "build/data/digits.csv.gz"
#define DIGITS_COMMAND "tools/digits"
#endif

struct Digits {
  static constexpr std::int64_t kSide = 8, kPixels = kSide * kSide;

  std::vector<float> pixels;  // from 0 to 1, image by image
  std::vector<std::int32_t> labels;  // from 0 to 9

  std::size_t size() const { return labels.size(); }
  std::span<const float> image(std::size_t i) const {
    return std::span(pixels).subspan(i * kPixels, kPixels);
  }
  void add(const Digits& from, std::size_t i) {
    const auto image = from.image(i);
    pixels.insert(pixels.end(), image.begin(), image.end());
    labels.push_back(from.labels[i]);
  }
  /// Adds the image of a line "64 numbers from 0 to 16 and a digit, separated by commas"; false for
  /// any other line.
  bool add_line(const std::string& line) {
    std::array<int, kPixels + 1> values{};
    const char* at = line.data();
    const char* const end = at + line.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0 && (at == end || *at++ != ',')) return false;
      const auto [next, error] = std::from_chars(at, end, values[i]);
      if (error != std::errc() || values[i] < 0 || values[i] > (i < kPixels ? 16 : 9)) return false;
      at = next;
    }
    for (std::size_t i = 0; i < kPixels; ++i) pixels.push_back(static_cast<float>(values[i]) / 16);
    labels.push_back(values.back());
    return at == end;
  }
};

/// Largest unpacked file of digits, in bytes.
constexpr std::size_t kMaxBytes = std::size_t{1} << 30;

/// All lines of a file. Errors: IoError, also for a damaged archive.
inline std::vector<std::string> read_lines(const std::string& path) {
  const auto fail = [&] { throw kiln::IoError("--data", "", "cannot read " + path); };
  std::error_code missing;
  const auto status = std::filesystem::status(path, missing);
  // Checked before opening: open() of a named pipe blocks, and a device has no end.
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw kiln::IoError("--data", "", path + " is not a regular file");
  }
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) fail();
  std::string text;
  std::array<char, 65536> buffer;
  int read = 0;
  while ((read = gzread(file.get(), buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(read));
    if (text.size() > kMaxBytes) throw kiln::IoError("--data", "", path + " has too many bytes");
  }
  int error = Z_OK;
  gzerror(file.get(), &error);  // also set where the archive is truncated
  if (read < 0 || error != Z_OK) fail();
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    if (!lines.back().empty() && lines.back().back() == '\r') lines.back().pop_back();
    at = end + 1;
  }
  return lines;
}

struct DigitSets {
  Digits train, held_out;  // four fifths and one fifth; the same ones for the same file
};

/// Reads `path`, or the file of tools/digits where it is empty.
/// Errors: IoError; ValueError for a line of another form and for less than 10 images.
inline DigitSets read_digits(const std::string& path) {
  if (path.empty() && !std::filesystem::exists(DIGITS_FILE)) {
    throw kiln::IoError("--data", "",
                        "no file " DIGITS_FILE ": run " DIGITS_COMMAND ", or name a file");
  }
  const std::string name = path.empty() ? DIGITS_FILE : path;
  Digits all;
  std::size_t number = 0;
  for (const std::string& line : read_lines(name)) {
    ++number;
    if (line.empty() || all.add_line(line)) continue;
    throw kiln::ValueError(
        "--data", "",
        name + ":" + std::to_string(number) + ": not 64 numbers from 0 to 16 and a digit");
  }
  if (all.size() < 10) {
    throw kiln::ValueError(
        "--data", "",
        name + " has " + std::to_string(all.size()) + " images, and at least 10 are needed");
  }
  std::vector<std::size_t> order(all.size());
  std::mt19937 random(1);
  for (std::size_t i = 0; i < order.size(); ++i) {  // a random permutation, the same everywhere
    const std::size_t j = random() % (i + 1);
    order[i] = order[j];
    order[j] = i;
  }
  DigitSets sets;
  for (std::size_t i = 0; i < order.size(); ++i) {
    (i < order.size() / 5 ? sets.held_out : sets.train).add(all, order[i]);
  }
  return sets;
}
