// Runs matmuls of small random matrices, and the same as plain sums in double, over any strides.
#pragma once

#include "backends/cpu/onednn/onednn_matmul.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace products_test {

using kiln::cpu::MatrixStrides;
using kiln::cpu::OneDnnMatmul;
using kiln::cpu::OneDnnMatmulShape;

inline MatrixStrides dense(std::int64_t rows, std::int64_t columns, bool transposed) {
  return transposed ? MatrixStrides{1, rows} : MatrixStrides{columns, 1};
}

inline OneDnnMatmulShape dense_shape(std::int64_t m, std::int64_t n, std::int64_t k,
                                     bool lhs_transposed = false, bool rhs_transposed = false) {
  return {m, n, k, dense(m, k, lhs_transposed), dense(k, n, rhs_transposed), n, false};
}

inline std::size_t extent(const MatrixStrides& operand, std::int64_t rows, std::int64_t columns) {
  return static_cast<std::size_t>((rows - 1) * operand.row_stride +
                                  (columns - 1) * operand.column_stride + 1);
}

inline std::vector<float> draws(std::size_t count, unsigned seed) {
  std::minstd_rand generator(seed + 1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(generator);
  return values;
}

struct AlignedFree {
  void operator()(void* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<void, AlignedFree>;

// Filled with NaN, so that no result may depend on zeros.
inline Buffer buffer(std::size_t bytes) {
  const std::size_t size = (bytes + 64) / 64 * 64;
  Buffer result(std::aligned_alloc(64, size));
  std::memset(result.get(), 0xff, size);
  return result;
}

struct Operands {
  explicit Operands(const OneDnnMatmulShape& s, unsigned seed = 0)
      : lhs(draws(extent(s.lhs, s.m, s.k), seed)),
        rhs(draws(extent(s.rhs, s.k, s.n), seed + 1)),
        bias(draws(static_cast<std::size_t>(s.n), seed + 2)),
        result(draws(extent({s.result_row, 1}, s.m, s.n), seed + 3)) {}
  std::vector<float> lhs, rhs, bias, result;
};

// The result after the matmul; elements outside of the matrices are unchanged.
inline std::vector<double> naive(const OneDnnMatmulShape& s, const Operands& in) {
  std::vector<double> out(in.result.begin(), in.result.end());
  const auto at = [](const std::vector<float>& values, std::int64_t offset) {
    return static_cast<double>(values[static_cast<std::size_t>(offset)]);
  };
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      double sum = s.bias_per_column ? at(in.bias, j) : 0.0;
      for (std::int64_t l = 0; l < s.k; ++l) {
        sum += at(in.lhs, i * s.lhs.row_stride + l * s.lhs.column_stride) *
               at(in.rhs, l * s.rhs.row_stride + j * s.rhs.column_stride);
      }
      out[static_cast<std::size_t>(i * s.result_row + j)] = sum;
    }
  }
  return out;
}

// Runs the matmul once with a buffer of its own; throws on a bad status.
inline std::vector<float> run(const OneDnnMatmul& matmul, const Operands& in) {
  std::vector<float> result = in.result;
  const Buffer scratch = buffer(matmul.scratch_bytes());
  const int status =
      matmul.run(in.lhs.data(), in.rhs.data(), in.bias.data(), result.data(), scratch.get());
  if (status != 0) throw std::runtime_error(kiln::cpu::status_text(status));
  return result;
}

// The largest difference in units of the bound k * 2^-24 * (largest possible sum); above 1 fails.
inline double worst_error(const OneDnnMatmulShape& s, const Operands& in,
                          const std::vector<float>& got) {
  const std::vector<double> want = naive(s, in);
  const double bound = (static_cast<double>(s.k) + 3) * (static_cast<double>(s.k) + 2) * 6e-8;
  double worst = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double error = std::abs(want[i] - static_cast<double>(got[i]));
    worst = std::isnan(error) ? HUGE_VAL : std::max(worst, error / bound);
  }
  return worst;
}

}  // namespace products_test
