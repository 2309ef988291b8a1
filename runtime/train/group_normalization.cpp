// GroupNormalization.
#include <kiln/layers_normalization.h>

#include "runtime/train/layer_state.h"
#include "runtime/train/widened.h"

namespace kiln::layers {
namespace {

struct GroupNormalizationState : Layer::State {
  explicit GroupNormalizationState(const GroupNormalizationOptions& options)
      : State("GroupNormalization", "group_normalization", options.name, options.dtype,
              options.trainable),
        options(options) {}
  GroupNormalizationOptions options;
  std::int64_t channels = 0;
  Tensor gamma, beta;

  std::int64_t groups() const {
    return options.groups == -1 ? channels : static_cast<std::int64_t>(options.groups);
  }

  void build(std::int64_t count) {
    const GroupNormalizationOptions& o = options;
    channels = count;
    if (channels == 0 || channels % groups() != 0) {
      reject("groups", text("has ", groups(), " groups, which do not divide ", channels,
                            " channels of inputs"));
    }
    if (o.scale) {
      gamma = add_weight("gamma", {channels},
                         {o.gamma_initializer, o.gamma_regularizer, o.gamma_constraint});
    }
    if (o.center) {
      beta = add_weight("beta", {channels},
                        {o.beta_initializer, o.beta_regularizer, o.beta_constraint});
    }
  }

  /// The axis of channels of x, from the front.
  int axis_of(const Tensor& x) const {
    const std::int64_t rank = ndim(x),
                       axis = options.axis < 0 ? options.axis + rank : std::int64_t{options.axis};
    if (axis >= 1 && axis < rank) return static_cast<int>(axis);
    reject("axis", text("has axis ", options.axis + 0,
                        ", which is out of range or that of samples for ", x));
  }

  /// x (.., channels, ..) as (.., groups, channels of a group, ..).
  Tensor split(const Tensor& x, std::size_t axis) const {
    std::vector<ShapeEntry> sizes;
    for (std::size_t i = 0; i < int_shape(x).size(); ++i) {
      const std::optional<std::int64_t> size = int_shape(x)[i];
      if (i == axis) {
        sizes.emplace_back(groups());
        sizes.emplace_back(channels / groups());
      } else if (size) {
        sizes.emplace_back(*size);
      } else {
        sizes.emplace_back(shape(x)[static_cast<std::int64_t>(i)]);
      }
    }
    return reshape(x, sizes);
  }
};

}  // namespace

GroupNormalization::GroupNormalization(const GroupNormalizationOptions& options, Where where)
    : Layer(at_call("GroupNormalization", where, [&] {
        require_epsilon("GroupNormalization", options.epsilon, where);
        if (options.groups < 1 && options.groups != -1) {
          throw ValueError("GroupNormalization", "groups",
                           text("groups ", options.groups, " is neither positive nor -1"), where);
        }
        return std::make_shared<GroupNormalizationState>(options);
      })) {}

Tensor GroupNormalization::operator()(const Tensor& inputs, Where where) const {
  return call_layer(*state_, where, [&] {
    auto& self = static_cast<GroupNormalizationState&>(*state_);
    self.require_dtype(inputs);
    const int axis = self.axis_of(inputs);
    self.build_once([&] { self.build(self.size_of(inputs, axis)); });
    self.size_of(inputs, axis, self.channels);
    const Tensor x = self.split(widened(inputs), static_cast<std::size_t>(axis));
    std::vector<std::int64_t> others, of_channels(static_cast<std::size_t>(ndim(x)), 1);
    for (int i = 1; i < ndim(x); ++i) {
      if (i != axis) others.push_back(i);
    }
    of_channels[static_cast<std::size_t>(axis)] = self.groups();
    of_channels[static_cast<std::size_t>(axis) + 1] = self.channels / self.groups();
    const Tensor centered = x - mean(x, {.axis = others, .keepdims = true});
    const Tensor variance = mean(square(centered), {.axis = others, .keepdims = true});
    Tensor y = centered / sqrt(variance + self.options.epsilon);
    if (self.options.scale) y = y * reshape(widened(self.gamma), of_channels);
    if (self.options.center) y = y + reshape(widened(self.beta), of_channels);
    return cast(reshape(y, shape(inputs)), self.dtype);
  });
}

}  // namespace kiln::layers
