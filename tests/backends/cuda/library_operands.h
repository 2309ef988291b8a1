// Operands for the tests of matmuls and convolutions, and what the backend reports of both.
#pragma once

#include "tests/core/ops/evaluate.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace cuda_test {

inline kiln::Tensor input(kiln::Shape shape, const std::string& dtype = "float32") {
  return kiln::placeholder({.shape = std::move(shape), .dtype = dtype});
}

/// Elements between -1 and 1.
inline kiln::Array drawn(const std::vector<std::int64_t>& dims, unsigned seed,
                         kiln::DType dtype = kiln::DType::Float32) {
  std::mt19937_64 generator(seed);
  return kiln::test::random_array(generator, {dtype, kiln::ir::Dims(dims.begin(), dims.end())}, -1,
                                  1);
}

/// The allowed relative difference of two orders of addition.
inline double reordering(kiln::DType dtype) {
  switch (dtype) {
    case kiln::DType::Float64: return 1e-13;
    case kiln::DType::Float16: return 0x1p-10;
    case kiln::DType::BFloat16: return 0x1p-7;
    default: return 1e-5;
  }
}

/// The dump that says for each matmul and convolution whether the library takes it, or why not.
inline std::string claims_of(const std::vector<kiln::Tensor>& inputs, const kiln::Tensor& output) {
  const kiln::testing::Scratch scratch;
  kiln::function(inputs, {output}, {.backend = "cuda"})
      .dump(scratch.path("f"), kiln::Stage::Claims);
  return kiln::testing::contents_of(scratch.path("f/50-claims.txt"));
}

}  // namespace cuda_test
