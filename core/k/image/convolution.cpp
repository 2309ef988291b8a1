// Each function is a Conv node, or a product over windows where places have weights of their own;
// where the windows lie is worked out in sliding.cpp.
#include <kiln/convolution.h>

#include "core/k/image/sliding_impl.h"

namespace kiln {
namespace {

using ir::Answer;
using ir::ConvRole;
using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Op;
using ir::Value;

Dims first_dims(const Value& x, std::size_t count) {
  return {x.dims().begin(), x.dims().begin() + static_cast<std::ptrdiff_t>(count)};
}

/// What all convolutions are given, checked; x has its channels last.
struct Plan {
  DataFormat format;
  Padding padding;
  Ints strides, dilations;
  Value x, kernel;
};

Plan plan_of(const Operand& x, const Operand& kernel, const ConvOptions& options,
             std::size_t spatial, const char* kernel_name = "kernel", bool causal = false) {
  Plan plan;
  plan.format = data_format_of(options.data_format);
  plan.padding = padding_of(options.padding, causal);
  if (plan.padding == Padding::Causal && plan.format == DataFormat::ChannelsFirst) {
    Call::value_error("padding", "padding 'causal' needs data_format 'channels_last'");
  }
  plan.strides = steps_of(options.strides, spatial, "strides");
  plan.dilations = steps_of(options.dilation_rate, spatial, "dilation_rate");
  const auto [input, weights] = number_pair(x, kernel, {"x", kernel_name});
  require_rank(input, static_cast<int>(spatial) + 2);
  require_rank(weights, static_cast<int>(spatial) + 2, kernel_name);
  for (std::size_t i = 0; i < spatial; ++i) {
    if (weights.dims()[i] != Dim(0)) continue;
    Call::value_error(kernel_name, text("spatial axis ", i, " of ", kernel_name,
                                        " has no elements (", kernel_name, " ", weights.type(),
                                        ")"));
  }
  plan.x = channels_to_end(input, plan.format);
  Dims least(weights.dims().size(), 0);
  std::fill(least.begin(), least.begin() + static_cast<std::ptrdiff_t>(spatial), Dim(1));
  plan.kernel = ir::fits(weights, least);
  return plan;
}

void require_channels(const Value& x, const Dim& taken, const Value& kernel, const char* name) {
  if (equal(x.dims().back(), taken) != Answer::No) return;
  Call::value_error(name, text("x has ", x.dims().back(), " channels but ", name, " takes ", taken,
                               " (", name, " ", kernel.type(), ")"));
}

ir::ConvAttrs attrs_of(const Plan& plan, ConvRole role, const Sliding& slides, Dims sizes,
                       const Dim& groups) {
  return {static_cast<std::int64_t>(role), plan.strides, plan.dilations, slides.low, slides.high,
          std::move(sizes), groups};
}

Value forward(const Plan& plan, const Value& kernel, const Dim& groups) {
  const std::size_t spatial = plan.strides.size();
  const Sliding slides = sliding(plan.x, first_dims(kernel, spatial), plan.strides,
                                 plan.dilations, plan.padding, "x");
  return ir::make(Op::Conv, attrs_of(plan, ConvRole::Output, slides, slides.places, groups),
                  {slides.input, kernel});
}

Tensor conv(const Operand& x, const Operand& kernel, const ConvOptions& options,
            std::size_t spatial, bool causal = false) {
  const Plan plan = plan_of(x, kernel, options, spatial, "kernel", causal);
  require_channels(plan.x, plan.kernel.dims()[spatial], plan.kernel, "kernel");
  return wrap(channels_from_end(forward(plan, plan.kernel, 1), plan.format));
}

/// The depthwise stage, its channels last: a group for each channel.
Value depthwise(Plan plan) {
  Dims dims = plan.kernel.dims();
  const std::size_t spatial = plan.strides.size();
  require_channels(plan.x, dims[spatial], plan.kernel, "depthwise_kernel");
  // Either may be known.
  if (plan.x.dims().back().is_static()) dims[spatial] = plan.x.dims().back();
  const Value kernel = ir::with_dims(plan.kernel, dims);
  const Dim channels = dims[spatial], multiplier = dims[spatial + 1];
  Dims input = plan.x.dims();
  input.back() = channels;
  plan.x = ir::with_dims(plan.x, input);
  // Without channels there is nothing to keep apart: one group of none.
  dims[spatial] = min(channels, 1);
  dims[spatial + 1] = channels * multiplier;
  return forward(plan, ir::reshape(kernel, dims), max(channels, 1));
}

Tensor separable(const Operand& x, const Operand& depthwise_kernel,
                 const Operand& pointwise_kernel, const ConvOptions& options,
                 std::size_t spatial) {
  Plan plan = plan_of(x, depthwise_kernel, options, spatial, "depthwise_kernel");
  const auto [first, pointwise] =
      number_pair(depthwise_kernel, pointwise_kernel, {"depthwise_kernel", "pointwise_kernel"});
  require_rank(pointwise, static_cast<int>(spatial) + 2, "pointwise_kernel");
  const Value middle = depthwise(plan);
  for (std::size_t i = 0; i < spatial; ++i) {
    if (equal(pointwise.dims()[i], 1) != Answer::No) continue;
    Call::value_error("pointwise_kernel", text("spatial axis ", i, " of pointwise_kernel has ",
                                               pointwise.dims()[i], " elements, not 1 (",
                                               "pointwise_kernel ", pointwise.type(), ")"));
  }
  const Dim& taken = pointwise.dims()[spatial];
  if (equal(middle.dims().back(), taken) == Answer::No) {
    Call::value_error("pointwise_kernel",
                      text("the depthwise stage gives ", middle.dims().back(),
                           " channels but pointwise_kernel takes ", taken,
                           " (pointwise_kernel ", pointwise.type(), ")"));
  }
  plan.x = middle;
  plan.strides.assign(spatial, 1);
  plan.dilations.assign(spatial, 1);
  plan.padding = Padding::Valid;
  Dims dims = pointwise.dims();
  std::fill(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(spatial), Dim(1));
  return wrap(channels_from_end(forward(plan, ir::with_dims(pointwise, dims), 1), plan.format));
}

/// output_shape with its channels last; None is what x and the kernel say.
Dims output_dims(const Shape& shape, const Plan& plan, const Dim& filters) {
  const std::size_t rank = plan.x.dims().size();
  const std::size_t channels = plan.format == DataFormat::ChannelsFirst ? 1 : rank - 1;
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
    if (none[0]) dims[0] = plan.x.dims()[0];
    if (none[1]) dims[channels] = filters;
  }
  if (dims.size() != rank) {
    Call::value_error("output_shape", text("output_shape has ", dims.size(), " entries, not ",
                                           rank, " (x ", plan.x.type(), ")"));
  }
  const Dim given = dims[channels];
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(channels));
  dims.push_back(given);
  return dims;
}

/// The dims of x after a convolution from `dims`; ValueError when they are known to differ.
Dims require_source(const Plan& plan, const Dims& dims, const Sliding& slides) {
  Dims expected{dims[0]};
  expected.insert(expected.end(), slides.places.begin(), slides.places.end());
  expected.push_back(plan.x.dims().back());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (equal(expected[i], plan.x.dims()[i]) != Answer::No) continue;
    Call::value_error("output_shape",
                      text("output_shape ", to_string(dims), " convolves to ",
                           to_string(expected), ", not to the dims of x ",
                           to_string(plan.x.dims()), " (channels last)"));
  }
  return expected;
}

Tensor transposed(const Operand& x, const Operand& kernel, const Shape& output_shape,
                  const ConvOptions& options, std::size_t spatial) {
  const Plan plan = plan_of(x, kernel, options, spatial);
  const Dim &filters = plan.kernel.dims()[spatial], &channels = plan.kernel.dims().back();
  require_channels(plan.x, channels, plan.kernel, "kernel");
  const Dims dims = output_dims(output_shape, plan, filters);
  if (equal(dims.back(), filters) == Answer::No) {
    Call::value_error("output_shape", text("output_shape has ", dims.back(),
                                           " channels but kernel gives ", filters, " (kernel ",
                                           plan.kernel.type(), ")"));
  }
  const Value shaped = ir::full(plan.x.dtype(), dims, 0);  // for its dims alone
  const Sliding slides = sliding(shaped, first_dims(plan.kernel, spatial), plan.strides,
                                 plan.dilations, plan.padding, "output_shape");
  const Value source = ir::with_dims(plan.x, require_source(plan, dims, slides));
  Dims sizes(dims.begin() + 1, dims.end() - 1);
  const Value y = ir::make(Op::Conv, attrs_of(plan, ConvRole::Input, slides, sizes, 1),
                           {plan.kernel, source});
  return wrap(channels_from_end(ir::with_dims(y, dims), plan.format));
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

/// The kernel, of which that axis has the expected size.
Value require_kernel_size(const Value& kernel, int axis, const Dim& expected, const char* what) {
  const Dim& size = kernel.dims()[static_cast<std::size_t>(axis)];
  if (equal(size, expected) != Answer::No) {
    Dims dims = kernel.dims();
    dims[static_cast<std::size_t>(axis)] = expected;
    return ir::with_dims(kernel, dims);
  }
  Call::value_error("kernel", text("axis ", axis, " of kernel has ", size, " entries for ",
                                   expected, " ", what, " (kernel ", kernel.type(), ")"));
}

/// Sums over windows of x (channels last) at `places`, each place with a part of the kernel of its
/// own. `channels_before`: the kernel's windows are flattened with the channels first.
Value at_places(const Local& local, const Dims& places, bool channels_before) {
  const std::size_t n = places.size();
  const Dim &channels = local.x.dims().back(), &filters = local.kernel.dims().back();
  const Dims windows(local.windows.begin(), local.windows.end());
  for (std::size_t i = 0; i < n; ++i) {
    const Dim last = (places[i] - 1) * Dim(local.strides[i]) + windows[i];
    if (less_equal(last, local.x.dims()[i + 1]) != Answer::No) continue;
    Call::value_error("inputs", text(places[i], " windows of ", windows[i], " do not fit into ",
                                     local.x.dims()[i + 1], " elements of spatial axis ", i,
                                     " (inputs ", local.x.type(), ")"));
  }
  Ints axes, x_labels{0}, kernel_labels, result_labels{0}, window_labels;
  for (std::size_t i = 0; i < n; ++i) {
    axes.push_back(static_cast<std::int64_t>(i) + 1);
    window_labels.push_back(static_cast<std::int64_t>(n + i) + 1);
  }
  const auto channel = static_cast<std::int64_t>(2 * n) + 1;
  Dims dims = places;
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
  const Value view = ir::window(local.x, {axes, places, windows, local.strides, Ints(n, 1)});
  return ir::dot(view, x_labels, ir::reshape(local.kernel, dims), kernel_labels, result_labels);
}

Dim area(const Ints& sizes) {
  Dim area = 1;
  for (std::int64_t size : sizes) area = area * Dim(size);
  return area;
}

}  // namespace

Tensor conv1d(const Operand& x, const Operand& kernel, const ConvOptions& options) try {
  const Call call("conv1d", where_of(x, kernel));
  return conv(x, kernel, options, 1, /*causal=*/true);
} catch (const std::bad_alloc&) {
  Call::out_of_memory("conv1d", where_of(x, kernel));
}

Tensor conv2d(const Operand& x, const Operand& kernel, const ConvOptions& options) try {
  const Call call("conv2d", where_of(x, kernel));
  return conv(x, kernel, options, 2);
} catch (const std::bad_alloc&) {
  Call::out_of_memory("conv2d", where_of(x, kernel));
}

Tensor conv3d(const Operand& x, const Operand& kernel, const ConvOptions& options) try {
  const Call call("conv3d", where_of(x, kernel));
  return conv(x, kernel, options, 3);
} catch (const std::bad_alloc&) {
  Call::out_of_memory("conv3d", where_of(x, kernel));
}

Tensor conv2d_transpose(const Operand& x, const Operand& kernel, const Shape& output_shape,
                        const ConvOptions& options) try {
  const Call call("conv2d_transpose", where_of(x, kernel));
  return transposed(x, kernel, output_shape, options, 2);
} catch (const std::bad_alloc&) {
  Call::out_of_memory("conv2d_transpose", where_of(x, kernel));
}

Tensor conv3d_transpose(const Operand& x, const Operand& kernel, const Shape& output_shape,
                        const Conv3dTransposeOptions& options) try {
  const Call call("conv3d_transpose", where_of(x, kernel));
  return transposed(x, kernel, output_shape,
                    {options.strides, options.padding, options.data_format, 1}, 3);
} catch (const std::bad_alloc&) {
  Call::out_of_memory("conv3d_transpose", where_of(x, kernel));
}

Tensor depthwise_conv2d(const Operand& x, const Operand& depthwise_kernel,
                        const ConvOptions& options) try {
  const Call call("depthwise_conv2d", where_of(x, depthwise_kernel));
  const Plan plan = plan_of(x, depthwise_kernel, options, 2, "depthwise_kernel");
  return wrap(channels_from_end(depthwise(plan), plan.format));
} catch (const std::bad_alloc&) {
  Call::out_of_memory("depthwise_conv2d", where_of(x, depthwise_kernel));
}

Tensor separable_conv2d(const Operand& x, const Operand& depthwise_kernel,
                        const Operand& pointwise_kernel, const ConvOptions& options) try {
  const Call call("separable_conv2d", where_of(x, depthwise_kernel));
  return separable(x, depthwise_kernel, pointwise_kernel, options, 2);
} catch (const std::bad_alloc&) {
  Call::out_of_memory("separable_conv2d", where_of(x, depthwise_kernel));
}

Tensor separable_conv1d(const Operand& x, const Operand& depthwise_kernel,
                        const Operand& pointwise_kernel, const ConvOptions& options) try {
  const Call call("separable_conv1d", where_of(x, depthwise_kernel));
  return separable(x, depthwise_kernel, pointwise_kernel, options, 1);
} catch (const std::bad_alloc&) {
  Call::out_of_memory("separable_conv1d", where_of(x, depthwise_kernel));
}

Tensor local_conv1d(const Operand& inputs, const Operand& kernel, const Steps& kernel_size,
                    const Steps& strides, const LocalConvOptions& options) try {
  const Call call("local_conv1d", where_of(inputs, kernel));
  data_format_of(options.data_format);
  Local local = local_of(inputs, kernel, kernel_size, strides, 1);
  local.kernel = require_kernel_size(local.kernel, 1, area(local.windows) * local.x.dims().back(),
                                     "elements of a window");
  return wrap(at_places(local, {local.kernel.dims()[0]}, /*channels_before=*/false));
} catch (const std::bad_alloc&) {
  Call::out_of_memory("local_conv1d", where_of(inputs, kernel));
}

Tensor local_conv2d(const Operand& inputs, const Operand& kernel, const Steps& kernel_size,
                    const Steps& strides, const Steps& output_shape,
                    const LocalConvOptions& options) try {
  const Call call("local_conv2d", where_of(inputs, kernel));
  const DataFormat format = data_format_of(options.data_format);
  const Ints places = steps_of(output_shape, 2, "output_shape");
  Local local = local_of(inputs, kernel, kernel_size, strides, 2);
  local.x = channels_to_end(local.x, format);
  local.kernel = require_kernel_size(local.kernel, 0, area(places), "places");
  local.kernel = require_kernel_size(local.kernel, 1, area(local.windows) * local.x.dims().back(),
                                     "elements of a window");
  const bool channels_before = format == DataFormat::ChannelsFirst;
  const Value y = at_places(local, {places.begin(), places.end()}, channels_before);
  return wrap(channels_from_end(y, format));
} catch (const std::bad_alloc&) {
  Call::out_of_memory("local_conv2d", where_of(inputs, kernel));
}

}  // namespace kiln
