// Convolutions as Conv nodes, and locally connected layers as a Dot over windows. sliding.cpp
// computes window positions and padding.
#include <kiln/convolution.h>

#include "core/k/image/sliding_impl.h"
#include "core/types/at.h"

namespace kiln {
namespace {

using ir::Ternary;
using ir::ConvRole;
using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Op;
using ir::Value;

Dims first_dims(const Value& x, std::size_t count) {
  return {x.dims().begin(), x.dims().begin() + static_cast<std::ptrdiff_t>(count)};
}

/// The validated arguments of a convolution; x has its channels last.
struct ConvArguments {
  DataFormat format;
  Padding padding;
  Ints strides, dilations;
  Value x, kernel;
};

ConvArguments check_arguments(const Operand& x, const Operand& kernel, const ConvOptions& options,
                              std::size_t spatial, const char* kernel_name = "kernel",
                              bool causal = false) {
  ConvArguments args;
  args.format = data_format_of(options.data_format);
  args.padding = padding_of(options.padding, causal);
  if (args.padding == Padding::Causal && args.format == DataFormat::ChannelsFirst) {
    Call::value_error("padding", "padding 'causal' needs data_format 'channels_last'");
  }
  args.strides = steps_of(options.strides, spatial, "strides");
  args.dilations = steps_of(options.dilation_rate, spatial, "dilation_rate");
  const auto [input, weights] = number_pair(x, kernel, {"x", kernel_name});
  require_rank(input, static_cast<int>(spatial) + 2);
  require_rank(weights, static_cast<int>(spatial) + 2, kernel_name);
  for (std::size_t i = 0; i < spatial; ++i) {
    if (weights.dims()[i] != Dim(0)) continue;
    Call::value_error(kernel_name,
                      text("spatial axis ", i, " of ", kernel_name, " has no elements (",
                           kernel_name, " ", weights.type(), ")"));
  }
  args.x = channels_to_end(input, args.format);
  Dims smallest(weights.dims().size(), 0);
  std::fill(smallest.begin(), smallest.begin() + static_cast<std::ptrdiff_t>(spatial), Dim(1));
  args.kernel = ir::fits(weights, smallest);
  return args;
}

void require_channels(const Value& x, const Dim& taken, const Value& kernel, const char* name) {
  if (equal(x.dims().back(), taken) != Ternary::No) return;
  Call::value_error(name, text("x has ", x.dims().back(), " channels but ", name, " takes ", taken,
                               " (", name, " ", kernel.type(), ")"));
}

ir::ConvAttrs attrs_of(const ConvArguments& args, ConvRole role, const Sliding& sliding, Dims sizes,
                       const Dim& groups) {
  return {.role = role,
          .strides = args.strides,
          .dilations = args.dilations,
          .low = sliding.low,
          .high = sliding.high,
          .sizes = std::move(sizes),
          .groups = groups};
}

Value forward(const ConvArguments& args, const Value& kernel, const Dim& groups) {
  const std::size_t spatial = args.strides.size();
  const Sliding sliding = sliding_of(args.x, first_dims(kernel, spatial), args.strides,
                                     args.dilations, args.padding, "x");
  return ir::make(Op::Conv, attrs_of(args, ConvRole::Output, sliding, sliding.positions, groups),
                  {sliding.input, kernel});
}

Tensor conv(const Operand& x, const Operand& kernel, const ConvOptions& options,
            std::size_t spatial, bool causal = false) {
  const ConvArguments args = check_arguments(x, kernel, options, spatial, "kernel", causal);
  require_channels(args.x, args.kernel.dims()[spatial], args.kernel, "kernel");
  return wrap(channels_from_end(forward(args, args.kernel, 1), args.format));
}

/// A depthwise convolution, channels last: one group per channel.
Value depthwise(ConvArguments args) {
  Dims dims = args.kernel.dims();
  const std::size_t spatial = args.strides.size();
  require_channels(args.x, dims[spatial], args.kernel, "depthwise_kernel");
  // The number of channels may be static in x or in the kernel.
  if (args.x.dims().back().is_static()) dims[spatial] = args.x.dims().back();
  const Value kernel = ir::with_dims(args.kernel, dims);
  const Dim channels = dims[spatial], multiplier = dims[spatial + 1];
  Dims input = args.x.dims();
  input.back() = channels;
  args.x = ir::with_dims(args.x, input);
  // Groups must be positive: without channels there is one empty group.
  dims[spatial] = min(channels, 1);
  dims[spatial + 1] = channels * multiplier;
  return forward(args, ir::reshape(kernel, dims), max(channels, 1));
}

Tensor separable(const Operand& x, const Operand& depthwise_kernel, const Operand& pointwise_kernel,
                 const ConvOptions& options, std::size_t spatial) {
  ConvArguments args = check_arguments(x, depthwise_kernel, options, spatial, "depthwise_kernel");
  const auto [first, pointwise] =
      number_pair(depthwise_kernel, pointwise_kernel, {"depthwise_kernel", "pointwise_kernel"});
  require_rank(pointwise, static_cast<int>(spatial) + 2, "pointwise_kernel");
  const Value middle = depthwise(args);
  for (std::size_t i = 0; i < spatial; ++i) {
    if (equal(pointwise.dims()[i], 1) != Ternary::No) continue;
    Call::value_error("pointwise_kernel",
                      text("spatial axis ", i, " of pointwise_kernel has ", pointwise.dims()[i],
                           " elements, not 1 (", "pointwise_kernel ", pointwise.type(), ")"));
  }
  const Dim& taken = pointwise.dims()[spatial];
  if (equal(middle.dims().back(), taken) == Ternary::No) {
    Call::value_error("pointwise_kernel", text("the depthwise stage gives ", middle.dims().back(),
                                               " channels but pointwise_kernel takes ", taken,
                                               " (pointwise_kernel ", pointwise.type(), ")"));
  }
  args.x = middle;
  args.strides.assign(spatial, 1);
  args.dilations.assign(spatial, 1);
  args.padding = Padding::Valid;
  Dims dims = pointwise.dims();
  std::fill(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(spatial), Dim(1));
  return wrap(channels_from_end(forward(args, ir::with_dims(pointwise, dims), 1), args.format));
}

/// The dims of output_shape, channels last; None is taken from x or the kernel.
Dims output_dims(const Shape& shape, const ConvArguments& args, const Dim& filters) {
  const std::size_t rank = args.x.dims().size();
  const std::size_t channels = args.format == DataFormat::ChannelsFirst ? 1 : rank - 1;
  Dims dims;
  if (shape.is_tensor()) {
    dims = dims_of(shape, "output_shape");
  } else {
    std::vector<ShapeEntry> entries = shape.entries();
    const bool none[2] = {!entries.empty() && entries[0].is_none(),
                          entries.size() > channels && entries[channels].is_none()};
    if (none[0]) entries[0] = 0;
    if (none[1]) entries[channels] = 0;
    dims = dims_of(Shape(entries), "output_shape");
    if (none[0]) dims[0] = args.x.dims()[0];
    if (none[1]) dims[channels] = filters;
  }
  if (dims.size() != rank) {
    Call::value_error("output_shape", text("output_shape has ", dims.size(), " entries, not ", rank,
                                           " (x ", args.x.type(), ")"));
  }
  const Dim given = dims[channels];
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(channels));
  dims.push_back(given);
  return dims;
}

/// The dims that a convolution of `dims` gives. ValueError if they are known to differ from those
/// of x.
Dims require_source(const ConvArguments& args, const Dims& dims, const Sliding& sliding) {
  Dims expected{dims[0]};
  expected.insert(expected.end(), sliding.positions.begin(), sliding.positions.end());
  expected.push_back(args.x.dims().back());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (equal(expected[i], args.x.dims()[i]) != Ternary::No) continue;
    Call::value_error("output_shape", text("output_shape ", to_string(dims), " convolves to ",
                                           to_string(expected), ", not to the dims of x ",
                                           to_string(args.x.dims()), " (channels last)"));
  }
  return expected;
}

Tensor transposed(const Operand& x, const Operand& kernel, const Shape& output_shape,
                  const ConvOptions& options, std::size_t spatial) {
  const ConvArguments args = check_arguments(x, kernel, options, spatial);
  const Dim &filters = args.kernel.dims()[spatial], &channels = args.kernel.dims().back();
  require_channels(args.x, channels, args.kernel, "kernel");
  const Dims dims = output_dims(output_shape, args, filters);
  if (equal(dims.back(), filters) == Ternary::No) {
    Call::value_error("output_shape",
                      text("output_shape has ", dims.back(), " channels but kernel gives ", filters,
                           " (kernel ", args.kernel.type(), ")"));
  }
  const Value result = ir::full(args.x.dtype(), dims, 0);  // only its dims are used
  const Sliding sliding = sliding_of(result, first_dims(args.kernel, spatial), args.strides,
                                     args.dilations, args.padding, "output_shape");
  const Value source = ir::with_dims(args.x, require_source(args, dims, sliding));
  Dims sizes(dims.begin() + 1, dims.end() - 1);
  const Value y =
      ir::make(Op::Conv, attrs_of(args, ConvRole::Input, sliding, sizes, 1), {args.kernel, source});
  return wrap(channels_from_end(ir::with_dims(y, dims), args.format));
}

// ---- locally connected ----

struct Local {
  Value x, kernel;
  Ints windows, strides;
};

Local local_of(const Operand& inputs, const Operand& kernel, const Steps& kernel_size,
               const Steps& strides, std::size_t spatial) {
  Local local;
  local.windows = steps_of(kernel_size, spatial, "kernel_size");
  local.strides = steps_of(strides, spatial, "strides");
  std::tie(local.x, local.kernel) = number_pair(inputs, kernel, {"inputs", "kernel"});
  require_rank(local.x, static_cast<int>(spatial) + 2, "inputs");
  require_rank(local.kernel, 3, "kernel");
  return local;
}

/// The kernel with the expected size of an axis, which a guard requires if it is symbolic.
Value require_kernel_size(const Value& kernel, int axis, const Dim& expected, const char* what) {
  const Dim& size = kernel.dims()[at(axis)];
  if (equal(size, expected) != Ternary::No) {
    Dims dims = kernel.dims();
    dims[at(axis)] = expected;
    return ir::with_dims(kernel, dims);
  }
  Call::value_error("kernel", text("axis ", axis, " of kernel has ", size, " entries for ",
                                   expected, " ", what, " (kernel ", kernel.type(), ")"));
}

/// Dots of the windows of x (channels last) with filters, a separate one per position. `positions`:
/// their number per axis. `channels_before`: the windows of local.kernel are flattened with the
/// channels first.
Value local_dot(const Local& local, const Dims& positions, bool channels_before) {
  const std::size_t n = positions.size();
  const Dim &channels = local.x.dims().back(), &filters = local.kernel.dims().back();
  const Dims windows(local.windows.begin(), local.windows.end());
  for (std::size_t i = 0; i < n; ++i) {
    const Dim last = (positions[i] - 1) * Dim(local.strides[i]) + windows[i];
    if (less_equal(last, local.x.dims()[i + 1]) != Ternary::No) continue;
    Call::value_error("inputs", text(positions[i], " windows of ", windows[i], " do not fit into ",
                                     local.x.dims()[i + 1], " elements of spatial axis ", i,
                                     " (inputs ", local.x.type(), ")"));
  }
  Ints axes, x_labels{0}, kernel_labels, result_labels{0}, window_labels;
  for (std::size_t i = 0; i < n; ++i) {
    axes.push_back(static_cast<std::int64_t>(i) + 1);
    window_labels.push_back(static_cast<std::int64_t>(n + i) + 1);
  }
  const auto channel = static_cast<std::int64_t>(2 * n) + 1;
  Dims dims = positions;
  const auto append = [](auto& list, const auto& more) {
    list.insert(list.end(), more.begin(), more.end());
  };
  append(kernel_labels, axes);
  if (channels_before) {
    dims.push_back(channels);
    kernel_labels.push_back(channel);
  }
  append(dims, windows);
  append(kernel_labels, window_labels);
  if (!channels_before) {
    dims.push_back(channels);
    kernel_labels.push_back(channel);
  }
  dims.push_back(filters);
  kernel_labels.push_back(channel + 1);
  append(x_labels, axes);
  x_labels.push_back(channel);
  append(x_labels, window_labels);
  append(result_labels, axes);
  result_labels.push_back(channel + 1);
  const Value view = ir::window(local.x, {.axes = axes,
                                          .counts = positions,
                                          .sizes = windows,
                                          .strides = local.strides,
                                          .dilations = Ints(n, 1)});
  return ir::dot(view, x_labels, ir::reshape(local.kernel, dims), kernel_labels, result_labels);
}

Dim area(const Ints& sizes) {
  Dim area = 1;
  for (std::int64_t size : sizes) area = area * Dim(size);
  return area;
}

}  // namespace

Tensor conv1d(const Operand& x, const Operand& kernel, const ConvOptions& options) {
  return api_call("conv1d", where_of(x, kernel),
                  [&] { return conv(x, kernel, options, 1, /*causal=*/true); });
}

Tensor conv2d(const Operand& x, const Operand& kernel, const ConvOptions& options) {
  return api_call("conv2d", where_of(x, kernel), [&] { return conv(x, kernel, options, 2); });
}

Tensor conv3d(const Operand& x, const Operand& kernel, const ConvOptions& options) {
  return api_call("conv3d", where_of(x, kernel), [&] { return conv(x, kernel, options, 3); });
}

Tensor conv2d_transpose(const Operand& x, const Operand& kernel, const Shape& output_shape,
                        const ConvOptions& options) {
  return api_call("conv2d_transpose", where_of(x, kernel),
                  [&] { return transposed(x, kernel, output_shape, options, 2); });
}

Tensor conv3d_transpose(const Operand& x, const Operand& kernel, const Shape& output_shape,
                        const Conv3dTransposeOptions& options) {
  return api_call("conv3d_transpose", where_of(x, kernel), [&] {
    return transposed(x, kernel, output_shape,
                      {.strides = options.strides,
                       .padding = options.padding,
                       .data_format = options.data_format},
                      3);
  });
}

Tensor depthwise_conv2d(const Operand& x, const Operand& depthwise_kernel,
                        const ConvOptions& options) {
  return api_call("depthwise_conv2d", where_of(x, depthwise_kernel), [&] {
    const ConvArguments args = check_arguments(x, depthwise_kernel, options, 2, "depthwise_kernel");
    return wrap(channels_from_end(depthwise(args), args.format));
  });
}

Tensor separable_conv2d(const Operand& x, const Operand& depthwise_kernel,
                        const Operand& pointwise_kernel, const ConvOptions& options) {
  return api_call("separable_conv2d", where_of(x, depthwise_kernel),
                  [&] { return separable(x, depthwise_kernel, pointwise_kernel, options, 2); });
}

Tensor separable_conv1d(const Operand& x, const Operand& depthwise_kernel,
                        const Operand& pointwise_kernel, const ConvOptions& options) {
  return api_call("separable_conv1d", where_of(x, depthwise_kernel),
                  [&] { return separable(x, depthwise_kernel, pointwise_kernel, options, 1); });
}

Tensor local_conv1d(const Operand& inputs, const Operand& kernel, const Steps& kernel_size,
                    const Steps& strides, const LocalConvOptions& options) {
  return api_call("local_conv1d", where_of(inputs, kernel), [&] {
    data_format_of(options.data_format);
    Local local = local_of(inputs, kernel, kernel_size, strides, 1);
    local.kernel = require_kernel_size(local.kernel, 1, area(local.windows) * local.x.dims().back(),
                                       "elements of a window");
    return wrap(local_dot(local, {local.kernel.dims()[0]}, /*channels_before=*/false));
  });
}

Tensor local_conv2d(const Operand& inputs, const Operand& kernel, const Steps& kernel_size,
                    const Steps& strides, const Steps& output_shape,
                    const LocalConvOptions& options) {
  return api_call("local_conv2d", where_of(inputs, kernel), [&] {
    const DataFormat format = data_format_of(options.data_format);
    const Ints positions = steps_of(output_shape, 2, "output_shape");
    Local local = local_of(inputs, kernel, kernel_size, strides, 2);
    local.x = channels_to_end(local.x, format);
    local.kernel = require_kernel_size(local.kernel, 0, area(positions), "positions");
    local.kernel = require_kernel_size(local.kernel, 1, area(local.windows) * local.x.dims().back(),
                                       "elements of a window");
    const bool channels_before = format == DataFormat::ChannelsFirst;
    const Value y = local_dot(local, {positions.begin(), positions.end()}, channels_before);
    return wrap(channels_from_end(y, format));
  });
}

}  // namespace kiln
