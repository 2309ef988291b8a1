// Tests kiln/normalization.h. Expected values are from NumPy 2.4, in float64, by
// (x - mean) / sqrt(var + epsilon) * gamma + beta, with numpy.mean and numpy.var (ddof 0) where the
// statistics are x's own.
#include "tests/support/catch.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

#include <cmath>

namespace kiln::test {
namespace {

using testing::throws;
using testing::Misuse;
using Dims = std::vector<std::int64_t>;

const Array& two_samples() {
  static const Array array = f32({2, 3}, {1, 2, -3, 0.5, -1, 4});
  return array;
}
/// numpy.arange(16).reshape(2, 2, 2, 2) / 2 - 3.
const Array& image() {
  static const Array array =
      f32({2, 2, 2, 2}, {-3, -2.5, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5});
  return array;
}
Array mean3() { return f32({3}, {0.5, -1, 2}); }
Array var3() { return f32({3}, {4, 0.25, 1}); }
Array beta3() { return f32({3}, {1, 0, -2}); }
Array gamma3() { return f32({3}, {2, -1, 0.5}); }
std::vector<Array> of_axis(const Array& x) {
  return {x, f32({2}, {0.5, -1}), f32({2}, {4, 0.25}), f32({2}, {1, 0}), f32({2}, {2, -1})};
}

std::vector<Row> with_given_statistics() {
  return {
      {"batch_normalization",
       {two_samples(), mean3(), var3(), beta3(), gamma3()},
       [](const Tensors& x) { return batch_normalization(x[0], x[1], x[2], x[3], x[4]); },
       f32({2, 3}, {1.4999375, -5.9880357, -4.498751, 1, 0, -1.0004996})},
      {"batch_normalization without beta and gamma",
       {two_samples(), mean3(), var3()},
       [](const Tensors& x) { return batch_normalization(x[0], x[1], x[2], None, None); },
       f32({2, 3}, {0.24996875, 5.9880357, -4.997502, 0, 0, 1.9990008})},
      {"batch_normalization beta alone, epsilon 0",
       {two_samples(), mean3(), var3(), beta3()},
       [](const Tensors& x) {
         return batch_normalization(x[0], x[1], x[2], x[3], None, {.epsilon = 0});
       },
       f32({2, 3}, {1.25, 6, -7, 1, 0, 0})},
      {"batch_normalization gamma alone",
       {two_samples(), mean3(), var3(), gamma3()},
       [](const Tensors& x) {
         return batch_normalization(x[0], x[1], x[2], None, x[3], {.epsilon = 0.5});
       },
       f32({2, 3}, {0.47140452, -3.4641016, -2.0412414, 0, 0, 0.8164966})},
      {"batch_normalization axis 0", of_axis(two_samples()),
       [](const Tensors& x) {
         return batch_normalization(x[0], x[1], x[2], x[3], x[4], {.axis = 0});
       },
       f32({2, 3}, {1.4999375, 2.4998126, -2.4995625, -2.9940178, 0, -9.98006})},
      {"batch_normalization channels_first", of_axis(image()),
       [](const Tensors& x) {
         return batch_normalization(x[0], x[1], x[2], x[3], x[4], {.axis = -3});
       },
       f32({2, 2, 2, 2}, {-2.4995625, -1.9996251, -1.4996876, -0.99975, 0, -0.998006, -1.996012,
                          -2.9940178, 1.4999375, 1.9998751, 2.4998126, 2.9997501, -7.984048,
                          -8.982054, -9.98006, -10.9780655})},
      {"batch_normalization broadcast statistics",
       {two_samples(), f32({2, 1}, {0.5, -1}), f32({2, 1}, {4, 0.25}), f32({2, 1}, {1, 0}),
        f32({2, 1}, {2, -1})},
       [](const Tensors& x) { return batch_normalization(x[0], x[1], x[2], x[3], x[4]); },
       f32({2, 3}, {1.4999375, 2.4998126, -2.4995625, -2.9940178, 0, -9.98006})},
      {"batch_normalization numbers",
       {two_samples()},
       [](const Tensors& x) { return batch_normalization(x[0], 1, 4, 0.5, 3, {.epsilon = 0}); },
       f32({2, 3}, {0.5, 2, -5.5, -0.25, -2.5, 5})},
      {"batch_normalization a vector of one along a longer axis",
       {two_samples(), f32({1}, {1})},
       [](const Tensors& x) {
         return batch_normalization(x[0], x[1], 1, None, None, {.epsilon = 0});
       },
       f32({2, 3}, {0, 1, -4, -0.5, -2, 3})},
      {"batch_normalization of a scalar",
       {f32({}, {3}), f32({}, {1}), f32({}, {4})},
       [](const Tensors& x) {
         return batch_normalization(x[0], x[1], x[2], None, None, {.epsilon = 0});
       },
       f32({}, {1})},
      {"batch_normalization of a vector, its one axis",
       {f32({2}, {3, 5}), f32({2}, {1, 1})},
       [](const Tensors& x) {
         return batch_normalization(x[0], x[1], 4, None, x[1], {.axis = 0, .epsilon = 0});
       },
       f32({2}, {1, 2})},
      {"batch_normalization full statistics",
       {two_samples(), two_samples(), f32({2, 3}, {4, 4, 4, 4, 4, 4})},
       [](const Tensors& x) { return batch_normalization(x[0], x[1], x[2], 7, 3, {.epsilon = 0}); },
       f32({2, 3}, {7, 7, 7, 7, 7, 7})},
      // The order is beta, gamma; epsilon is under the root: 3 / sqrt(8 + 1).
      {"batch_normalization beta before gamma",
       {f32({1}, {3})},
       [](const Tensors& x) { return batch_normalization(x[0], 0, 8, 5, 2, {.epsilon = 1}); },
       f32({1}, {7})},
      {"batch_normalization no samples",
       {f32({0, 3}, {}), mean3(), var3(), beta3(), gamma3()},
       [](const Tensors& x) { return batch_normalization(x[0], x[1], x[2], x[3], x[4]); },
       f32({0, 3}, {})},
      {"batch_normalization one",
       {f32({1, 1}, {3}), f32({1}, {1}), f32({1}, {4})},
       [](const Tensors& x) {
         return batch_normalization(x[0], x[1], x[2], None, None, {.epsilon = 0});
       },
       f32({1, 1}, {1})},
  };
}

/// The results of normalize_batch_in_training, concatenated as a vector.
Tensor joined(const NormalizedBatch& batch) {
  return concatenate({flatten(batch.normed), flatten(batch.mean), flatten(batch.var)});
}

std::vector<Row> with_own_statistics() {
  return {
      {"normalize_batch_in_training",
       {two_samples(), gamma3(), beta3()},
       [](const Tensors& x) { return normalize_batch_in_training(x[0], x[1], x[2], 0).normed; },
       f32({2, 3}, {2.9841895, -0.99977785, -2.4999795, -0.98418945, 0.99977785, -1.5000204})},
      {"normalize_batch_in_training mean",
       {two_samples()},
       [](const Tensors& x) { return normalize_batch_in_training(x[0], None, None, {0}).mean; },
       f32({3}, {0.75, 0.5, 0.5})},
      {"normalize_batch_in_training var",
       {two_samples()},
       [](const Tensors& x) { return normalize_batch_in_training(x[0], None, None, {-2}).var; },
       f32({3}, {0.0625, 2.25, 12.25})},
      {"normalize_batch_in_training without gamma and beta",
       {two_samples()},
       [](const Tensors& x) { return normalize_batch_in_training(x[0], None, None, {0}).normed; },
       f32({2, 3}, {0.99209476, 0.99977785, -0.9999592, -0.99209476, -0.99977785, 0.9999592})},
      {"normalize_batch_in_training all axes",
       {two_samples()},
       [](const Tensors& x) { return joined(normalize_batch_in_training(x[0], 3, 1, None)); },
       f32({8}, {1.566484, 2.9260457, -3.8717625, 0.8867032, -1.1526392, 5.645169, 0.5833333,
                 4.8680553})},
      {"normalize_batch_in_training channels_first",
       {image(), f32({2}, {2, -1}), f32({2}, {1, 0})},
       [](const Tensors& x) {
         return joined(normalize_batch_in_training(x[0], x[1], x[2], {0, 2, 3}));
       },
       f32({20},
           {-1.6481818, -1.1666942, -0.6852066, -0.20371898, 1.3240908, 1.0833471,  0.84260327,
            0.6018595,  2.203719,   2.6852067,  3.1666942,   3.6481817, -0.6018595, -0.84260327,
            -1.0833471, -1.3240908, -0.25,      1.75,        4.3125,    4.3125})},
      {"normalize_batch_in_training channels_last",
       {image(), f32({2}, {2, -1}), f32({2}, {1, 0})},
       [](const Tensors& x) {
         return joined(normalize_batch_in_training(x[0], x[1], x[2], {0, 1, -2}, {.epsilon = 0.1}));
       },
       f32({20}, {-2.0263638, 1.5131819,  -1.1616884,  1.0808443, -0.2970131, 0.6485065, 0.5676623,
                  0.21616885, 1.4323376,  -0.21616885, 2.297013,  -0.6485065, 3.1616886, -1.0808443,
                  4.026364,   -1.5131819, 0.5,         1,         5.25,       5.25})},
      {"normalize_batch_in_training two axes are kept",
       {image(), f32({2, 2}, {1, 2, 3, -1})},
       [](const Tensors& x) {
         return joined(normalize_batch_in_training(x[0], x[1], None, {0, 3}));
       },
       f32({24}, {-1.1161753, -0.8681363, -2.2323506, -1.7362726, -3.3485258, -2.604409,
                  1.1161753,  0.8681363,  0.8681363,  1.1161753,  1.7362726,  2.2323506,
                  2.604409,   3.3485258,  -0.8681363, -1.1161753, -0.75,      0.25,
                  1.25,       2.25,       4.0625,     4.0625,     4.0625,     4.0625})},
      // The order is gamma, beta, and the variance is the population's: of 1 and 3 it is 1, not 2.
      {"normalize_batch_in_training gamma before beta",
       {f32({2, 1}, {1, 3})},
       [](const Tensors& x) {
         return joined(normalize_batch_in_training(x[0], 5, 2, 0, {.epsilon = 0}));
       },
       f32({4}, {-3, 7, 2, 1})},
      {"normalize_batch_in_training no axis",
       {f32({1, 2}, {3, -4})},
       [](const Tensors& x) {
         return joined(normalize_batch_in_training(x[0], None, None, Dims{}));
       },
       f32({6}, {0, 0, 3, -4, 0, 0})},
      {"normalize_batch_in_training of a scalar",
       {f32({}, {3})},
       [](const Tensors& x) { return joined(normalize_batch_in_training(x[0], 2, 1, None)); },
       f32({3}, {1, 3, 0})},
      {"normalize_batch_in_training of constant samples",
       {f32({2, 2}, {3, -4, 3, -4})},
       [](const Tensors& x) { return joined(normalize_batch_in_training(x[0], None, None, 0)); },
       f32({8}, {0, 0, 0, 0, 3, -4, 0, 0})},
      {"normalize_batch_in_training one sample",
       {f32({1, 2}, {3, -4}), f32({2}, {5, 6})},
       [](const Tensors& x) { return joined(normalize_batch_in_training(x[0], None, x[1], 0)); },
       f32({6}, {5, 6, 3, -4, 0, 0})},
      {"normalize_batch_in_training no samples",
       {f32({0, 2}, {})},
       [](const Tensors& x) { return joined(normalize_batch_in_training(x[0], None, None, 0)); },
       f32({4}, {kNaN, kNaN, kNaN, kNaN})},
      // The gradient of a sum of normalised values is zero: they add up to a constant.
      {"normalize_batch_in_training the gradient flows through the statistics",
       {two_samples()},
       [](const Tensors& x) {
         return slope(normalize_batch_in_training(x[0], 2, 1, 0).normed, x[0]);
       },
       f32({2, 3}, {0, 0, 0, 0, 0, 0})},
  };
}

const Dims kMatrix{3, 4}, kImage{2, 3, 2, 2};

const SmoothRow kNormalizationGradients[] = {
    {"batch_normalization",
     {kMatrix, {4}, {4}, {4}, {4}},
     [](const Tensors& x) { return square(batch_normalization(x[0], x[1], x[2], x[3], x[4])); },
     0.5,
     2},
    {"batch_normalization axis",
     {kImage, {3}, {3}, {3}, {3}},
     [](const Tensors& x) {
       return square(batch_normalization(x[0], x[1], x[2], x[3], x[4], {.axis = 1}));
     },
     0.5,
     2},
    {"batch_normalization without gamma",
     {kMatrix, {4}, {3, 1}},
     [](const Tensors& x) { return square(batch_normalization(x[0], x[1], x[2], None, None)); },
     0.5,
     2},
    {"normalize_batch_in_training",
     {kMatrix, {4}, {4}},
     [](const Tensors& x) {
       const NormalizedBatch batch = normalize_batch_in_training(x[0], x[1], x[2], 0);
       return square(batch.normed) + square(batch.mean) + square(batch.var);
     }},
    {"normalize_batch_in_training channels_first",
     {kImage, {3}, {3}},
     [](const Tensors& x) {
       return square(normalize_batch_in_training(x[0], x[1], x[2], {0, 2, 3}).normed);
     }},
    {"normalize_batch_in_training channels_last",
     {kImage, {2}, {2}},
     [](const Tensors& x) {
       const NormalizedBatch batch = normalize_batch_in_training(x[0], x[1], x[2], {0, 1, 2});
       return tanh(batch.normed) + batch.var * square(batch.mean);
     }},
    {"batch_normalization whole statistics",
     {kMatrix, kMatrix, kMatrix, {3, 1}, {1, 4}},
     [](const Tensors& x) {
       return square(batch_normalization(x[0], x[1], x[2], x[3], x[4], {.epsilon = 0.1}));
     },
     0.5,
     2},
    {"normalize_batch_in_training all axes",
     {kMatrix, {}},
     [](const Tensors& x) { return normalize_batch_in_training(x[0], x[1], None, None).normed; }},
};

const std::vector<Misuse> kNormalizationErrors = {
    {throws<ValueError>(1),
     [] { return batch_normalization(of({2, 3}), of({2}), of({3}), None, None); },
     "batch_normalization: mean has 2 elements but axis 1 of x has 3 (x float32[2,3], mean "
     "float32[2])"},
    {throws<ValueError>(1),
     [] { return batch_normalization(of({2, 3}), of({2}), of({2}), None, of({3}), {.axis = 0}); },
     "batch_normalization: gamma has 3 elements but axis 0 of x has 2 (x float32[2,3], gamma "
     "float32[3])"},
    {throws<ValueError>(1),
     [] { return batch_normalization(of({2, 3}), of({3}), of({4, 2, 3}), None, None); },
     "batch_normalization: var does not broadcast to x (x float32[2,3], var float32[4,2,3])"},
    {throws<ValueError>(1),
     [] { return batch_normalization(of({2, 3}), of({3}), of({3}), of({3, 3}), None); },
     "batch_normalization: shapes do not broadcast: sizes 2 and 3 of axis -2 (x float32[2,3], "
     "beta float32[3,3])"},
    {throws<ValueError>(1),
     [] { return batch_normalization(of({1, 3}), of({2, 3}), of({3}), None, None); },
     "batch_normalization: mean does not broadcast to x (x float32[1,3], mean float32[2,3])"},
    {throws<ValueError>(1),
     [] { return batch_normalization(of({2, 3}), 0, 1, None, None, {.axis = 2}); },
     "batch_normalization: axis 2 is out of range for rank 2"},
    {throws<ValueError>(1),
     [] { return batch_normalization(of({2, 3}), 0, 1, None, None, {.epsilon = -1}); },
     "batch_normalization: epsilon -1 is negative or not finite"},
    {throws<TypeError>(), [] { return batch_normalization(of({2}, "int32"), 0, 1, None, None); },
     "batch_normalization: x is not floating point (x int32[2])"},
    {throws<TypeError>(1),
     [] { return batch_normalization(of({2}), of({2}, "float64"), 1, None, None); },
     "batch_normalization: x has dtype float32 but mean has dtype float64 (x float32[2], mean "
     "float64[2])"},
    {throws<ValueError>(), [] { return batch_normalization(of({2}), Tensor(), 1, None, None); },
     "batch_normalization: mean is an empty tensor"},
    {throws<ValueError>(), [] { return batch_normalization(of({}), of({2}), 1, None, None); },
     "batch_normalization: mean does not broadcast to x (x float32[], mean float32[2])"},
    {throws<ValueError>(1),
     [] { return batch_normalization(of({}), 0, 1, None, None, {.axis = 1}); },
     "batch_normalization: axis 1 is out of range for rank 1"},
    {throws<ValueError>(1),
     [] { return normalize_batch_in_training(of({2, 3}), of({2}), None, 0).normed; },
     "normalize_batch_in_training: gamma has 2 elements but the axes that are kept have 3 (x "
     "float32[2,3], gamma float32[2])"},
    {throws<ValueError>(1),
     [] { return normalize_batch_in_training(of({2, 3}), None, None, {0, -2}).normed; },
     "normalize_batch_in_training: reduction_axes (0, -2) repeats an axis"},
    {throws<ValueError>(), [] { return normalize_batch_in_training(of({2}), None, None, 1).mean; },
     "normalize_batch_in_training: reduction_axes 1 is out of range for rank 1"},
    {throws<ValueError>(1),
     [] { return normalize_batch_in_training(of({2}), None, None, 0, {.epsilon = NAN}).mean; },
     "normalize_batch_in_training: epsilon nan is negative or not finite"},
    {throws<TypeError>(1),
     [] { return normalize_batch_in_training(of({2}, "bool"), None, None, 0).var; },
     "normalize_batch_in_training: x is not floating point (x bool[2])"},
    {throws<TypeError>(1),
     [] { return normalize_batch_in_training(of({2}), None, of({2}, "float16"), None).normed; },
     "normalize_batch_in_training: x has dtype float32 but beta has dtype float16 (x float32[2], "
     "beta float16[2])"},
};

}  // namespace

std::vector<Row> normalization_rows() {
  std::vector<Row> rows = with_given_statistics(), own = with_own_statistics();
  rows.insert(rows.end(), own.begin(), own.end());
  return rows;
}

TEST_CASE("batch normalisation", "[k]") { run(normalization_rows()); }

TEST_CASE("batch normalisation: gradients", "[k]") {
  for (const SmoothRow& row : kNormalizationGradients) run(row);
}

TEST_CASE("batch normalisation: misuse", "[k]") { run(kNormalizationErrors); }

TEST_CASE("batch normalisation: keeps the dtype of x", "[k]") {
  for (const char* dtype : {"float16", "bfloat16", "float32", "float64"}) {
    INFO(dtype);
    const Tensor x = placeholder({.shape = {None, 2}, .dtype = dtype});
    const NormalizedBatch batch = normalize_batch_in_training(x, None, None, 0);
    const Tensor again = batch_normalization(x, batch.mean, batch.var, None, None);
    const Function f =
        function({x}, {batch.normed, batch.mean, batch.var, again}, {.backend = tested_backend()});
    // In float16 the sum of squares, 90000, is out of range: it is taken in float32.
    const auto results = f({Array{{300.f, 1.f}, {-300.f, 3.f}}});
    for (const Array& result : results) CHECK(std::string(dtype_name(result.dtype())) == dtype);
    const double tolerance = std::string(dtype) == "bfloat16" ? 1e-2 : 2e-3;
    CHECK(difference(results[0].astype(DType::Float32), f32({2, 2}, {1, -1, -1, 1}), tolerance) ==
          "");
    CHECK(difference(results[1].astype(DType::Float32), f32({2}, {0, 2}), tolerance) == "");
  }
}

TEST_CASE("batch normalisation: unknown sizes must fit at the call", "[k]") {
  const Tensor x = placeholder({.shape = {None, None}, .name = "x"});
  const Tensor mean = placeholder({.shape = {None}, .name = "mean"});
  const Function f = function({x, mean}, {batch_normalization(x, mean, 1, None, None)},
                              {.backend = tested_backend()});
  CHECK(f({Array::zeros({2, 3}), Array::zeros({3})})[0].dims() == Dims{2, 3});
  CHECK_THROWS_AS(f({Array::zeros({2, 3}), Array::zeros({2})}), ValueError);
}

}  // namespace kiln::test
