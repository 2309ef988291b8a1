// Imports quantisation: quantize, dequantize, and matmuls and convolutions of 8-bit integers, which
// add in int32.
#include <kiln/linalg.h>

#include "core/k/image/sliding_impl.h"
#include "core/k/math/formulas_impl.h"
#include "core/onnx/import/convolution.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/onnx/import/operands.h"
#include "core/types/at.h"

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Op;
using ir::Value;
using Values = std::vector<Value>;

/// A tensor of one element as a scalar, broadcast.
Value spread_parameter_scalar(const Value& x, const Dims& dims) {
  return ir::broadcast_to(ir::reshape(x, {}), dims);
}

bool is_single_parameter(const Value& x) { return product(x.dims()).is_one(); }

/// A scale or zero point in the dims of x: one for the whole tensor, for each entry of the node's
/// axis, or for each block of entries.
Value spread_parameter(NodeContext& node, const Value& parameter, const Value& x) {
  if (is_single_parameter(parameter)) return spread_parameter_scalar(parameter, x.dims());
  const int axis = x.rank() == 1 ? 0 : node.axis(node.integer("axis", 1), x.rank());
  const std::int64_t given = node.integer("block_size", 0);
  if (parameter.rank() == 1 && (x.rank() != 1 || given == 0)) {
    return ir::broadcast(
        fitted_operand(node, parameter, {x.dims()[at(axis)]}, "the scale or zero point"), x.dims(),
        {axis});
  }
  if (parameter.rank() != x.rank()) {
    node.fail(text("the scale or zero point ", parameter.type(), " does not fit x ", x.type()));
  }
  const Dim &size = x.dims()[at(axis)], &blocks = parameter.dims()[at(axis)];
  const bool has_blocks =
      given > 0 ? equal(blocks, ceil_div(size, given)) != ir::Ternary::No : blocks != Dim(0);
  if (!has_blocks) {
    node.fail(text("the scale or zero point ", parameter.type(), " has ", blocks,
                   " blocks of axis ", axis, ", block_size is ", given, " (x ", x.type(), ")"));
  }
  const Dim block = given > 0 ? Dim(given) : ceil_div(size, blocks);
  const Value repeated = repeated_along(parameter, axis, block);
  return fitted_operand(node, ir::slice_axis(repeated, axis, 0, size), x.dims(),
                        "the scale or zero point");
}

/// round(x) + zero point, cast to the dtype of the latter: casts saturate.
Value rounded_to(const Value& x, const Value& zero_point) {
  const DType wide = x.dtype() == DType::Float64 ? DType::Float64 : DType::Float32;
  const Value sum = ir::unary(Op::Round, ir::cast(x, wide)) + ir::cast(zero_point, wide);
  return ir::cast(sum, zero_point.dtype());
}

/// The quotient is rounded to the dtype of the scale, or to that of `precision`.
Values import_quantize_linear(NodeContext& node) {
  const Value x = node.input(0), scale = spread_parameter(node, node.untrained_input(1), x);
  const std::int64_t output = node.integer("output_dtype", 0);
  const std::int64_t precision = node.integer("precision", 0);
  const auto computed = [&](const Value& v) {
    return precision == 0 ? ir::cast(v, scale.dtype()) : cast_to(v, precision);
  };
  const Value zero = ir::full(DType::UInt8, x.dims(), 0);
  const Value point = node.has(2)   ? spread_parameter(node, node.input(2), x)
                      : output != 0 ? cast_to(zero, output)
                                    : zero;
  return {rounded_to(computed(x) / computed(scale), point)};
}

/// (x - zero point) scale, multiplied in the dtype of the result.
Values import_dequantize_linear(NodeContext& node) {
  const Value x = node.input(0), scale = spread_parameter(node, node.untrained_input(1), x);
  Value difference = ir::cast(x, DType::Int32);
  if (node.has(2)) {
    difference = difference - ir::cast(spread_parameter(node, node.input(2), x), DType::Int32);
  }
  const DType wide = scale.dtype() == DType::Float64 ? DType::Float64 : DType::Float32;
  const Value y = ir::cast(difference, wide) * ir::cast(scale, wide);
  const std::int64_t output = node.integer("output_dtype", 0);
  return {output == 0 ? ir::cast(y, scale.dtype()) : cast_to(y, output)};
}

/// To uint8, with the smallest range that contains all elements and 0.
Values import_dynamic_quantize_linear(NodeContext& node) {
  const Value x = node.input(0), zero = ir::scalar_constant(x.dtype(), 0);
  const Ints axes = ir::all_axes(x);
  const Value high = ir::binary(Op::Maximum, ir::reduce_max(x, axes), zero);
  const Value low = ir::binary(Op::Minimum, ir::reduce(Op::Min, x, axes), zero);
  const Value scale = (high - low) / 255.0;
  const Value point = ir::cast(ir::unary(Op::Round, -(low / scale)), DType::UInt8);
  const Value y =
      rounded_to(x / ir::broadcast_to(scale, x.dims()), ir::broadcast_to(point, x.dims()));
  return {y, scale, point};
}

/// A parameter of a matmul's operand: a scalar, or one for each entry of an axis, which is the last
/// but one of A and the last of B; as a tensor that broadcasts to `dims`.
Value matmul_parameter(const Value& parameter, const Dims& dims, bool is_left) {
  if (is_single_parameter(parameter)) return spread_parameter_scalar(parameter, dims);
  const bool is_column = is_left && parameter.rank() == 1 && dims.size() > 1;
  Dims column = parameter.dims();
  if (is_column) column.push_back(1);
  return ir::broadcast_to(ir::reshape(parameter, column), dims);
}

/// Operand i minus its zero point, input k, in int32.
Value matmul_centred(NodeContext& node, std::size_t i, std::size_t k, bool is_left) {
  const Value x = ir::cast(node.input(i), DType::Int32);
  if (!node.has(k)) return x;
  return x - matmul_parameter(ir::cast(node.input(k), DType::Int32), x.dims(), is_left);
}

Value integer_matmul(const Value& a, const Value& b) {
  return value_of(kiln::matmul(wrap(a), wrap(b)), "x");
}

Values import_matmul_integer(NodeContext& node) {
  return {integer_matmul(matmul_centred(node, 0, 2, true), matmul_centred(node, 1, 3, false))};
}

/// The sum times the quotient of scales, in float64: float32 would round ties up or down.
Value requantized(const Value& sum, const Value& factor, const Value& y_scale, const Value& point) {
  const Value scale =
      factor / spread_parameter_scalar(ir::cast(y_scale, factor.dtype()), factor.dims());
  const Value y = ir::cast(sum, DType::Float64) * ir::cast(scale, DType::Float64);
  return rounded_to(y, spread_parameter_scalar(point, y.dims()));
}

Values import_qlinear_matmul(NodeContext& node) {
  const Value sum =
      integer_matmul(matmul_centred(node, 0, 2, true), matmul_centred(node, 3, 5, false));
  const auto scale = [&](std::size_t i, bool is_left) {
    return matmul_parameter(ir::cast(node.untrained_input(i), DType::Float32), sum.dims(), is_left);
  };
  return {
      requantized(sum, scale(1, true) * scale(4, false), node.untrained_input(6), node.input(7))};
}

Value integer_conv(const NodeContext& node, const Value& x, const Value& w) {
  return channels_from_end(convolved(node, x, w), DataFormat::ChannelsFirst);
}

/// A scalar, or a vector along axis `axis`, of an operand of a convolution.
Value conv_parameter(const Value& parameter, const Dims& dims, int axis) {
  if (is_single_parameter(parameter)) return spread_parameter_scalar(parameter, dims);
  return ir::broadcast(parameter, dims, {axis});
}

/// Operand i minus its zero point, input k, whose entries count axis 0: the filters of w.
Value conv_centred(NodeContext& node, std::size_t i, std::size_t k) {
  const Value x = ir::cast(node.input(i), DType::Int32);
  if (!node.has(k)) return x;
  return x - conv_parameter(ir::cast(node.input(k), DType::Int32), x.dims(), 0);
}

Values import_conv_integer(NodeContext& node) {
  return {integer_conv(node, conv_centred(node, 0, 2), conv_centred(node, 1, 3))};
}

Values import_qlinear_conv(NodeContext& node) {
  Value sum = integer_conv(node, conv_centred(node, 0, 2), conv_centred(node, 3, 5));
  if (node.has(8)) sum = sum + ir::broadcast(node.input(8), sum.dims(), {1});
  const Value factor = spread_parameter_scalar(node.untrained_input(1), sum.dims()) *
                       conv_parameter(node.untrained_input(4), sum.dims(), 1);
  return {requantized(sum, factor, node.untrained_input(6), node.input(7))};
}

constexpr OperatorRow kQuantizeRows[] = {
    {"ConvInteger", {10}, import_conv_integer},
    {"DequantizeLinear", {10, 13, 19, 21, 23, 24, 25, 28}, import_dequantize_linear},
    {"DynamicQuantizeLinear", {11}, import_dynamic_quantize_linear},
    {"MatMulInteger", {10}, import_matmul_integer},
    {"QLinearConv", {10}, import_qlinear_conv},
    {"QLinearMatMul", {10, 21}, import_qlinear_matmul},
    {"QuantizeLinear", {10, 13, 19, 21, 23, 24, 25, 28}, import_quantize_linear},
};

}  // namespace

std::span<const OperatorRow> quantize_operators() { return kQuantizeRows; }

}  // namespace kiln::onnx
