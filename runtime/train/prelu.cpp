// PReLU.
#include <kiln/layers_activation.h>

#include "runtime/train/layer_state.h"

namespace kiln::layers {
namespace {

struct PReLUState : Layer::State {
  explicit PReLUState(const PReLUOptions& options)
      : State("PReLU", "p_re_lu", options.name, options.dtype, options.trainable),
        options(options) {}
  PReLUOptions options;
  Tensor alpha;

  /// Whether each axis of x has one slope.
  std::vector<bool> shared_of(const Tensor& x) const {
    const std::int64_t rank = ndim(x);
    std::vector<bool> shared(static_cast<std::size_t>(rank), false);
    if (!options.shared_axes.is_set()) return shared;
    for (const std::int64_t axis : options.shared_axes.axes()) {
      const std::int64_t at = axis < 0 ? axis + rank : axis;
      if (at < 1 || at >= rank) {
        reject("shared_axes", text("has shared axis ", axis,
                                   ", which is out of range or that of samples for ", x));
      }
      shared[static_cast<std::size_t>(at)] = true;
    }
    return shared;
  }
};

}  // namespace

PReLU::PReLU(const PReLUOptions& options, Where where)
    : Layer(at_call("PReLU", where, [&] { return std::make_shared<PReLUState>(options); })) {}

Tensor PReLU::operator()(const Tensor& inputs, Where where) const {
  return call_layer(*state_, where, [&] {
    auto& self = static_cast<PReLUState&>(*state_);
    self.require_rank_from(inputs, 1);
    self.require_dtype(inputs);
    const std::vector<bool> shared = self.shared_of(inputs);
    std::vector<std::int64_t> sizes;
    for (int axis = 1; axis < ndim(inputs); ++axis) {
      sizes.push_back(shared[static_cast<std::size_t>(axis)] ? 1 : self.size_of(inputs, axis));
    }
    self.build_once([&] {
      const PReLUOptions& o = self.options;
      self.alpha = self.add_weight("alpha", sizes,
                                   {o.alpha_initializer, o.alpha_regularizer, o.alpha_constraint});
    });
    const auto built = get_variable_shape(self.alpha);
    if (built != sizes) {
      self.reject("inputs",
                  text("requires slopes (", join_text(built), "), as at its first call, not (",
                       join_text(sizes), ") for ", inputs));
    }
    return relu(inputs) - self.alpha * relu(-inputs);
  });
}

}  // namespace kiln::layers
