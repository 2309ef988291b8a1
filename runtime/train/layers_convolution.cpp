// Conv1D, Conv2D, DepthwiseConv2D.
#include <kiln/layers_convolution.h>

#include "runtime/train/layer_state.h"
#include "runtime/train/window_sizes.h"

namespace kiln::layers {
namespace {

/// `count` elements of an axis, negative from the end, from `first` on.
Tensor part_of(const Tensor& x, int axis, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> start(static_cast<std::size_t>(ndim(x)), 0), size(start.size(), -1);
  const std::size_t at = static_cast<std::size_t>(axis < 0 ? axis + ndim(x) : axis);
  start[at] = first;
  size[at] = count;
  return slice(x, start, size);
}

struct ConvolutionState : Layer::State {
  using State::State;

  std::int64_t outputs = 0;  ///< filters, or outputs per channel if is_depthwise
  bool is_depthwise = false;
  std::vector<std::int64_t> kernel_size;
  ConvLayerOptions options;
  std::string data_format;
  Tensor kernel, bias;

  int channel_axis() const { return data_format == "channels_first" ? 1 : -1; }

  void build(std::int64_t channels) {
    const ConvLayerOptions& o = options;
    if (channels % o.groups != 0) {
      reject("groups", text("has ", o.groups + 0, " groups, which do not divide ", channels,
                            " channels of inputs"));
    }
    std::vector<std::int64_t> shape = kernel_size;
    shape.insert(shape.end(), {channels / o.groups, outputs});
    kernel = add_weight("kernel", shape,
                        {o.kernel_initializer, o.kernel_regularizer, o.kernel_constraint});
    if (!o.use_bias) return;
    bias = add_weight("bias", {is_depthwise ? channels * outputs : outputs},
                      {o.bias_initializer, o.bias_regularizer, o.bias_constraint});
  }

  Tensor convolve(const Tensor& x) const {
    const ConvOptions o{.strides = options.strides,
                        .padding = options.padding,
                        .data_format = StringArgument(data_format),
                        .dilation_rate = options.dilation_rate};
    if (is_depthwise) return depthwise_conv2d(x, kernel, o);
    if (options.groups != 1) return convolve_groups(x, o);
    return convolve_group(x, kernel, o);
  }

  Tensor convolve_group(const Tensor& x, const Tensor& filters, const ConvOptions& o) const {
    return kernel_size.size() == 1 ? conv1d(x, filters, o) : conv2d(x, filters, o);
  }

  /// Convolves the parts of the channels with those of the filters. Groups of one channel are a
  /// depthwise convolution: filter c * multiplier + m sees channel c.
  Tensor convolve_groups(const Tensor& x, const ConvOptions& o) const {
    const std::int64_t groups = options.groups, filters = outputs / groups;
    const std::int64_t channels = *int_shape(kernel)[kernel_size.size()];
    if (channels == 1 && kernel_size.size() == 2) {
      return depthwise_conv2d(x, reshape(kernel, {kernel_size[0], kernel_size[1], groups, filters}),
                              o);
    }
    std::vector<Tensor> parts;
    for (std::int64_t i = 0; i < groups; ++i) {
      parts.push_back(convolve_group(part_of(x, channel_axis(), i * channels, channels),
                                     part_of(kernel, -1, i * filters, filters), o));
    }
    return concatenate(parts, {.axis = channel_axis()});
  }
};

std::shared_ptr<ConvolutionState> make_convolution(const char* kind, const char* prefix,
                                                   std::size_t axes, const Steps& kernel_size,
                                                   const ConvLayerOptions& options, Where where) {
  std::vector<std::string> paddings{"valid", "same"};
  if (axes == 1) paddings.emplace_back("causal");
  require_one_of(kind, "padding", options.padding, paddings, where);
  const std::string data_format = data_format_of(kind, options.data_format, where);
  const std::vector<std::int64_t> sizes = window_sizes(kind, kernel_size, axes, where);
  require_positive(kind, "groups", options.groups, where);
  auto state = std::make_shared<ConvolutionState>(kind, prefix, options.name, options.dtype,
                                                  options.trainable);
  state->kernel_size = sizes;
  state->options = options;
  state->data_format = data_format;
  return state;
}

ConvLayerOptions conv_options_of(const DepthwiseConvOptions& o) {
  return {.strides = o.strides,
          .padding = o.padding,
          .data_format = o.data_format,
          .dilation_rate = o.dilation_rate,
          .activation = o.activation,
          .use_bias = o.use_bias,
          .kernel_initializer = o.depthwise_initializer,
          .bias_initializer = o.bias_initializer,
          .kernel_regularizer = o.depthwise_regularizer,
          .bias_regularizer = o.bias_regularizer,
          .kernel_constraint = o.depthwise_constraint,
          .bias_constraint = o.bias_constraint,
          .dtype = o.dtype,
          .trainable = o.trainable,
          .name = o.name};
}

void require_groups(const char* kind, std::int64_t filters, std::int64_t groups, Where where) {
  if (filters % groups == 0) return;
  throw ValueError(kind, "groups",
                   text("filters ", filters, " are not a multiple of groups ", groups), where);
}

}  // namespace

Conv1D::Conv1D(WholeNumber filters, const Steps& kernel_size, const ConvLayerOptions& options,
               Where where)
    : Convolution(at_call("Conv1D", where, [&] {
        require_positive("Conv1D", "filters", filters, where);
        auto state = make_convolution("Conv1D", "conv1d", 1, kernel_size, options, where);
        require_groups("Conv1D", filters, options.groups, where);
        state->outputs = filters;
        return state;
      })) {}

Conv2D::Conv2D(WholeNumber filters, const Steps& kernel_size, const ConvLayerOptions& options,
               Where where)
    : Convolution(at_call("Conv2D", where, [&] {
        require_positive("Conv2D", "filters", filters, where);
        auto state = make_convolution("Conv2D", "conv2d", 2, kernel_size, options, where);
        require_groups("Conv2D", filters, options.groups, where);
        state->outputs = filters;
        return state;
      })) {}

DepthwiseConv2D::DepthwiseConv2D(const Steps& kernel_size, const DepthwiseConvOptions& options,
                                 Where where)
    : Convolution(at_call("DepthwiseConv2D", where, [&] {
        require_positive("DepthwiseConv2D", "depth_multiplier", options.depth_multiplier, where);
        auto state = make_convolution("DepthwiseConv2D", "depthwise_conv2d", 2, kernel_size,
                                      conv_options_of(options), where);
        state->outputs = options.depth_multiplier;
        state->is_depthwise = true;
        return state;
      })) {}

Tensor Convolution::operator()(const Tensor& inputs, Where where) const {
  return call_layer(*state_, where, [&] {
    auto& self = static_cast<ConvolutionState&>(*state_);
    const std::size_t axes = self.kernel_size.size();
    self.require_rank(inputs, static_cast<int>(axes) + 2);
    self.require_dtype(inputs);
    self.build_once([&] { self.build(self.size_of(inputs, self.channel_axis())); });
    self.size_of(inputs, self.channel_axis(), *int_shape(self.kernel)[axes] * self.options.groups);
    Tensor y = self.convolve(inputs);
    if (self.options.use_bias) {
      y = bias_add(y, self.bias, {.data_format = StringArgument(self.data_format)});
    }
    return self.options.activation(y);
  });
}

}  // namespace kiln::layers
