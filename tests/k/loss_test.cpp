// Tests kiln/loss.h: values, from NumPy 2.4 by the formulas of Keras 2.2.5's TensorFlow engine.
#include "tests/support/catch.h"
#include "tests/k/row.h"

namespace kiln::test {
namespace {

const Array& one_hot_targets() {
  static const Array array = f32({2, 3}, {0, 1, 0, 0.2, 0.3, 0.5});
  return array;
}
const Array& probabilities() {
  static const Array array = f32({2, 3}, {0.2, 0.3, 0.5, 1.2, 0.6, 0.2});
  return array;
}
const Array& binary_targets() {
  static const Array array = f32({2, 3}, {1, 0, 1, 1, 0, 0.4});
  return array;
}

}  // namespace

std::vector<Row> loss_rows() {
  return {
      {"categorical_crossentropy",
       {one_hot_targets(), probabilities()},
       [](const Tensors& x) { return categorical_crossentropy(x[0], x[1]); },
       f32({2}, {1.2039728, 1.61464951})},
      {"categorical_crossentropy axis",
       {one_hot_targets(), probabilities()},
       [](const Tensors& x) { return categorical_crossentropy(x[0], x[1], {.axis = 0}); },
       f32({3}, {0.030830136, 1.22025182, 0.626381484})},
      {"categorical_crossentropy logits",
       {one_hot_targets(), mixed_signs()},
       [](const Tensors& x) { return categorical_crossentropy(x[0], x[1], {.from_logits = true}); },
       f32({2}, {1.05495692, 1.2967341})},
      {"categorical_crossentropy of a wrong certainty",
       {f32({3}, {1, 0, 0}), f32({3}, {0, 1, 0})},
       [](const Tensors& x) { return categorical_crossentropy(x[0], x[1]); },
       f32({}, {16.118095})},
      // Divided by the sum first, then clipped: 0.5 / 1.5 and not 0.5.
      {"categorical_crossentropy of numbers that do not add up",
       {f32({2}, {0, 1}), f32({2}, {1, 0.5})},
       [](const Tensors& x) { return categorical_crossentropy(x[0], x[1]); },
       f32({}, {1.09861229})},
      {"categorical_crossentropy of a middle axis",
       {f32({1, 2, 2}, {1, 0, 0, 1}), f32({1, 2, 2}, {0.25, 0.5, 0.75, 0.5})},
       [](const Tensors& x) { return categorical_crossentropy(x[0], x[1], {.axis = -2}); },
       f32({1, 2}, {1.38629436, 0.693147181})},
      {"categorical_crossentropy of soft targets and logits in float64",
       {Array(std::vector<double>{0.25, 0.75}), Array(std::vector<double>{0, 0})},
       [](const Tensors& x) { return categorical_crossentropy(x[0], x[1], {.from_logits = true}); },
       Array(0.6931471805599453),
       1e-15},
      // No gradient where the probability is clipped: d/dp of -log(clip(p / (p + q))) is 0 there.
      {"categorical_crossentropy gradient of a held probability",
       {f32({2}, {1, 0}), f32({2}, {0, 1})},
       [](const Tensors& x) { return gradients(categorical_crossentropy(x[0], x[1]), {x[1]})[0]; },
       f32({2}, {0, 0})},
      {"categorical_crossentropy of large logits",
       {f32({2}, {1, 0}), f32({2}, {-1000, 1000})},
       [](const Tensors& x) { return categorical_crossentropy(x[0], x[1], {.from_logits = true}); },
       f32({}, {2000})},
      {"categorical_crossentropy float16",
       {f32({2}, {1, 0}), f32({2}, {0, 1})},
       [](const Tensors& x) {
         const Tensor target = cast(x[0], "float16"), output = cast(x[1], "float16");
         return cast(categorical_crossentropy(target, output), "float32");
       },
       f32({}, {16.125})},
      {"sparse_categorical_crossentropy",
       {i32({2}, {1, 0}), probabilities()},
       [](const Tensors& x) { return sparse_categorical_crossentropy(x[0], x[1]); },
       f32({2}, {1.2039728, 0.587786709})},
      {"sparse_categorical_crossentropy of a column",
       {f32({2, 1}, {1, 0}), probabilities()},
       [](const Tensors& x) { return sparse_categorical_crossentropy(x[0], x[1]); },
       f32({2}, {1.2039728, 0.587786709})},
      {"sparse_categorical_crossentropy logits",
       {i64({2}, {2, 0}), mixed_signs()},
       [](const Tensors& x) {
         return sparse_categorical_crossentropy(x[0], x[1], {.from_logits = true});
       },
       f32({2}, {0.55495692, 2.6967341})},
      {"sparse_categorical_crossentropy of a wrong certainty",
       {i64({2}, {0, 1}), f32({2, 3}, {0, 1, 0, 0, 1, 0})},
       [](const Tensors& x) { return sparse_categorical_crossentropy(x[0], x[1]); },
       f32({2}, {16.1180958, 2e-7f})},
      {"sparse_categorical_crossentropy of three axes",
       {i64({2, 1}, {2, 0}), f32({2, 1, 3}, {-2, -0.5, 0, 0.5, 1, 3})},
       [](const Tensors& x) {
         return sparse_categorical_crossentropy(x[0], x[1], {.from_logits = true});
       },
       f32({2, 1}, {0.55495692, 2.6967341})},
      {"sparse_categorical_crossentropy axis",
       {i64({2}, {2, 0}), f32({3, 2}, {-2, 0.5, -0.5, 1, 0, 3})},
       [](const Tensors& x) {
         return sparse_categorical_crossentropy(x[0], x[1], {.from_logits = true, .axis = 0});
       },
       f32({2}, {0.55495692, 2.6967341})},
      {"sparse_categorical_crossentropy of a vector",
       {i32({}, {1}), f32({2}, {0.75, 0.25})},
       [](const Tensors& x) { return sparse_categorical_crossentropy(x[0], x[1]); },
       f32({}, {1.38629436})},
      {"sparse_categorical_crossentropy of narrow classes",
       {Array{1, 0}.astype(DType::UInt8), probabilities()},
       [](const Tensors& x) { return sparse_categorical_crossentropy(x[0], x[1]); },
       f32({2}, {1.2039728, 0.587786709})},
      // As many targets as positions, in any shape: they are read in C order.
      {"sparse_categorical_crossentropy of targets in another shape",
       {i64({4}, {0, 1, 1, 0}), f32({2, 2, 2}, {0.5, 0.5, 0.25, 0.75, 0.125, 0.875, 0.25, 0.75})},
       [](const Tensors& x) { return sparse_categorical_crossentropy(x[0], x[1]); },
       f32({2, 2}, {0.693147181, 0.287682072, 0.133531393, 1.38629436})},
      {"sparse_categorical_crossentropy axis of probabilities",
       {i64({2}, {1, 0}), f32({2, 2}, {0.25, 0.5, 0.75, 0.5})},
       [](const Tensors& x) { return sparse_categorical_crossentropy(x[0], x[1], {.axis = -2}); },
       f32({2}, {0.287682072, 0.693147181})},
      {"sparse_categorical_crossentropy float16",
       {i64({1}, {0}), f32({1, 2}, {0, 1})},
       [](const Tensors& x) {
         const Tensor output = cast(x[1], "float16");
         return cast(sparse_categorical_crossentropy(x[0], output), "float32");
       },
       f32({1}, {16.125})},
      {"sparse_categorical_crossentropy of no class",
       {i64({2}, {3, -1}), probabilities()},
       [](const Tensors& x) { return sparse_categorical_crossentropy(x[0], x[1]); },
       f32({2}, {kNaN, kNaN})},
      {"sparse_categorical_crossentropy gradient",
       {i64({1}, {1}), f32({1, 2}, {0, 0})},
       [](const Tensors& x) {
         const Tensor loss = sparse_categorical_crossentropy(x[0], x[1], {.from_logits = true});
         return gradients(sum(loss), {x[1]})[0];
       },
       f32({1, 2}, {0.5, -0.5})},
      {"binary_crossentropy",
       {binary_targets(), f32({2, 3}, {0, 0.2, 0.5, 0.9, 1, 0.3})},
       [](const Tensors& x) { return binary_crossentropy(x[0], x[1]); },
       f32({2, 3}, {16.1180955, 0.223143551, 0.693147181, 0.105360516, 15.9423847, 0.695594081}),
       2e-6},
      {"binary_crossentropy logits",
       {binary_targets(), mixed_signs()},
       [](const Tensors& x) { return binary_crossentropy(x[0], x[1], {.from_logits = true}); },
       f32({2, 3}, {2.12692801, 0.474076984, 0.693147181, 0.474076984, 1.31326169, 1.84858735})},
      {"binary_crossentropy of large logits",
       {f32({4}, {0, 1, 0, 1}), f32({4}, {1000, 1000, -1000, -1000})},
       [](const Tensors& x) { return binary_crossentropy(x[0], x[1], {.from_logits = true}); },
       f32({4}, {1000, 0, 0, 1000})},
      {"binary_crossentropy outside of the probabilities",
       {f32({2}, {1, 0}), f32({2}, {-1, 2})},
       [](const Tensors& x) { return binary_crossentropy(x[0], x[1]); },
       f32({2}, {16.1180955, 15.9423847}),
       2e-6},
      // In float64 1 - 1e-7 differs from 1 by exactly 1e-7.
      {"binary_crossentropy in float64",
       {Array(std::vector<double>{1, 0, 0.4}), Array(std::vector<double>{0, 1, 0.3})},
       [](const Tensors& x) { return binary_crossentropy(x[0], x[1]); },
       Array(std::vector<double>{16.11809565095832, 16.11809565095832, 0.6955940880936138}),
       1e-9},
      {"binary_crossentropy broadcasts",
       {f32({2, 1}, {0, 1}), f32({2}, {0.25, 0.5})},
       [](const Tensors& x) { return binary_crossentropy(x[0], x[1]); },
       f32({2, 2}, {0.287682072, 0.693147181, 1.38629436, 0.693147181})},
      {"binary_crossentropy float16",
       {f32({2}, {1, 0}), f32({2}, {0, 0.5})},
       [](const Tensors& x) {
         const Tensor target = cast(x[0], "float16"), output = cast(x[1], "float16");
         return cast(binary_crossentropy(target, output), "float32");
       },
       f32({2}, {16.125, 0.693359375})},
      {"binary_crossentropy gradient of a held probability",
       {f32({2}, {1, 0}), f32({2}, {0, 1})},
       [](const Tensors& x) { return gradients(sum(binary_crossentropy(x[0], x[1])), {x[1]})[0]; },
       f32({2}, {0, 0})},
      {"binary_crossentropy of a number",
       {f32({2}, {0, 0})},
       [](const Tensors& x) { return binary_crossentropy(1, x[0], {.from_logits = true}); },
       f32({2}, {0.693147181, 0.693147181})},
      {"binary_crossentropy gradient at 0",
       {f32({2}, {0, 1}), f32({2}, {0, 0})},
       [](const Tensors& x) {
         const Tensor loss = binary_crossentropy(x[0], x[1], {.from_logits = true});
         return gradients(sum(loss), {x[1]})[0];
       },
       f32({2}, {0.5, -0.5})},
      // A target of 0 contributes nothing, and an infinite logit has a finite slope.
      {"categorical_crossentropy of a logit of -inf",
       {f32({2, 3}, {0.25, 0, 0.75, 0, 1, 0}), f32({2, 3}, {0, -kInf, 0, 0, -kInf, 0})},
       [](const Tensors& x) { return categorical_crossentropy(x[0], x[1], {.from_logits = true}); },
       f32({2}, {0.693147181, kInf})},
      {"categorical_crossentropy gradient beside a logit of -inf",
       {f32({1, 3}, {0.25, 0, 0.75}), f32({1, 3}, {0, -kInf, 0})},
       [](const Tensors& x) {
         const Tensor loss = categorical_crossentropy(x[0], x[1], {.from_logits = true});
         return concatenate(gradients(sum(loss), {x[0], x[1]}));
       },
       f32({1, 6}, {0.693147181, 0, 0.693147181, 0.25, 0, -0.25})},
      {"categorical_crossentropy of logits without a distribution",
       {f32({3, 2}, {1, 0, 1, 0, 1, 0}), f32({3, 2}, {-kInf, -kInf, kInf, 0, kNaN, 0})},
       [](const Tensors& x) { return categorical_crossentropy(x[0], x[1], {.from_logits = true}); },
       f32({3}, {kNaN, kNaN, kNaN})},
      {"sparse_categorical_crossentropy of a logit of -inf",
       {i64({2}, {0, 1}), f32({2, 3}, {0, -kInf, 0, 0, -kInf, 0})},
       [](const Tensors& x) {
         return sparse_categorical_crossentropy(x[0], x[1], {.from_logits = true});
       },
       f32({2}, {0.693147181, kInf})},
      {"sparse_categorical_crossentropy gradient beside a logit of -inf",
       {i64({1}, {0}), f32({1, 3}, {0, -kInf, 0})},
       [](const Tensors& x) {
         const Tensor loss = sparse_categorical_crossentropy(x[0], x[1], {.from_logits = true});
         return gradients(sum(loss), {x[1]})[0];
       },
       f32({1, 3}, {-0.5, 0, 0.5})},
      {"binary_crossentropy of infinite logits",
       {f32({7}, {0, 1, 0, 1, 0.5, 0.5, 0}),
        f32({7}, {-kInf, kInf, kInf, -kInf, kInf, -kInf, kNaN})},
       [](const Tensors& x) { return binary_crossentropy(x[0], x[1], {.from_logits = true}); },
       f32({7}, {0, 0, kInf, kInf, kInf, kInf, kNaN})},
      {"binary_crossentropy gradient of infinite logits",
       {f32({6}, {0, 1, 0, 1, 0.5, 0.5}), f32({6}, {-kInf, kInf, kInf, -kInf, kInf, -kInf})},
       [](const Tensors& x) {
         const Tensor loss = binary_crossentropy(x[0], x[1], {.from_logits = true});
         return gradients(sum(loss), {x[1]})[0];
       },
       f32({6}, {0, 0, 1, -1, 0.5, -0.5})},
      {"categorical_crossentropy of no samples",
       {Array::zeros({0, 3}), Array::zeros({0, 3})},
       [](const Tensors& x) { return categorical_crossentropy(x[0], x[1]); },
       Array::zeros({0})},
      {"categorical_crossentropy of one class",
       {f32({2, 1}, {1, 1}), f32({2, 1}, {0.3, 0.7})},
       [](const Tensors& x) { return categorical_crossentropy(x[0], x[1]); },
       f32({2}, {1e-7f, 1e-7f})},
      {"sparse_categorical_crossentropy of no samples",
       {i64({0}, {}), Array::zeros({0, 3})},
       [](const Tensors& x) { return sparse_categorical_crossentropy(x[0], x[1]); },
       Array::zeros({0})},
      {"sparse_categorical_crossentropy of one class",
       {i64({1}, {0}), f32({1, 1}, {0.3})},
       [](const Tensors& x) {
         return sparse_categorical_crossentropy(x[0], x[1], {.from_logits = true});
       },
       f32({1}, {0})},
      {"binary_crossentropy of no samples",
       {Array::zeros({0, 1}), Array::zeros({0, 1})},
       [](const Tensors& x) { return binary_crossentropy(x[0], x[1]); },
       Array::zeros({0, 1})},
      {"in_top_k of no samples",
       {Array::zeros({0, 3}), i64({0}, {})},
       [](const Tensors& x) { return in_top_k(x[0], x[1], 2); },
       bools({0}, {})},
      {"in_top_k",
       {f32({3, 4}, {0.1, 0.4, 0.3, 0.2, 0.1, 0.4, 0.3, 0.2, 0.25, 0.25, 0.25, 0.25}),
        i64({3}, {2, 3, 0})},
       [](const Tensors& x) { return in_top_k(x[0], x[1], 2); },
       bools({3}, {true, false, true})},
      {"in_top_k of ties at the boundary",
       {f32({3, 3}, {5, 3, 3, 5, 3, 3, 5, 3, 3}), i32({3}, {0, 1, 2})},
       [](const Tensors& x) { return in_top_k(x[0], x[1], 2); },
       bools({3}, {true, true, true})},
      {"in_top_k of integers",
       {i32({2, 3}, {1, 5, 3, 9, 9, 9}), Array{2, 0}.astype(DType::UInt8)},
       [](const Tensors& x) { return in_top_k(x[0], x[1], 1); },
       bools({2}, {false, true})},
      {"in_top_k k below 0",
       {f32({1, 2}, {1, 2}), i64({1}, {1})},
       [](const Tensors& x) { return in_top_k(x[0], x[1], -3); },
       bools({1}, {false})},
      {"in_top_k one class",
       {f32({2, 1}, {1, -kInf}), i64({2}, {0, 0})},
       [](const Tensors& x) { return in_top_k(x[0], x[1], 1); },
       bools({2}, {true, false})},
      {"in_top_k beside infinity and NaN",
       {f32({2, 3}, {1, kInf, 0, 1, kNaN, 0}), i64({2}, {0, 0})},
       [](const Tensors& x) { return in_top_k(x[0], x[1], 1); },
       bools({2}, {false, true})},
      {"in_top_k k 0",
       {f32({1, 2}, {1, 2}), i64({1}, {1})},
       [](const Tensors& x) { return in_top_k(x[0], x[1], 0); },
       bools({1}, {false})},
      {"in_top_k k above the classes",
       {f32({1, 2}, {1, 2}), i64({1}, {0})},
       [](const Tensors& x) { return in_top_k(x[0], x[1], 5); },
       bools({1}, {true})},
      {"in_top_k not finite, no class",
       {f32({4, 2}, {kNaN, 0, kInf, 0, 1, 0, 1, 0}), i64({4}, {0, 0, 2, -1})},
       [](const Tensors& x) { return in_top_k(x[0], x[1], 2); },
       bools({4}, {false, false, false, false})},
  };
}

TEST_CASE("losses", "[k]") { run(loss_rows()); }

}  // namespace kiln::test
