// Tests kiln/activation.h: values, from NumPy 2.4 by the formulas of Keras' documentation.
#include "tests/support/catch.h"
#include "tests/k/row.h"

namespace kiln::test {
namespace {

const Array& x() {
  static const Array array = f32({2, 3}, {-2, -0.5, 0, 0.5, 1, 3});
  return array;
}
Tensor slope(const Tensor& y, const Tensor& x) { return gradients(sum(y), {x})[0]; }

}  // namespace

std::vector<Row> activation_rows() {
  return {
      {"relu", {x()}, [](const Tensors& x) { return relu(x[0]); },
       f32({2, 3}, {0, 0, 0, 0.5, 1, 3})},
      {"relu infinite", {f32({3}, {-kInf, kInf, kNaN})},
       [](const Tensors& x) { return relu(x[0]); },
       f32({3}, {0, kInf, kNaN})},
      {"relu alpha", {x()}, [](const Tensors& x) { return relu(x[0], {.alpha = 0.1}); },
       f32({2, 3}, {-0.2, -0.05, 0, 0.5, 1, 3})},
      {"relu max_value", {x()}, [](const Tensors& x) { return relu(x[0], {.max_value = 0.75}); },
       f32({2, 3}, {0, 0, 0, 0.5, 0.75, 0.75})},
      {"relu threshold", {x()}, [](const Tensors& x) { return relu(x[0], {.threshold = 0.75}); },
       f32({2, 3}, {0, 0, 0, 0, 1, 3})},
      {"relu at its threshold", {x()},
       [](const Tensors& x) { return relu(x[0], {.threshold = 1}); },
       f32({2, 3}, {0, 0, 0, 0, 1, 3})},
      {"relu alpha and max_value", {x()},
       [](const Tensors& x) { return relu(x[0], {.alpha = 0.1, .max_value = 2}); },
       f32({2, 3}, {-0.2, -0.05, 0, 0.5, 1, 2})},
      {"relu alpha, max_value and threshold", {x()},
       [](const Tensors& x) {
         return relu(x[0], {.alpha = 0.1, .max_value = 2, .threshold = 0.8});
       },
       f32({2, 3}, {-0.28, -0.13, -0.08, -0.03, 1, 2})},
      {"relu max_value 0", {x()},
       [](const Tensors& x) {
         return relu(x[0], {.alpha = 0.1, .max_value = 0, .threshold = 0.8});
       },
       f32({2, 3}, {-0.28, -0.13, -0.08, -0.03, 0, 0})},
      {"relu negative threshold", {x()},
       [](const Tensors& x) { return relu(x[0], {.alpha = 0.5, .threshold = -1}); },
       f32({2, 3}, {-0.5, -0.5, 0, 0.5, 1, 3})},
      {"relu int32", {i32({3}, {-4, 0, 9})},
       [](const Tensors& x) { return relu(x[0], {.alpha = 2, .max_value = 6}); },
       i32({3}, {-8, 0, 6})},
      {"relu gradient at 0", {x()}, [](const Tensors& x) { return slope(relu(x[0]), x[0]); },
       f32({2, 3}, {0, 0, 0, 1, 1, 1})},
      {"relu gradient with options", {x()},
       [](const Tensors& x) {
         return slope(relu(x[0], {.alpha = 0.25, .max_value = 2, .threshold = 0.75}), x[0]);
       },
       f32({2, 3}, {0.25, 0.25, 0.25, 0.25, 1, 0})},
      {"relu gradient at max_value", {f32({3}, {1.9f, 2, 2.1f})},
       [](const Tensors& x) { return slope(relu(x[0], {.max_value = 2}), x[0]); },
       f32({3}, {1, 1, 0})},
      {"relu gradient of a slope at 0", {f32({3}, {-1, 0, 1})},
       [](const Tensors& x) { return slope(relu(x[0], {.alpha = 0.25}), x[0]); },
       f32({3}, {0.25, 0.25, 1})},
      {"relu max_value and negative threshold", {f32({6}, {-3, -2, -1, 0, 1, 3})},
       [](const Tensors& x) {
         return relu(x[0], {.alpha = 0.5, .max_value = 2, .threshold = -2});
       },
       f32({6}, {-0.5, 0, 0, 0, 1, 2})},
      {"relu gradient of max_value and negative threshold", {f32({6}, {-3, -2, -1, 0, 1, 3})},
       [](const Tensors& x) {
         return slope(relu(x[0], {.alpha = 0.5, .max_value = 2, .threshold = -2}), x[0]);
       },
       f32({6}, {0.5, 0, 0, 1, 1, 0})},
      {"relu max_value below 0", {f32({4}, {-3, -1, 1, kNaN})},
       [](const Tensors& x) {
         return relu(x[0], {.alpha = 0.5, .max_value = -1, .threshold = -2});
       },
       f32({4}, {-0.5, 0, 0, kNaN})},
      // max_value bounds only the part above the threshold.
      {"relu max_value below the threshold", {f32({4}, {1, 3, 5, kNaN})},
       [](const Tensors& x) { return relu(x[0], {.max_value = 2, .threshold = 4}); },
       f32({4}, {0, 0, 2, kNaN})},
      {"relu infinities under all options", {f32({2}, {-kInf, kInf})},
       [](const Tensors& x) {
         return relu(x[0], {.alpha = 0.5, .max_value = 6, .threshold = 1});
       },
       f32({2}, {-kInf, 6})},
      {"relu uint8", {Array{0, 3, 200}.astype(DType::UInt8)},
       [](const Tensors& x) { return relu(x[0], {.max_value = 100, .threshold = 2}); },
       Array{0, 3, 100}.astype(DType::UInt8)},
      {"relu of a scalar", {f32({}, {-3})},
       [](const Tensors& x) { return relu(x[0], {.alpha = 2}); }, f32({}, {-6})},
      {"elu gradient at 0", {f32({3}, {-1e-7f, 0, 1})},
       [](const Tensors& x) { return slope(elu(x[0], {.alpha = 0.5}), x[0]); },
       f32({3}, {0.5, 0.5, 1})},
      {"elu infinities", {f32({3}, {-kInf, kInf, kNaN})},
       [](const Tensors& x) { return elu(x[0], {.alpha = 2}); }, f32({3}, {-2, kInf, kNaN})},
      {"elu", {x()}, [](const Tensors& x) { return elu(x[0]); },
       f32({2, 3}, {-0.864664717, -0.39346934, 0, 0.5, 1, 3})},
      {"elu alpha", {x()}, [](const Tensors& x) { return elu(x[0], {.alpha = 0.5}); },
       f32({2, 3}, {-0.432332358, -0.19673467, 0, 0.5, 1, 3})},
      {"elu of a large number", {f32({2}, {1000, -1000})},
       [](const Tensors& x) { return elu(x[0]); }, f32({2}, {1000, -1})},
      {"elu gradient of a large number", {f32({2}, {1000, -1000})},
       [](const Tensors& x) { return slope(elu(x[0]), x[0]); }, f32({2}, {1, 0})},
      {"softmax", {x()}, [](const Tensors& x) { return softmax(x[0]); },
       f32({2, 3}, {0.0776955791, 0.348207428, 0.574096993, 0.0674253582, 0.111165622,
                    0.821409019})},
      {"softmax axis", {x()}, [](const Tensors& x) { return softmax(x[0], {.axis = 0}); },
       f32({2, 3}, {0.07585818, 0.182425524, 0.0474258732, 0.92414182, 0.817574476, 0.952574127})},
      {"softmax of a middle axis", {f32({1, 2, 2}, {0, 1, 0, 3})},
       [](const Tensors& x) { return softmax(x[0], {.axis = -2}); },
       f32({1, 2, 2}, {0.5, 0.119202922, 0.5, 0.880797078})},
      {"softmax of a vector", {f32({2}, {0, 0.6931471806f})},
       [](const Tensors& x) { return softmax(x[0]); }, f32({2}, {0.333333333, 0.666666667})},
      {"softmax beside minus infinity", {f32({1, 3}, {-kInf, 1, 1})},
       [](const Tensors& x) { return softmax(x[0]); }, f32({1, 3}, {0, 0.5, 0.5})},
      {"softmax of large numbers", {f32({2}, {1e30f, -1e30f})},
       [](const Tensors& x) { return softmax(x[0]); }, f32({2}, {1, 0})},
      {"softmax of one element", {f32({2, 1}, {-7, kInf})},
       [](const Tensors& x) { return softmax(x[0]); }, f32({2, 1}, {1, kNaN})},
      {"softmax of nothing", {Array::zeros({0, 3})},
       [](const Tensors& x) { return softmax(x[0]); }, Array::zeros({0, 3})},
      {"softmax along nothing", {Array::zeros({2, 0})},
       [](const Tensors& x) { return softmax(x[0]); }, Array::zeros({2, 0})},
      {"l2_normalize of nothing", {Array::zeros({0, 2})},
       [](const Tensors& x) { return l2_normalize(x[0], {.axis = 0}); }, Array::zeros({0, 2})},
      {"l2_normalize of axes", {f32({1, 2, 2}, {1, 1, 1, -1})},
       [](const Tensors& x) { return l2_normalize(x[0], {.axis = {-1, 1}}); },
       f32({1, 2, 2}, {0.5, 0.5, 0.5, -0.5})},
      {"softplus", {x()}, [](const Tensors& x) { return softplus(x[0]); },
       f32({2, 3}, {0.126928011, 0.474076984, 0.693147181, 0.974076984, 1.31326169, 3.04858735})},
      {"softplus of large numbers", {f32({4}, {1000, -1000, kInf, -kInf})},
       [](const Tensors& x) { return softplus(x[0]); }, f32({4}, {1000, 0, kInf, 0})},
      {"softplus gradient", {f32({5}, {0, 1000, -1000, kInf, -kInf})},
       [](const Tensors& x) { return slope(softplus(x[0]), x[0]); }, f32({5}, {0.5, 1, 0, 1, 0})},
      {"softplus gradient of the gradient at 0", {f32({1}, {0})},
       [](const Tensors& x) { return slope(slope(softplus(x[0]), x[0]), x[0]); },
       f32({1}, {0.25})},
      {"softsign", {x()}, [](const Tensors& x) { return softsign(x[0]); },
       f32({2, 3}, {-0.666666667, -0.333333333, 0, 0.333333333, 0.5, 0.75})},
      {"softsign infinities", {f32({3}, {-kInf, kInf, 1e30f})},
       [](const Tensors& x) { return softsign(x[0]); }, f32({3}, {kNaN, kNaN, 1})},
      {"softsign gradient at 0", {f32({2}, {0, -1})},
       [](const Tensors& x) { return slope(softsign(x[0]), x[0]); }, f32({2}, {1, 0.25})},
      {"sigmoid", {x()}, [](const Tensors& x) { return sigmoid(x[0]); },
       f32({2, 3}, {0.119202922, 0.377540669, 0.5, 0.622459331, 0.731058579, 0.952574127})},
      {"sigmoid of large numbers", {f32({2}, {1000, -1000})},
       [](const Tensors& x) { return sigmoid(x[0]); }, f32({2}, {1, 0})},
      {"tanh", {x()}, [](const Tensors& x) { return tanh(x[0]); },
       f32({2, 3}, {-0.96402758, -0.462117157, 0, 0.462117157, 0.761594156, 0.995054754})},
      {"hard_sigmoid", {f32({6}, {-3, -2.5, -1, 0, 2, 2.6})},
       [](const Tensors& x) { return hard_sigmoid(x[0]); }, f32({6}, {0, 0, 0.3, 0.5, 0.9, 1})},
      {"hard_sigmoid gradient", {f32({5}, {-2.6f, -2.5f, 0, 2.5f, 2.6f})},
       [](const Tensors& x) { return slope(hard_sigmoid(x[0]), x[0]); },
       f32({5}, {0, 0.2, 0.2, 0.2, 0})},
      {"l2_normalize of a scalar", {f32({}, {-3})},
       [](const Tensors& x) { return l2_normalize(x[0]); }, f32({}, {-1})},
      {"l2_normalize of the first axis", {f32({2, 1}, {3, 4})},
       [](const Tensors& x) { return l2_normalize(x[0], {.axis = -2}); }, f32({2, 1}, {0.6, 0.8})},
      // A norm below sqrt(1e-12) is replaced by sqrt(1e-12).
      {"l2_normalize of a small vector", {f32({2}, {3e-7f, 4e-7f})},
       [](const Tensors& x) { return l2_normalize(x[0]); }, f32({2}, {0.3, 0.4})},
      {"l2_normalize", {x()}, [](const Tensors& x) { return l2_normalize(x[0]); },
       f32({2, 3}, {-0.525225731, -0.131306433, 0, 0.131306433, 0.262612866, 0.787838597})},
      {"l2_normalize axis", {x()},
       [](const Tensors& x) { return l2_normalize(x[0], {.axis = -1}); },
       f32({2, 3}, {-0.9701425, -0.242535625, 0, 0.156173762, 0.312347524, 0.937042571})},
      {"l2_normalize zeros", {f32({2, 2}, {0, 0, 3, 4})},
       [](const Tensors& x) { return l2_normalize(x[0], {.axis = 1}); },
       f32({2, 2}, {0, 0, 0.6, 0.8})},
      {"l2_normalize gradient of zeros", {f32({2}, {0, 0})},
       [](const Tensors& x) { return slope(l2_normalize(x[0]), x[0]); }, f32({2}, {1e6, 1e6})},
      {"l2_normalize float16", {f32({2}, {0, 0})},
       [](const Tensors& x) { return cast(l2_normalize(cast(x[0], "float16")), "float32"); },
       f32({2}, {0, 0})},
  };
}

TEST_CASE("softmax: computes 16-bit elements in float32 and rounds once", "[k]") {
  const Array ones = Array::full({70000}, 1, DType::Float16);
  const Array shares = eval(softmax(constant(ones, {.dtype = "float16"})));
  CHECK(shares == Array::full({70000}, 1.0 / 70000, DType::Float16));
  const Array logits = f32({3}, {0, 1, 2}).astype(DType::BFloat16);
  const Array wide = eval(softmax(constant(logits.astype(DType::Float32))));
  const Tensor narrow = constant(logits, {.dtype = "bfloat16"});
  CHECK(eval(softmax(narrow)) == wide.astype(DType::BFloat16));
}

TEST_CASE("activations", "[k]") { run(activation_rows()); }

}  // namespace kiln::test
