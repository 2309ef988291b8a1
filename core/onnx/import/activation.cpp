// Imports activations and softmaxes.
#include <kiln/activation.h>

#include "core/k/math/formulas_impl.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/onnx/import/operands.h"
#include "core/types/at.h"

#include <limits>

namespace kiln::onnx {
namespace {

using ir::Op;
using ir::Value;
using Values = std::vector<Value>;

/// e^min(x, 0) - 1: the branch of exponential units, whose gradient is finite for large x, too.
Value negative_branch(const Value& x) {
  return ir::unary(Op::Expm1, ir::binary(Op::Minimum, x, ir::zeros_like(x)));
}

Values import_relu(NodeContext& node) { return {positive_part(node.input(0))}; }

Values import_leaky_relu(NodeContext& node) {
  const Value x = node.input(0);
  return {ir::select(ir::less(x, ir::zeros_like(x)), x * node.number("alpha", 0.01), x)};
}

Values import_prelu(NodeContext& node) {
  const Value x = node.input(0), slope = node.input(1);
  const bool is_per_channel = node.opset() < 7 && slope.rank() == 1 && x.rank() > 2;
  const Value aligned = is_per_channel ? ir::reshape(slope,
                                                     [&] {
                                                       ir::Dims dims(at(x.rank() - 1), 1);
                                                       dims[0] = slope.dims()[0];
                                                       return dims;
                                                     }())
                                       : slope;
  const Value scaled = x * ir::broadcast_to(aligned, x.dims());
  return {ir::select(ir::less(x, ir::zeros_like(x)), scaled, x)};
}

Values import_elu(NodeContext& node) {
  const Value x = node.input(0);
  return {positive_part(x) + negative_branch(x) * node.number("alpha", 1)};
}

/// With the constants of Klambauer et al. 2017.
Values import_selu(NodeContext& node) {
  const Value x = node.input(0);
  const double alpha = node.number("alpha", 1.67326319217681884765625);
  const double gamma = node.number("gamma", 1.05070102214813232421875);
  return {(positive_part(x) + negative_branch(x) * alpha) * gamma};
}

/// max(x, 0) + min(alpha (e^(x / alpha) - 1), 0), whose second term is not 0 for negative x alone.
Values import_celu(NodeContext& node) {
  const Value x = node.input(0);
  const double alpha = node.number("alpha", 1);
  const Value ratio = x * (1 / alpha);
  const Value branch =
      alpha < 0 ? ir::unary(Op::Expm1, positive_part(ratio)) : negative_branch(ratio);
  return {positive_part(x) + branch * alpha};
}

Values import_thresholded_relu(NodeContext& node) {
  const Value x = node.input(0);
  const Value is_above = ir::less(ir::like(x, node.number("alpha", 1)), x);
  return {ir::select(is_above, x, ir::zeros_like(x))};
}

Values import_hard_sigmoid(NodeContext& node) {
  const Value x = node.input(0);
  return {clipped(x * node.number("alpha", 0.2) + node.number("beta", 0.5), 0, 1)};
}

Values import_hard_swish(NodeContext& node) {
  const Value x = node.input(0);
  return {x * clipped(x * (1.0 / 6) + 0.5, 0, 1)};
}

Values import_mish(NodeContext& node) {
  const Value x = node.input(0);
  return {x * ir::unary(Op::Tanh, positive_part(x) + log1p_exp_of_minus_abs(x))};
}

Values import_gelu(NodeContext& node) {
  const bool is_tanh = node.string("approximate", "none") == "tanh";
  return {value_of(kiln::gelu(node.tensor(0), {.approximate = is_tanh}), "x")};
}

Values import_swish(NodeContext& node) {
  const Value x = node.input(0);
  return {x * ir::unary(Op::Sigmoid, x * node.number("alpha", 1))};
}

Values import_swiglu(NodeContext& node) { return {import_swish(node)[0] * node.input(1)}; }

Values import_shrink(NodeContext& node) {
  const Value x = node.input(0);
  const double bias = node.number("bias", 0), width = node.number("lambd", 0.5);
  const Value inner =
      ir::select(ir::less(ir::like(x, width), x), x - ir::like(x, bias), ir::zeros_like(x));
  return {ir::select(ir::less(x, ir::like(x, -width)), x + ir::like(x, bias), inner)};
}

/// Bounds are attributes before opset 11, then optional scalar inputs; min(max(x, low), high).
Values import_clip(NodeContext& node) {
  Value x = node.input(0);
  const auto bound = [&](std::size_t i, const char* name) -> Value {
    if (node.has(i)) return ir::broadcast_to(ir::reshape(node.input(i), {}), x.dims());
    return node.has_attribute(name) ? ir::like(x, node.number(name, 0)) : Value();
  };
  const Value low = bound(1, "min"), high = bound(2, "max");
  // If low > high, the result is high.
  if (low && high && is_float(x.dtype())) {
    return {clipped(x, ir::binary(Op::Minimum, low, high), high)};
  }
  if (low) x = ir::binary(Op::Maximum, x, low);
  if (high) x = ir::binary(Op::Minimum, x, high);
  return {x};
}

/// Before opset 13, the axes from `axis` on count as one.
Values over_axis(NodeContext& node, const std::function<Value(const Value&, int)>& function) {
  const Value x = node.input(0);
  if (x.rank() == 0) return {ir::reshape(function(ir::reshape(x, {1}), 0), {})};
  const bool is_flat = node.opset() < 13;
  const int axis = node.axis(node.integer("axis", is_flat ? 1 : -1), x.rank());
  if (!is_flat || axis == x.rank() - 1) return {function(x, axis)};
  ir::Dims dims(x.dims().begin(), x.dims().begin() + axis);
  dims.push_back(ir::product(ir::Dims(x.dims().begin() + axis, x.dims().end())));
  return {ir::reshape(function(ir::reshape(x, dims), axis), x.dims())};
}

Values import_softmax(NodeContext& node) { return over_axis(node, ir::softmax); }
Values import_log_softmax(NodeContext& node) { return over_axis(node, ir::log_softmax); }

/// 1 at the first largest element, else 0.
Values import_hardmax(NodeContext& node) {
  return over_axis(node, [](const Value& x, int axis) {
    if (x.dims()[at(axis)] == ir::Dim(0)) return x;
    const Value best = ir::make(Op::ArgMax, ir::AxisAttrs{axis}, {x});
    const Value index = ir::iota({DType::Int64, x.dims()}, axis);
    return ir::cast(ir::equal_to(index, ir::broadcast_over(best, x.dims(), {axis})), x.dtype());
  });
}

/// Whether the ratio is known to be 0, so that nothing is dropped.
bool has_zero_ratio(NodeContext& node) {
  if (!node.has(1)) return false;
  const auto ratio = node.elements(1);
  if (!ratio || ratio->size() != 1 || !ratio->front()) return false;
  const auto& element = *ratio->front();
  return element.number ? *element.number == 0 : element.dim == ir::Dim(0);
}

/// Inference: the identity. Training is rejected: its draws would not be those of other runtimes.
Values import_dropout(NodeContext& node) {
  const Value x = node.input(0);
  const bool may_train = node.has(2) && node.truth(node.input(2)) != ir::Ternary::No;
  if (may_train && !has_zero_ratio(node)) {
    node.fail(
        "training_mode is not known to be false, nor ratio to be 0; only inference is "
        "imported");
  }
  return {x, ir::full(node.opset() < 10 ? x.dtype() : DType::Bool, x.dims(), 1)};
}

constexpr OperatorRow kActivationRows[] = {
    {"Celu", {12, 28}, import_celu},
    {"Clip", {6, 11, 12, 13}, import_clip},
    {"Dropout", {6, 7, 10, 12, 13, 22}, import_dropout},
    {"Elu", {6, 22}, import_elu},
    {"Gelu", {20}, import_gelu},
    {"HardSigmoid", {6, 22}, import_hard_sigmoid},
    {"HardSwish", {14, 22}, import_hard_swish},
    {"Hardmax", {1, 11, 13}, import_hardmax},
    {"LeakyRelu", {6, 16}, import_leaky_relu},
    {"LogSoftmax", {1, 11, 13}, import_log_softmax},
    {"Mish", {18, 22}, import_mish},
    {"PRelu", {6, 7, 9, 16}, import_prelu},
    {"Relu", {6, 13, 14}, import_relu},
    {"Selu", {6, 22}, import_selu},
    {"Shrink", {9}, import_shrink},
    {"Sigmoid", {6, 13}, unary<Op::Sigmoid>},
    {"Softmax", {1, 11, 13}, import_softmax},
    {"Softplus", {1, 22}, k_unary<kiln::softplus>},
    {"Softsign", {1, 22}, k_unary<kiln::softsign>},
    {"SwiGLU", {28}, import_swiglu},
    {"Swish", {24}, import_swish},
    {"Tanh", {6, 13}, unary<Op::Tanh>},
    {"ThresholdedRelu", {10, 22}, import_thresholded_relu},
};

}  // namespace

std::span<const OperatorRow> activation_operators() { return kActivationRows; }

}  // namespace kiln::onnx
