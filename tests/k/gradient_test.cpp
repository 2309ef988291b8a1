// Compares gradients of the K functions with finite differences, to second order. Domains exclude
// kinks and poles, whose gradients are in the tables of values.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/k/row.h"

namespace kiln::test {
namespace {

using Dims = std::vector<std::int64_t>;
const Dims kMatrix{3, 4}, kRow{4}, kColumn{3, 1};

const SmoothRow kGradientRows[] = {
    {"operators",
     {kMatrix, kRow, kColumn},
     [](const Tensors& x) { return (x[0] + 2 * x[1]) * x[2] - x[0] / (3 + x[1]) + -x[0]; }},
    {"elements", {kMatrix}, [](const Tensors& x) { return x[0][1] * x[0].slice(-2, {}); }},
    {"square", {kMatrix}, [](const Tensors& x) { return square(x[0]); }},
    {"abs", {kMatrix}, [](const Tensors& x) { return abs(x[0]); }, 0.5, 2},
    {"abs below", {kMatrix}, [](const Tensors& x) { return abs(x[0]); }, -2, -0.5},
    {"sqrt", {kMatrix}, [](const Tensors& x) { return sqrt(x[0]); }, 0.5, 2},
    {"exp", {kMatrix}, [](const Tensors& x) { return exp(x[0]); }},
    {"log", {kMatrix}, [](const Tensors& x) { return log(x[0]); }, 0.5, 2},
    {"sin", {kMatrix}, [](const Tensors& x) { return sin(x[0]); }},
    {"cos", {kMatrix}, [](const Tensors& x) { return cos(x[0]); }},
    {"erf", {kMatrix}, [](const Tensors& x) { return erf(x[0]); }},
    {"pow", {kMatrix, kRow}, [](const Tensors& x) { return pow(x[0], x[1]); }, 0.5, 2},
    {"pow number", {kMatrix}, [](const Tensors& x) { return pow(x[0], 3); }},
    {"clip", {kMatrix}, [](const Tensors& x) { return square(clip(x[0], -3, 1)); }},
    {"clip bounds",
     {kMatrix, kRow, kColumn},
     [](const Tensors& x) { return square(clip(x[0], x[1] - 1, x[2] + 1)); }},
    {"maximum", {kMatrix, kRow}, [](const Tensors& x) { return square(maximum(x[0], x[1])); }},
    {"minimum", {kMatrix, kColumn}, [](const Tensors& x) { return square(minimum(x[0], x[1])); }},
    {"max", {kMatrix}, [](const Tensors& x) { return square(max(x[0], {.axis = 1})); }},
    {"min", {kMatrix}, [](const Tensors& x) { return square(min(x[0], {.axis = 0})); }},
    {"sum", {kMatrix}, [](const Tensors& x) { return square(sum(x[0], {.axis = 1})); }},
    {"prod", {kMatrix}, [](const Tensors& x) { return prod(x[0], {.axis = 0, .keepdims = true}); }},
    {"prod all", {kMatrix}, [](const Tensors& x) { return prod(x[0]); }},
    {"prod list", {{}, {}}, [](const Tensors& x) { return prod({x[0], x[1], x[0]}); }},
    {"mean", {kMatrix}, [](const Tensors& x) { return square(mean(x[0], {.axis = 1})); }},
    {"var", {kMatrix}, [](const Tensors& x) { return var(x[0], {.axis = 0}); }},
    {"std", {kMatrix}, [](const Tensors& x) { return std(x[0], {.axis = 1, .keepdims = true}); }},
    {"cumsum", {kMatrix}, [](const Tensors& x) { return square(cumsum(x[0], {.axis = 1})); }},
    {"cumprod", {kMatrix}, [](const Tensors& x) { return cumprod(x[0]); }},
    {"logsumexp", {kMatrix}, [](const Tensors& x) { return logsumexp(x[0], {.axis = 0}); }},
    {"dot", {kMatrix, {2, 4, 3}}, [](const Tensors& x) { return dot(x[0], x[1]); }},
    {"dot of vectors", {kRow, kRow}, [](const Tensors& x) { return dot(x[0], x[1]); }},
    {"batch_dot", {{2, 3, 4}, {2, 4, 5}}, [](const Tensors& x) { return batch_dot(x[0], x[1]); }},
    {"batch_dot axes",
     {{2, 3, 4, 2}, {2, 2, 4}},
     [](const Tensors& x) { return batch_dot(x[0], x[1], {.axes = {2, 2}}); }},
    {"transpose", {{2, 3, 4}}, [](const Tensors& x) { return square(transpose(x[0])); }},
    {"gather",
     {kMatrix},
     [](const Tensors& x) {
       const Tensor indices = constant(i64({2, 2}, {2, 0, 2, 1}), {.dtype = "int64"});
       return square(gather(x[0], indices));
     }},
    {"relu",
     {kMatrix},
     [](const Tensors& x) {
       return square(relu(x[0], {.alpha = 0.2, .max_value = 1.5, .threshold = 0.3}));
     }},
    {"relu negative threshold",
     {kMatrix},
     [](const Tensors& x) {
       return square(relu(x[0], {.alpha = 0.2, .max_value = 1.5, .threshold = -0.7}));
     }},
    {"elu", {kMatrix}, [](const Tensors& x) { return elu(x[0], {.alpha = 0.7}); }},
    {"gelu", {kMatrix}, [](const Tensors& x) { return gelu(x[0]); }},
    {"gelu approximate",
     {kMatrix},
     [](const Tensors& x) { return gelu(x[0], {.approximate = true}); }},
    {"softmax", {kMatrix}, [](const Tensors& x) { return softmax(x[0]); }},
    {"log_softmax", {kMatrix}, [](const Tensors& x) { return log_softmax(x[0], {.axis = 0}); }},
    {"softmax axis", {kMatrix}, [](const Tensors& x) { return softmax(x[0], {.axis = 0}); }},
    {"softplus", {kMatrix}, [](const Tensors& x) { return softplus(x[0]); }},
    {"softsign", {kMatrix}, [](const Tensors& x) { return softsign(x[0]); }},
    {"sigmoid", {kMatrix}, [](const Tensors& x) { return sigmoid(x[0]); }},
    {"tanh", {kMatrix}, [](const Tensors& x) { return tanh(x[0]); }},
    {"hard_sigmoid", {kMatrix}, [](const Tensors& x) { return square(hard_sigmoid(x[0])); }},
    {"l2_normalize", {kMatrix}, [](const Tensors& x) { return l2_normalize(x[0], {.axis = 1}); }},
    {"categorical_crossentropy",
     {kMatrix, kMatrix},
     [](const Tensors& x) { return categorical_crossentropy(x[0], x[1]); },
     0.2,
     1},
    {"categorical_crossentropy logits",
     {kMatrix, kMatrix},
     [](const Tensors& x) {
       return categorical_crossentropy(x[0], x[1], {.from_logits = true, .axis = 0});
     }},
    {"sparse_categorical_crossentropy",
     {kMatrix},
     [](const Tensors& x) {
       const Tensor classes = constant(i64({3}, {3, 0, 1}), {.dtype = "int64"});
       return sparse_categorical_crossentropy(classes, x[0]);
     },
     0.2,
     1},
    {"sparse_categorical_crossentropy logits",
     {kMatrix},
     [](const Tensors& x) {
       const Tensor classes = constant(i64({4}, {2, 0, 1, 1}), {.dtype = "int64"});
       return sparse_categorical_crossentropy(classes, x[0], {.from_logits = true, .axis = 0});
     }},
    {"binary_crossentropy",
     {kMatrix, kMatrix},
     [](const Tensors& x) { return binary_crossentropy(x[0], x[1]); },
     0.2,
     0.8},
    {"binary_crossentropy logits",
     {kMatrix, kMatrix},
     [](const Tensors& x) { return binary_crossentropy(x[0], x[1], {.from_logits = true}); }},
};

}  // namespace

TEST_CASE("gradients: functions without one name themselves", "[k]") {
  struct Named {
    const char* name;
    Build build;
  };
  const Named rows[] = {
      {"round", [](const Tensors& x) { return round(x[0]); }},
      {"sign", [](const Tensors& x) { return sign(x[0]); }},
      {"argmax", [](const Tensors& x) { return cast(argmax(x[0]), "float32"); }},
      {"argmin", [](const Tensors& x) { return cast(argmin(-x[0]), "float32"); }},
      {"any", [](const Tensors& x) { return cast(any(x[0]), "float32"); }},
      {"all", [](const Tensors& x) { return cast(all(x[0]), "float32"); }},
      {"not_equal", [](const Tensors& x) { return cast(not_equal(x[0], 2), "float32"); }},
      {"less", [](const Tensors& x) { return switch_(less(x[0], 2), 5, x[1].slice(1, {})); }},
      {"operator>", [](const Tensors& x) { return cast(x[0] > 1, "float32"); }},
      {"cast", [](const Tensors& x) { return gather(x[1], cast(x[0], "int32")); }},
      {"stop_gradient", [](const Tensors& x) { return exp(stop_gradient(x[0])); }},
  };
  for (const Named& row : rows) {
    INFO(row.name);
    const Tensor w = variable({1., 2., 3.}, {.name = "w"}), other = variable({1.}, {.name = "o"});
    const Tensor table = constant({5., 6., 7., 8.});
    const std::vector<Tensor> slopes = gradients(sum(row.build({w, table})), {w, other});
    CHECK(testing::error_text<ValueError>([&] { slopes[0] + 1; }) ==
          "operator+: x is empty: the loss does not depend on w, so it has no gradient; " +
              std::string(row.name) + " on the path to the loss is not differentiable");
    CHECK(testing::error_text<ValueError>([&] { slopes[1] + 1; }) ==
          "operator+: x is empty: the loss does not depend on o, so it has no gradient");
  }
}

TEST_CASE("gradients: K functions agree with finite differences", "[k]") {
  for (const SmoothRow& row : kGradientRows) run(row);
}

}  // namespace kiln::test
