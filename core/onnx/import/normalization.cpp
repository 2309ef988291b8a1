// Imports normalisations. Statistics and scales are combined at their own, smaller size before they
// are broadcast to x. All compute in float32 or wider and round once.
#include "core/k/math/formulas_impl.h"
#include "core/onnx/file/read.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/onnx/import/operands.h"
#include "core/types/at.h"

#include <numeric>

namespace kiln::onnx {
namespace {

using ir::Dims;
using ir::Ints;
using ir::Op;
using ir::Value;
using Values = std::vector<Value>;

/// The axes first .. rank - 1.
Ints axes_from(int first, const Value& x) {
  Ints axes(at(x.rank() - first));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

/// `part`, which broadcasts to x by NumPy's rules, with the dims of x. Guards require symbolic
/// sizes to be equal.
Value stretched_to(NodeContext& node, const Value& part, const Value& x, const char* name) {
  const int offset = x.rank() - part.rank();
  Dims dims = part.dims();
  bool is_fit = offset >= 0;
  for (int i = 0; is_fit && i < part.rank(); ++i) {
    const ir::Dim& size = x.dims()[at(offset + i)];
    if (dims[at(i)].is_one()) continue;
    is_fit = equal(dims[at(i)], size) != ir::Ternary::No;
    dims[at(i)] = size;
  }
  if (is_fit) return ir::broadcast_to(ir::with_dims(part, dims), x.dims());
  node.fail(
      text(name, " does not broadcast to x (x ", x.type(), ", ", name, " ", part.type(), ")"));
}

/// A vector, or with `is_full` a tensor of all axes but the batch, shaped to broadcast to x from
/// axis 1 on.
Value per_channel(NodeContext& node, const Value& part, const Value& x, const char* name,
                  bool is_full = false) {
  if (is_full && part.rank() == x.rank() - 1) return part;
  if (part.rank() != 1) node.fail(text(name, " is no vector (", name, " ", part.type(), ")"));
  return along_axis(part, 1, x.rank());
}

Value inverse_root(const Value& variance, double epsilon) {
  return 1.0 / ir::unary(Op::Sqrt, variance + epsilon);
}

double epsilon_of(const NodeContext& node) { return node.number("epsilon", 1e-5); }

void require_channels(NodeContext& node, const Value& x) {
  if (x.rank() < 2) node.fail(text("x has no axis of channels (x ", x.type(), ")"));
}

// ---- batch normalisation ----

/// Whether the node normalises by the statistics of the batch: since opset 14 by training_mode,
/// before by the number of outputs, in opset 6 unless is_test, too.
bool uses_batch_statistics(const NodeContext& node) {
  if (node.opset() >= 14) return node.integer("training_mode", 0) != 0;
  if (node.opset() < 7 && node.integer("is_test", 0) != 0) return false;
  return node.uses(1) || node.uses(2) || node.uses(3) || node.uses(4);
}

/// y = (x - mean) scale / sqrt(variance + epsilon) + bias. With spatial = 0, of opsets before 9,
/// every element of an example has statistics of its own.
Values import_batch_normalization(NodeContext& node) {
  const Value original = node.input(0), x = ir::widened(original);
  require_channels(node, x);
  const DType dtype = x.dtype();
  const bool is_full = node.opset() < 9 && node.integer("spatial", 1) == 0;
  const auto part = [&](const Value& given, const char* name) {
    return per_channel(node, ir::cast(given, dtype), x, name, is_full);
  };
  const Value scale = part(node.input(1), "scale"), bias = part(node.input(2), "b");
  const Value old_mean = node.untrained_input(3), old_variance = node.untrained_input(4);
  Value mean = part(old_mean, "mean"), variance = part(old_variance, "var");
  Values results(1);
  if (uses_batch_statistics(node)) {
    Ints axes = is_full ? Ints{} : axes_from(2, x);
    axes.insert(axes.begin(), 0);
    const Value batch_mean = ir::reduce_mean(x, axes), batch_variance = ir::variance(x, axes);
    const double momentum = node.number("momentum", 0.9);
    const auto running = [&](const Value& old, const Value& batch) {
      const Value now = ir::reshape(batch, old.dims());
      return ir::cast(ir::cast(old, dtype) * momentum + now * (1 - momentum), old.dtype());
    };
    results.push_back(running(old_mean, batch_mean));
    results.push_back(running(old_variance, batch_variance));
    results.push_back(ir::cast(ir::reshape(batch_mean, old_mean.dims()), old_mean.dtype()));
    results.push_back(ir::cast(ir::reshape(batch_variance, old_mean.dims()), old_mean.dtype()));
    mean = ir::reshape(batch_mean, mean.dims());
    variance = ir::reshape(batch_variance, variance.dims());
  }
  const Value factor = scale * inverse_root(variance, epsilon_of(node));
  const Value y =
      (x - stretched_to(node, mean, x, "mean")) * stretched_to(node, factor, x, "scale") +
      stretched_to(node, bias, x, "b");
  results[0] = ir::cast(y, original.dtype());
  return results;
}

// ---- normalisation by statistics of an example ----

/// (x - mean) / sqrt(variance + epsilon) over the axes.
Value standardised(const Value& x, const Ints& axes, double epsilon) {
  const Value factor = inverse_root(ir::variance(x, axes), epsilon);
  return ir::deviations(x, axes) * ir::broadcast_over(factor, x.dims(), axes);
}

Values import_instance_normalization(NodeContext& node) {
  const Value original = node.input(0), x = ir::widened(original);
  require_channels(node, x);
  const auto part = [&](std::size_t i, const char* name) {
    const Value given = ir::cast(node.input(i), x.dtype());
    return stretched_to(node, per_channel(node, given, x, name), x, name);
  };
  const Value y = standardised(x, axes_from(2, x), epsilon_of(node));
  return {ir::cast(y * part(1, "scale") + part(2, "b"), original.dtype())};
}

/// Scale and bias are per group until opset 21, then per channel.
Values import_group_normalization(NodeContext& node) {
  const Value original = node.input(0), x = ir::widened(original);
  require_channels(node, x);
  const std::int64_t groups = node.integer("num_groups");
  const ir::Dim& channels = x.dims()[1];
  if (groups < 1 || equal(mod(channels, groups), 0) == ir::Ternary::No) {
    node.fail(text("num_groups ", groups, " does not divide the channels (x ", x.type(), ")"));
  }
  Dims split = x.dims();
  split[1] = floor_div(channels, groups);
  split.insert(split.begin() + 1, groups);
  const Value grouped = ir::reshape(x, split);
  const Value y = standardised(grouped, axes_from(2, grouped), epsilon_of(node));
  const Value shaped = node.opset() < 21 ? y : ir::reshape(y, x.dims());
  const auto part = [&](std::size_t i, const char* name) {
    const Value given = ir::cast(node.input(i), x.dtype());
    return stretched_to(node, per_channel(node, given, shaped, name), shaped, name);
  };
  const Value scaled = shaped * part(1, "scale") + part(2, "bias");
  return {ir::cast(ir::reshape(scaled, x.dims()), original.dtype())};
}

/// The element type of stash_type, in which statistics are returned.
DType stash_type(NodeContext& node) {
  const std::int64_t number = node.integer("stash_type", 1);
  const auto dtype = dtype_of(number);
  if (!dtype || !is_float(*dtype)) node.fail(text("stash_type ", number, " is not supported"));
  return *dtype;
}

/// x in float32, or float64 if it or stash_type is that.
Value stashed(const Value& x, DType stash) {
  return ir::cast(x, stash == DType::Float64 ? stash : ir::widened(x).dtype());
}

/// Over the axes from `axis` on.
Values import_layer_normalization(NodeContext& node) {
  const Value original = node.input(0);
  const DType stash = stash_type(node);
  const Value x = stashed(original, stash);
  const Ints axes = axes_from(node.axis(node.integer("axis", -1), x.rank()), x);
  const Value factor = inverse_root(ir::variance(x, axes), epsilon_of(node));
  Value y = ir::deviations(x, axes) * ir::broadcast_over(factor, x.dims(), axes);
  const auto part = [&](std::size_t i, const char* name) {
    return stretched_to(node, ir::cast(node.input(i), x.dtype()), x, name);
  };
  y = y * part(1, "scale");
  if (node.has(2)) y = y + part(2, "b");
  const auto statistic = [&](const Value& value) {
    return ir::cast(with_ones(value, x, axes), stash);
  };
  return {ir::cast(y, original.dtype()), statistic(ir::reduce_mean(x, axes)), statistic(factor)};
}

/// x scale / sqrt(mean(x^2) + epsilon) over the axes from `axis` on (Zhang and Sennrich 2019).
Values import_rms_normalization(NodeContext& node) {
  const Value original = node.input(0), scale = node.input(1);
  const Value x = stashed(original, stash_type(node));
  const Ints axes = axes_from(node.axis(node.integer("axis", -1), x.rank()), x);
  const Value factor = inverse_root(ir::reduce_mean(x * x, axes), epsilon_of(node));
  const Value wide = stretched_to(node, ir::cast(scale, x.dtype()), x, "scale");
  return {ir::cast(x * ir::broadcast_over(factor, x.dims(), axes) * wide, scale.dtype())};
}

/// x / (bias + alpha / size * the sum of squares of `size` channels around each)^beta (Krizhevsky,
/// Sutskever and Hinton 2012).
Values import_lrn(NodeContext& node) {
  const Value original = node.input(0), x = ir::widened(original);
  require_channels(node, x);
  const std::int64_t size = node.integer("size");
  if (size < 1) node.fail(text("size is ", size, ", below 1"));
  Dims low(at(x.rank()), 0), high = low;
  low[1] = (size - 1) / 2;
  high[1] = size / 2;
  const Value padded = ir::pad(x * x, ir::scalar_constant(x.dtype(), 0), low, high);
  const Value windows = ir::window(
      padded,
      {.axes = {1}, .counts = {x.dims()[1]}, .sizes = {size}, .strides = {1}, .dilations = {1}});
  const double alpha = node.number("alpha", 1e-4) / static_cast<double>(size);
  const Value base = ir::reduce_sum(windows, {x.rank()}) * alpha + node.number("bias", 1);
  const Value power = ir::binary(Op::Pow, base, ir::like(base, -node.number("beta", 0.75)));
  return {ir::cast(x * power, original.dtype())};
}

constexpr OperatorRow kNormalizationRows[] = {
    {"BatchNormalization", {6, 7, 9, 14, 15}, import_batch_normalization},
    {"GroupNormalization", {18, 21}, import_group_normalization},
    {"InstanceNormalization", {6, 22}, import_instance_normalization},
    {"LRN", {1, 13}, import_lrn},
    {"LayerNormalization", {17}, import_layer_normalization},
    {"RMSNormalization", {23}, import_rms_normalization},
};

}  // namespace

std::span<const OperatorRow> normalization_operators() { return kNormalizationRows; }

}  // namespace kiln::onnx
