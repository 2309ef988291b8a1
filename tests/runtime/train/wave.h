// The numbers of keras_layers.py: weights and inputs without files.
#pragma once

#include "tests/support/catch.h"

#include <kiln/train.h>

#include <cmath>
#include <string>
#include <vector>

namespace kiln::testing {

/// scale * sin(phase + 0.7 k) for the elements k = 0, 1, .. as float32.
inline Array wave(const std::vector<std::int64_t>& shape, double phase, double scale = 0.5) {
  Array array = Array::zeros(shape);
  double k = 0;
  for (float& x : array.as<float>()) {
    x = static_cast<float>(scale * std::sin(phase + 0.7 * k));
    ++k;
  }
  return array;
}

/// Sets the variables of layers to waves of the phases 1, 2, .., variances to positive ones.
inline void set_waves(const std::vector<layers::Layer>& layers) {
  double phase = 0;
  for (const Tensor& weight : layers::weights(layers)) {
    Array value = wave(get_variable_shape(weight), ++phase);
    const bool is_variance = weight.name().find("variance") != std::string::npos;
    if (is_variance) {
      for (float& x : value.as<float>()) x = std::abs(x) + 0.5f;
    }
    set_value(weight, value);
  }
}

inline void check_near(const Array& actual, const std::vector<float>& expected) {
  const auto values = actual.as<float>();
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(values[i] == Approx(expected[i]).epsilon(1e-5).margin(1e-6));
  }
}

}  // namespace kiln::testing
