// The tests of K functions are tables. A Row is one call with the value that it must have, from an
// independent source: NumPy, or Keras' own tests. A SmoothRow compares gradients with finite
// differences. run.cpp runs them on the tested backend and on the oracle, which is `reference`
// running the graph as written, without any pass.
#pragma once

#include <kiln/k.h>

#include <limits>

namespace kiln::test {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Arrays by dims and elements.
inline Array f32(std::vector<std::int64_t> dims, std::vector<float> elements) {
  return Array(elements, std::move(dims));
}
inline Array i32(std::vector<std::int64_t> dims, std::vector<std::int32_t> elements) {
  return Array(elements, std::move(dims));
}
inline Array i64(std::vector<std::int64_t> dims, std::vector<std::int64_t> elements) {
  return Array(elements, std::move(dims));
}
inline Array bools(std::vector<std::int64_t> dims, std::vector<bool> elements) {
  return Array(elements).reshape(std::move(dims));
}

/// Zeros, or no elements: inputs of rows whose values do not matter.
inline Array none(std::vector<std::int64_t> dims) { return Array::zeros(std::move(dims)); }

/// 0, 1, 2, .. in C order.
Array counted(std::vector<std::int64_t> dims);
/// counted({2, 3}).
const Array& m23();
/// float32[2,3] with negative and positive elements and 0.
const Array& mixed_signs();
/// Element i is (i * factor) mod modulus - modulus / 2, in whole numbers.
Array pattern(std::vector<std::int64_t> dims, std::int64_t factor, std::int64_t modulus);

/// The backend under test, of those of this build: KILN_TEST_BACKEND (a name or a path), else
/// `reference`, whatever the user's other settings are.
const std::string& tested_backend();

using Tensors = std::vector<Tensor>;

/// A placeholder.
inline Tensor of(const Shape& shape, const char* dtype = "float32", const char* name = "p") {
  return placeholder({.shape = shape, .dtype = dtype, .name = name});
}
/// The gradient of sum(y) with respect to x.
inline Tensor slope(const Tensor& y, const Tensor& x) { return gradients(sum(y), {x})[0]; }

/// Evaluates the outputs on the tested backend, after the passes. Checks that they differ from the
/// oracle's by no more than rounding.
std::vector<Array> evaluate(const Tensors& inputs, const Tensors& outputs,
                            const std::vector<Array>& feeds);
using Build = Tensor (*)(const Tensors& x);

struct Row {
  const char* name;  // the K function, then what is special: "relu alpha"
  std::vector<Array> inputs;
  Build build;
  Array expected;
  double tolerance = 1e-6;
};

/// Checks the value with inputs of known dims and of unknown dims, on the tested backend and on the
/// oracle.
void run(const Row& row);
void run(const std::vector<Row>& rows);

struct SmoothRow {
  const char* name;
  std::vector<std::vector<std::int64_t>> inputs;  // dims of float64 inputs
  Build build;
  double low = -2, high = 2;  // elements are drawn from here
};

/// Compares the gradient and its gradient with finite differences, in a random direction and with
/// a random upstream gradient; with unknown dims and on the oracle they are the same.
void run(const SmoothRow& row);

/// The first difference of two arrays; empty when they agree. Infinities and NaN equal themselves.
std::string difference(const Array& actual, const Array& expected, double tolerance);

/// The tables of values.
std::vector<Row> elementwise_rows();
std::vector<Row> selection_rows();  // of kiln/elementwise.h, too
std::vector<Row> operator_rows();
std::vector<Row> reduce_rows();
std::vector<Row> linalg_rows();
std::vector<Row> matmul_rows();
std::vector<Row> attention_rows();
std::vector<Row> bincount_rows();
std::vector<Row> activation_rows();
std::vector<Row> loss_rows();
std::vector<Row> normalization_rows();
std::vector<Row> higher_order_rows();
std::vector<Row> fori_loop_rows();
std::vector<Row> shape_rows();
std::vector<Row> index_rows();
std::vector<Row> triangle_rows();
std::vector<Row> image_rows();
std::vector<Row> resize_to_rows();
std::vector<Row> convolution_rows();
std::vector<Row> pooling_rows();
std::vector<Row> ctc_rows();

}  // namespace kiln::test
