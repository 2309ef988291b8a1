// Conv2DTranspose. Sizes: Keras 3.5, keras/src/backend/common/backend_utils.py.
#include <kiln/layers_convolution.h>

#include "runtime/train/layer_state.h"
#include "runtime/train/window_sizes.h"

#include <algorithm>

namespace kiln::layers {
namespace {

/// Products of two sizes below it do not overflow.
constexpr std::int64_t kMaxSize = std::int64_t{1} << 31;

/// One number for rows and one for columns, each below kMaxSize. ValueError for other ones.
std::vector<std::int64_t> rows_and_columns(const char* argument, const Steps& steps, Where where) {
  std::vector<std::int64_t> both = steps.steps();
  if (both.size() == 1) both.resize(2, both[0]);
  for (const std::int64_t size : both) {
    if (size < kMaxSize) continue;
    throw ValueError("Conv2DTranspose", argument, text(argument, " ", size, " is too large"),
                     where);
  }
  if (both.size() == 2) return both;
  throw ValueError("Conv2DTranspose", argument,
                   text(argument, " (", join_text(both), ") does not have 1 or 2 entries"), where);
}

struct TransposedState : Layer::State {
  explicit TransposedState(const ConvTransposeOptions& options)
      : State("Conv2DTranspose", "conv2d_transpose", options.name, options.dtype,
              options.trainable),
        options(options) {}

  std::int64_t filters = 0;
  std::vector<std::int64_t> kernel_size, strides, dilation_rate, output_padding;
  ConvTransposeOptions options;
  std::string data_format;
  Tensor kernel, bias;

  bool is_channels_first() const { return data_format == "channels_first"; }
  int channel_axis() const { return is_channels_first() ? 1 : -1; }

  void build(std::int64_t channels) {
    const ConvTransposeOptions& o = options;
    kernel = add_weight("kernel", {kernel_size[0], kernel_size[1], filters, channels},
                        {o.kernel_initializer, o.kernel_regularizer, o.kernel_constraint});
    if (!o.use_bias) return;
    bias =
        add_weight("bias", {filters}, {o.bias_initializer, o.bias_regularizer, o.bias_constraint});
  }

  /// The output's size is inputs * strides plus this along axis 0 (rows) or 1.
  std::int64_t added_size(std::size_t axis) const {
    const std::int64_t stride = strides[axis];
    const std::int64_t window = (kernel_size[axis] - 1) * dilation_rate[axis] + 1;
    const bool is_same = options.padding == "same";
    if (output_padding.empty()) return is_same ? 0 : std::max(window, stride) - stride;
    return (is_same ? window % 2 : window) + output_padding[axis] - stride;
  }

  /// The output's size along axis 0 (rows) or 1: a number, or a tensor where that of x is unknown.
  ShapeEntry output_size(const Tensor& x, std::size_t axis) const {
    const std::size_t at = axis + (is_channels_first() ? 2 : 1);
    const std::optional<std::int64_t> size = int_shape(x)[at];
    if (size && *size >= kMaxSize) reject("inputs", text("requires smaller inputs than ", x));
    if (size) return *size * strides[axis] + added_size(axis);
    return shape(x)[static_cast<std::int64_t>(at)] * strides[axis] + added_size(axis);
  }

  Tensor convolve(const Tensor& x) const {
    const ShapeEntry rows = output_size(x, 0), columns = output_size(x, 1);
    const Shape shape = is_channels_first() ? Shape{None, filters, rows, columns}
                                            : Shape{None, rows, columns, filters};
    return conv2d_transpose(x, kernel, shape,
                            {.strides = options.strides,
                             .padding = options.padding,
                             .data_format = StringArgument(data_format),
                             .dilation_rate = options.dilation_rate});
  }
};

/// ValueError unless each is in [0, stride).
void require_output_padding(const TransposedState& state, Where where) {
  for (std::size_t i = 0; i < state.output_padding.size(); ++i) {
    const std::int64_t padding = state.output_padding[i];
    if (padding >= 0 && padding < state.strides[i]) continue;
    throw ValueError(
        "Conv2DTranspose", "output_padding",
        text("output_padding ", padding, " is outside [0, stride ", state.strides[i], ")"), where);
  }
}

}  // namespace

Conv2DTranspose::Conv2DTranspose(WholeNumber filters, const Steps& kernel_size,
                                 const ConvTransposeOptions& options, Where where)
    : Layer(at_call("Conv2DTranspose", where, [&] {
        require_positive("Conv2DTranspose", "filters", filters, where);
        require_one_of("Conv2DTranspose", "padding", options.padding, {"valid", "same"}, where);
        const std::string data_format =
            data_format_of("Conv2DTranspose", options.data_format, where);
        auto state = std::make_shared<TransposedState>(options);
        state->kernel_size = window_sizes("Conv2DTranspose", kernel_size, 2, where);
        static_cast<void>(rows_and_columns("kernel_size", kernel_size, where));
        state->strides = rows_and_columns("strides", options.strides, where);
        state->dilation_rate = rows_and_columns("dilation_rate", options.dilation_rate, where);
        for (std::size_t i = 0; i < 2; ++i) {
          require_positive("Conv2DTranspose", "strides", state->strides[i], where);
          require_positive("Conv2DTranspose", "dilation_rate", state->dilation_rate[i], where);
        }
        if (options.output_padding) {
          state->output_padding =
              rows_and_columns("output_padding", *options.output_padding, where);
        }
        require_output_padding(*state, where);
        state->filters = filters;
        state->data_format = data_format;
        return state;
      })) {}

Tensor Conv2DTranspose::operator()(const Tensor& inputs, Where where) const {
  return call_layer(*state_, where, [&] {
    auto& self = static_cast<TransposedState&>(*state_);
    self.require_rank(inputs, 4);
    self.require_dtype(inputs);
    self.build_once([&] { self.build(self.size_of(inputs, self.channel_axis())); });
    self.size_of(inputs, self.channel_axis(), int_shape(self.kernel)[3]);
    Tensor y = self.convolve(inputs);
    if (self.options.use_bias) {
      y = bias_add(y, self.bias, {.data_format = StringArgument(self.data_format)});
    }
    return self.options.activation(y);
  });
}

}  // namespace kiln::layers
