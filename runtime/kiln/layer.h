// Layer: the base of kiln/layers.h, and lists of what several layers own. Options, defaults, names
// and formulas: Keras 3.5, keras/src/layers. Masks are arguments of the calls that use them;
// weights have the dtype of the option `dtype`, as inputs must. There is no activity_regularizer: a
// layer does not know which of its calls the loss is of, but the caller has their outputs and adds
// regularizers::L2({.l2 = 0.1})(y) to the loss.
#pragma once

#include <kiln/activation_argument.h>
#include <kiln/constraint.h>
#include <kiln/initializer.h>
#include <kiln/optional_operand.h>
#include <kiln/regularizer.h>
#include <kiln/results.h>
#include <kiln/update.h>
#include <kiln/variable.h>

#include <memory>

namespace kiln::layers {

/// Options of calls that differ in training.
struct TrainingOptions {
  OptionalOperand training = None;  ///< as for in_train_phase(): None means learning_phase()
};

/// The common part of all layers. A layer is a value that owns variables and is called on tensors;
/// copies share the variables. They are created at the first call, as in Keras, because their
/// shapes depend on the input, and are named "<layer name>/kernel" etc. A model is your own struct:
///     struct Model {
///       K::layers::Dense hidden{64, {.activation = "relu"}}, out{10};
///       K::Tensor operator()(const K::Tensor& x) const { return out(hidden(x)); }
///     };
/// A layer whose options all have defaults needs no initializer there: constructors without
/// arguments are not explicit.
/// Not thread-safe: calls build graphs, and the first one creates variables.
class KILN_API Layer {
 public:
  Layer(const Layer& other) = default;  // and no move, which would leave an empty one
  Layer& operator=(const Layer& other) = default;

  /// The option `name`, or by default the kind and, from the second on, its number: "dense_1".
  const std::string& name() const&;
  std::string name() const&& { return name(); }  ///< a reference into a temporary would dangle

  /// Whether the layer trains: the option `trainable`, or as set_trainable() has set it.
  bool trainable() const;
  /// Freezes (false) or unfreezes a layer, its copies and the layers inside it. A frozen layer has
  /// no trainable_weights() and no losses(), and later calls of a BatchNormalization use its moving
  /// averages in training, too. Graphs that are already built do not change.
  void set_trainable(Flag value) const;

  /// The variables, in the order of Keras. Here and below: ValueError before the first call of a
  /// layer that has variables.
  Results<Tensor> weights(Where where = Where::here()) const;
  /// The weights that gradients change: all but the moving averages of BatchNormalization, and none
  /// of a frozen layer.
  Results<Tensor> trainable_weights(Where where = Where::here()) const;
  /// The other ones.
  Results<Tensor> non_trainable_weights(Where where = Where::here()) const;
  /// The scalars of regularizers, one per regularized trainable variable, to be added to the loss.
  Results<Tensor> losses(Where where = Where::here()) const;
  /// The updates of moving averages by all calls until now that may be in training, one per
  /// variable: pass them to the function that trains. The updates of a stateful recurrent layer set
  /// its states to the last ones of its last call. Empty for all other layers.
  Results<UpdateOp> updates(Where where = Where::here()) const;

  struct State;  // runtime/train/layer_state.h

 protected:
  explicit Layer(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// Returns the weights() of layers, in their order.
/// Errors: those of Layer::weights.
///     const K::layers::Dense hidden(3, {.name = "hidden"}), out(1, {.name = "out"});
///     const auto y = out(hidden(K::ones({2, 4})));
///     K::layers::weights({hidden, out})[2];  // out/kernel float32[3,1]
[[nodiscard]] KILN_API Results<Tensor> weights(const std::vector<Layer>& layers,
                                               Where where = Where::here());
/// Returns the trainable_weights() of layers, in their order, as an optimiser takes them.
/// Errors: those of Layer::weights.
///     const K::layers::Dense out(1, {.use_bias = false});
///     const auto y = out(K::ones({2, 4}));
///     K::layers::trainable_weights({out}).size();  // 1
[[nodiscard]] KILN_API Results<Tensor> trainable_weights(const std::vector<Layer>& layers,
                                                         Where where = Where::here());
/// Returns the losses() of layers, in their order.
/// Errors: those of Layer::weights.
///     const K::layers::Dense out(1, {.kernel_initializer = "ones",
///                                    .kernel_regularizer = K::regularizers::L2({.l2 = 0.5})});
///     const auto y = out(K::ones({2, 4}));
///     K::eval(K::layers::losses({out})[0]);  // 2.0
[[nodiscard]] KILN_API Results<Tensor> losses(const std::vector<Layer>& layers,
                                              Where where = Where::here());
/// Returns the updates() of layers, in their order: list all layers, those without updates too.
/// Errors: those of Layer::weights.
///     const K::layers::Dense out(1);
///     const auto y = out(K::ones({2, 4}));
///     K::layers::updates({out}).size();  // 0
[[nodiscard]] KILN_API Results<UpdateOp> updates(const std::vector<Layer>& layers,
                                                 Where where = Where::here());

}  // namespace kiln::layers
