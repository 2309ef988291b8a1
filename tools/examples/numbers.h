// Makes images of numbers from digits side by side; the width is the time axis of the reader.
#pragma once

#include "digits.h"

#include <kiln/array.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

/// `count` numbers of 3 to 8 digits with gaps of 0 to 4 pixels before, between and behind them.
/// Training adds noise and shifts each digit up or down by at most a pixel.
struct Numbers {
  static constexpr std::int64_t kMin = 3, kMax = 8, kGap = 4;
  static constexpr std::int64_t kHeight = Digits::kSide + 2;
  static constexpr std::int64_t kWidth = kMax * Digits::kSide + (kMax + 1) * kGap;
  static constexpr std::int64_t kStep = 2;  // pixels of the width for one time step

  kiln::Array images;  // (count, kWidth, kHeight, 1): the width is time
  kiln::Array labels, steps, lengths;  // int32 (count, kMax), (count), (count)

  Numbers(std::int64_t count, const Digits& digits, std::mt19937& random, bool training)
      : images(kiln::Array::zeros({count, kWidth, kHeight, 1})),
        labels(kiln::Array::zeros({count, kMax}, kiln::DType::Int32)),
        steps(kiln::Array::zeros({count}, kiln::DType::Int32)),
        lengths(steps) {
    const auto below = [&](auto n) { return static_cast<std::int64_t>(random() % n); };
    float* image = images.as<float>().data();
    std::int32_t* label = labels.as<std::int32_t>().data();
    for (std::int64_t i = 0; i < count; ++i, image += kWidth * kHeight, label += kMax) {
      const std::int64_t length = kMin + below(kMax - kMin + 1);
      std::int64_t x = below(kGap + 1);
      for (std::int64_t j = 0; j < length; ++j, x += Digits::kSide + below(kGap + 1)) {
        const auto pick = static_cast<std::size_t>(below(digits.size()));
        const std::int64_t y = training ? below(3) : 1;
        const auto pixels = digits.image(pick);
        for (std::int64_t p = 0; p < Digits::kPixels; ++p) {
          image[(x + p % Digits::kSide) * kHeight + y + p / Digits::kSide] = pixels[p];
        }
        label[j] = digits.labels[pick];
      }
      for (std::int64_t p = 0; training && p < kWidth * kHeight; ++p) {
        image[p] += 0.1f * (static_cast<float>(random()) * 0x1p-31f - 1);
      }
      steps.as<std::int32_t>()[i] = static_cast<std::int32_t>((x + kStep - 1) / kStep);
      lengths.as<std::int32_t>()[i] = static_cast<std::int32_t>(length);
    }
  }

  std::string text(std::int64_t i) const {
    std::string text;
    for (std::int64_t j = 0; j < lengths.at<std::int32_t>(i); ++j) {
      text += static_cast<char>('0' + labels.at<std::int32_t>(i, j));
    }
    return text;
  }
  /// The image row by row, as Picture has it.
  std::vector<float> pixels(std::int64_t i) const {
    std::vector<float> pixels;
    for (std::int64_t p = 0; p < kWidth * kHeight; ++p) {
      pixels.push_back(images.at<float>(i, p % kWidth, p / kWidth, 0));
    }
    return pixels;
  }
};
