// The initializer Orthogonal.
#include <kiln/initializers.h>
#include <kiln/k.h>

#include "core/types/text.h"

#include <cmath>
#include <iterator>
#include <numeric>
#include <span>

namespace kiln::initializers {
namespace {

/// The dot product of x and y, in partial sums that do not wait for each other.
double dot_product(std::span<const double> x, std::span<const double> y) {
  constexpr std::size_t kSums = 8;
  double sums[kSums] = {};
  std::size_t k = 0;
  for (; k + kSums <= x.size(); k += kSums) {
    for (std::size_t i = 0; i < kSums; ++i) sums[i] += x[k + i] * y[k + i];
  }
  for (; k < x.size(); ++k) sums[0] += x[k] * y[k];
  return std::accumulate(std::begin(sums), std::end(sums), 0.0);
}

/// Subtracts from v its projections on the first `count` vectors of its size, which are
/// orthonormal.
void subtract_projections(std::span<double> v, std::span<const double> vectors, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<const double> q = vectors.subspan(i * v.size(), v.size());
    const double projection = dot_product(q, v);
    for (std::size_t k = 0; k < v.size(); ++k) v[k] -= projection * q[k];
  }
}

/// Orthonormalizes `count` vectors of `size` elements, one after the other, by modified
/// Gram-Schmidt. Where subtracting projections leaves less than half of a vector's squares, their
/// rounding errors count, and a second pass makes it orthogonal (Daniel et al., 1976; Giraud et
/// al., 2005). REQUIRES: count <= size.
void orthonormalize(std::span<double> vectors, std::size_t count, std::size_t size) {
  for (std::size_t j = 0; j < count; ++j) {
    const std::span<double> v = vectors.subspan(j * size, size);
    const double before = dot_product(v, v);
    subtract_projections(v, vectors, j);
    if (dot_product(v, v) < before / 2) subtract_projections(v, vectors, j);
    const double scale = 1 / std::sqrt(dot_product(v, v));
    for (double& x : v) x *= scale;
  }
}

Array orthogonal(const std::vector<std::int64_t>& shape, DType dtype,
                 const OrthogonalOptions& options) {
  if (shape.size() < 2) {
    throw ValueError(
        "Orthogonal", "shape",
        text("an orthogonal matrix has rank 2 or more, not the shape (", join_text(shape), ")"));
  }
  if (!is_float(dtype)) {
    throw TypeError("Orthogonal", "dtype", text("dtype ", dtype, " is not floating point"));
  }
  Array result = Array::zeros(shape, DType::Float64);
  if (result.size() == 0) return result.astype(dtype);
  const std::int64_t columns = shape.back(), rows = result.size() / columns;
  const std::int64_t count = std::min(rows, columns), size = std::max(rows, columns);
  Array drawn = get_value(
      random_normal_variable({count, size}, 0, 1, {.dtype = "float64", .seed = options.seed}));
  const std::span<double> vectors = drawn.as<double>(), values = result.as<double>();
  orthonormalize(vectors, static_cast<std::size_t>(count), static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::int64_t from = rows < columns ? i * size + j : j * size + i;
      values[static_cast<std::size_t>(i * columns + j)] =
          options.gain * vectors[static_cast<std::size_t>(from)];
    }
  }
  return result.astype(dtype);
}

}  // namespace

Initializer Orthogonal(const OrthogonalOptions& options, Where where) {
  return named_call("Orthogonal", where, [&]() -> Initializer {
    if (!std::isfinite(options.gain)) {
      throw ValueError("Orthogonal", "gain", text("gain ", options.gain, " is not finite"), where);
    }
    return [options](const std::vector<std::int64_t>& shape, DType dtype) {
      return orthogonal(shape, dtype, options);
    };
  });
}

}  // namespace kiln::initializers
