// SeparableConv1D, SeparableConv2D.
#include <kiln/layers_convolution.h>

#include "runtime/train/layer_state.h"
#include "runtime/train/window_sizes.h"

namespace kiln::layers {
namespace {

struct SeparableState : Layer::State {
  using State::State;

  std::int64_t filters = 0;
  std::vector<std::int64_t> kernel_size;
  SeparableConvOptions options;
  std::string data_format;
  Tensor depthwise, pointwise, bias;

  int channel_axis() const { return data_format == "channels_first" ? 1 : -1; }

  void build(std::int64_t channels) {
    const SeparableConvOptions& o = options;
    std::vector<std::int64_t> shape = kernel_size, point(kernel_size.size(), 1);
    shape.insert(shape.end(), {channels, o.depth_multiplier});
    depthwise =
        add_weight("depthwise_kernel", shape,
                   {o.depthwise_initializer, o.depthwise_regularizer, o.depthwise_constraint});
    // No overflow: the kernel above has as many elements or more.
    point.insert(point.end(), {channels * o.depth_multiplier, filters});
    pointwise =
        add_weight("pointwise_kernel", point,
                   {o.pointwise_initializer, o.pointwise_regularizer, o.pointwise_constraint});
    if (!o.use_bias) return;
    bias =
        add_weight("bias", {filters}, {o.bias_initializer, o.bias_regularizer, o.bias_constraint});
  }
};

}  // namespace

SeparableConvolution::SeparableConvolution(const char* kind, const char* prefix, std::size_t axes,
                                           WholeNumber filters, const Steps& kernel_size,
                                           const SeparableConvOptions& options, Where where)
    : Layer(at_call(kind, where, [&] {
        require_positive(kind, "filters", filters, where);
        require_positive(kind, "depth_multiplier", options.depth_multiplier, where);
        require_one_of(kind, "padding", options.padding, {"valid", "same"}, where);
        const std::string data_format = data_format_of(kind, options.data_format, where);
        const std::vector<std::int64_t> sizes = window_sizes(kind, kernel_size, axes, where);
        auto state = std::make_shared<SeparableState>(kind, prefix, options.name, options.dtype,
                                                      options.trainable);
        state->filters = filters;
        state->kernel_size = sizes;
        state->options = options;
        state->data_format = data_format;
        return state;
      })) {}

Tensor SeparableConvolution::operator()(const Tensor& inputs, Where where) const {
  return call_layer(*state_, where, [&] {
    auto& self = static_cast<SeparableState&>(*state_);
    const std::size_t axes = self.kernel_size.size();
    self.require_rank(inputs, static_cast<int>(axes) + 2);
    self.require_dtype(inputs);
    self.build_once([&] { self.build(self.size_of(inputs, self.channel_axis())); });
    self.size_of(inputs, self.channel_axis(), int_shape(self.depthwise)[axes]);
    const ConvOptions o{.strides = self.options.strides,
                        .padding = self.options.padding,
                        .data_format = StringArgument(self.data_format),
                        .dilation_rate = self.options.dilation_rate};
    Tensor y = axes == 1 ? separable_conv1d(inputs, self.depthwise, self.pointwise, o)
                         : separable_conv2d(inputs, self.depthwise, self.pointwise, o);
    if (self.options.use_bias) {
      y = bias_add(y, self.bias, {.data_format = StringArgument(self.data_format)});
    }
    return self.options.activation(y);
  });
}

}  // namespace kiln::layers
