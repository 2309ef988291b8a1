// The activations that recurrent cells name, by the table of ONNX.
#include "core/onnx/import/cell_activation.h"

#include <kiln/activation.h>

#include "core/k/math/formulas_impl.h"
#include "core/types/escaped_text.h"

#include <cmath>
#include <limits>

namespace kiln::onnx {
namespace {

using ir::Op;
using ir::Value;

template <Op op>
Value cell_unary(const Value& x, double, double) {
  return ir::unary(op, x);
}
Value cell_relu(const Value& x, double, double) { return positive_part(x); }
Value cell_affine(const Value& x, double alpha, double beta) { return x * alpha + beta; }
Value cell_leaky_relu(const Value& x, double alpha, double) {
  return ir::select(ir::less(x, ir::zeros_like(x)), x * alpha, x);
}
Value cell_thresholded_relu(const Value& x, double alpha, double) {
  return ir::select(ir::less(x, ir::like(x, alpha)), ir::zeros_like(x), x);
}
Value cell_scaled_tanh(const Value& x, double alpha, double beta) {
  return ir::unary(Op::Tanh, x * beta) * alpha;
}
Value cell_hard_sigmoid(const Value& x, double alpha, double beta) {
  return clipped(x * alpha + beta, 0, 1);
}
/// The exponential of positive x is not taken: its gradient would be 0 inf.
Value cell_elu(const Value& x, double alpha, double) {
  const Value negative = ir::binary(Op::Minimum, x, ir::zeros_like(x));
  return positive_part(x) + ir::unary(Op::Expm1, negative) * alpha;
}
template <Tensor (*function)(const Operand&)>
Value cell_function(const Value& x, double, double) {
  return value_of(function(wrap(x)), "x");
}

struct ActivationRow {
  std::string_view name;  // in lower case
  CellActivation::Function function;
  bool has_alpha = false, has_beta = false;
  double alpha = 0, beta = 0;  // the defaults
};

constexpr ActivationRow kActivations[] = {
    {"affine", cell_affine, true, true, 1, 0},
    {"elu", cell_elu, true, false, 1},
    {"hardsigmoid", cell_hard_sigmoid, true, true, 0.2, 0.5},
    {"leakyrelu", cell_leaky_relu, true, false, 0.01},
    {"relu", cell_relu},
    {"scaledtanh", cell_scaled_tanh, true, true, 1, 1},
    {"sigmoid", cell_unary<Op::Sigmoid>},
    {"softplus", cell_function<kiln::softplus>},
    {"softsign", cell_function<kiln::softsign>},
    {"tanh", cell_unary<Op::Tanh>},
    {"thresholdedrelu", cell_thresholded_relu, true, false, 1},
};

const ActivationRow& row_of(NodeContext& node, std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const ActivationRow& row : kActivations) {
    if (row.name == lower) return row;
  }
  node.fail(text("activation '", escaped_text(name), "' is unknown"));
}

/// The next number of a list, or else the default.
double next_of(std::span<const float>& numbers, double otherwise) {
  if (numbers.empty()) return otherwise;
  const double number = static_cast<double>(numbers.front());
  numbers = numbers.subspan(1);
  return number;
}

}  // namespace

Value CellActivation::operator()(const Value& x) const {
  return function(std::isinf(clip) ? x : clipped(x, -clip, clip), alpha, beta);
}

std::vector<CellActivation> cell_activations(NodeContext& node,
                                             std::span<const std::string_view> defaults,
                                             std::size_t directions) {
  std::vector<std::string> names = node.strings("activations");
  if (names.empty()) {
    for (std::size_t i = 0; i < directions; ++i) {
      names.insert(names.end(), defaults.begin(), defaults.end());
    }
  }
  const std::size_t count = defaults.size() * directions;
  if (names.size() < count) {
    node.fail(text("activations name ", names.size(), " functions, not ", count));
  }
  const std::vector<float> alphas = node.numbers("activation_alpha");
  const std::vector<float> betas = node.numbers("activation_beta");
  std::span<const float> alpha = alphas, beta = betas;
  const double clip = node.number("clip", std::numeric_limits<double>::infinity());
  std::vector<CellActivation> activations;
  for (std::size_t i = 0; i < count; ++i) {
    const ActivationRow& row = row_of(node, names[i]);
    activations.push_back({.function = row.function,
                           .alpha = row.has_alpha ? next_of(alpha, row.alpha) : 0,
                           .beta = row.has_beta ? next_of(beta, row.beta) : 0,
                           .clip = clip});
  }
  return activations;
}

}  // namespace kiln::onnx
