// Pooling and global pooling.
#include <kiln/layers_pooling.h>

#include "runtime/train/layer_state.h"

namespace kiln::layers {
namespace {

/// The state of both kinds of pooling.
struct PoolingState : Layer::State {
  PoolingState(const char* kind, const char* prefix, const StringArgument& name)
      : State(kind, prefix, name, {}) {}
  bool has_weights() const override { return false; }
  bool is_channels_first() const { return data_format == "channels_first"; }

  int axes = 2;
  std::string data_format;
  bool is_mean = false;
  bool keepdims = false;
  Steps pool_size = 2;
  PoolOptions options;
};

/// Steps along one axis as steps along two, the second of size 1.
Steps along_rows(const Steps& steps) {
  std::vector<std::int64_t> both = steps.steps();
  both.push_back(1);
  return both;
}

}  // namespace

Pooling::Pooling(const char* kind, const char* prefix, int axes, const char* mode,
                 const Steps& pool_size, const PoolingOptions& options, Where where)
    : Layer(at_call(kind, where, [&] {
        require_one_of(kind, "padding", options.padding, {"valid", "same"}, where);
        const std::string data_format = data_format_of(kind, options.data_format, where);
        const Steps strides = options.strides.value_or(pool_size);
        if (axes == 1 && (pool_size.steps().size() != 1 || strides.steps().size() != 1)) {
          throw ValueError(kind, "pool_size", "pool_size and strides are not one number each",
                           where);
        }
        auto state = std::make_shared<PoolingState>(kind, prefix, options.name);
        state->axes = axes;
        state->data_format = data_format;
        state->pool_size = axes == 1 ? along_rows(pool_size) : pool_size;
        state->options = {.strides = axes == 1 ? along_rows(strides) : strides,
                          .padding = options.padding,
                          .data_format = StringArgument(data_format),
                          .pool_mode = mode};
        return state;
      })) {}

Tensor Pooling::operator()(const Tensor& inputs, Where where) const {
  return call_layer(*state_, where, [&] {
    const auto& self = static_cast<PoolingState&>(*state_);
    self.require_rank(inputs, self.axes + 2);
    if (self.axes == 2) return pool2d(inputs, self.pool_size, self.options);
    const int columns = self.is_channels_first() ? 3 : 2;
    const Tensor images = expand_dims(inputs, {.axis = columns});
    return squeeze(pool2d(images, self.pool_size, self.options), columns);
  });
}

GlobalPooling::GlobalPooling(const char* kind, const char* prefix, int axes, bool is_mean,
                             const GlobalPoolingOptions& options, Where where)
    : Layer(at_call(kind, where, [&] {
        const std::string data_format = data_format_of(kind, options.data_format, where);
        auto state = std::make_shared<PoolingState>(kind, prefix, options.name);
        state->axes = axes;
        state->data_format = data_format;
        state->is_mean = is_mean;
        state->keepdims = options.keepdims;
        return state;
      })) {}

Tensor GlobalPooling::operator()(const Tensor& inputs, const GlobalPoolingCall& call,
                                 Where where) const {
  return call_layer(*state_, where, [&] {
    const auto& self = static_cast<PoolingState&>(*state_);
    self.require_rank(inputs, self.axes + 2);
    std::vector<std::int64_t> spatial;
    for (int i = 0; i < self.axes; ++i) spatial.push_back(self.is_channels_first() ? 2 + i : 1 + i);
    const AxisOptions over{.axis = spatial, .keepdims = self.keepdims};
    if (call.mask.empty()) return self.is_mean ? mean(inputs, over) : max(inputs, over);
    if (!self.is_mean || self.axes != 1) self.reject("mask", "takes no mask");
    self.require_rank(call.mask, 2, "mask");
    const Tensor counted =
        expand_dims(cast(call.mask, dtype(inputs)), {.axis = self.is_channels_first() ? 1 : 2});
    return sum(inputs * counted, over) / sum(counted, over);
  });
}

}  // namespace kiln::layers
