// The state that copies of a layer share, and checks of a layer's inputs.
#pragma once

#include <kiln/k.h>
#include <kiln/layer.h>

#include "core/types/text.h"
#include "runtime/train/at_call.h"

namespace kiln::layers {

/// How a variable of a layer begins, and how it is treated.
struct WeightOptions {
  Initializer initializer;
  Regularizer regularizer = {};
  Constraint constraint = {};  ///< of a trainable one
  bool is_trainable = true;
};

struct [[gnu::visibility("hidden")]] Layer::State {
  struct Weight {
    Variable variable;
    Regularizer regularizer;
    bool is_trainable;
  };

  /// kind: the class, in static storage. prefix: of the default name. The others: options.
  State(const char* kind, const char* prefix, const StringArgument& name,
        const DTypeArgument& dtype, bool trainable = true);
  virtual ~State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// Whether the layer has variables after its first call.
  virtual bool has_weights() const { return true; }

  /// Creates the variable "<name>/<suffix>".
  Variable add_weight(const char* suffix, const std::vector<std::int64_t>& shape,
                      const WeightOptions& options);
  /// Calls build() unless an earlier call of it has succeeded.
  template <class Build>
  void build_once(const Build& build) {
    if (is_built) return;
    weights.clear();
    build();
    is_built = true;
  }

  /// Throws ValueError: "layer 'dense' <message>".
  [[noreturn]] void reject(const char* argument, const std::string& message) const;
  /// ValueError unless the rank of x is one of `ranks`, or at least the only one.
  void require_rank(const Tensor& x, int rank, const char* argument = "inputs") const;
  void require_rank_from(const Tensor& x, int rank, const char* argument = "inputs") const;
  /// TypeError unless x has the layer's dtype.
  void require_dtype(const Tensor& x, const char* argument = "inputs") const;
  /// The size of an axis, negative from the end. ValueError if it is unknown, or not `expected`.
  std::int64_t size_of(const Tensor& x, int axis, std::optional<std::int64_t> expected = {},
                       const char* argument = "inputs") const;

  const char* kind;
  std::string name;
  DType dtype;
  bool is_trainable;  ///< false: frozen
  bool is_built = false;
  std::vector<Weight> weights;
  std::vector<UpdateOp> updates;  ///< one per variable
  std::vector<std::shared_ptr<State>> inner;  ///< layers of which this one consists
};

/// Returns work(), run as one call of the layer at `where`, in a scope of the layer's name.
template <class Work>
decltype(auto) call_layer(const Layer::State& layer, Where where, const Work& work) {
  return at_call(layer.kind, where, [&]() -> decltype(auto) {
    const CallScope scope(layer.name, where);
    return work();
  });
}

/// Which phases a call may be in: a constant phase excludes the other one.
struct Phases {
  bool has_training = false, has_testing = false;
};
Phases phases_of(const Tensor& x, const OptionalOperand& training);

/// ValueError unless `value` is positive.
void require_positive(const char* function, const char* argument, std::int64_t value, Where where);
/// ValueError unless `epsilon` is finite and not negative.
void require_epsilon(const char* function, double epsilon, Where where);
/// ValueError unless `rate` is in [0, 1).
void require_rate(const char* function, const char* argument, double rate, Where where);
/// ValueError unless value is one of `known`, with the nearest one.
void require_one_of(const char* function, const char* argument, const std::string& value,
                    const std::vector<std::string>& known, Where where);
/// The data format that an option means. ValueError for an unknown one.
std::string data_format_of(const char* function, const std::optional<StringArgument>& option,
                           Where where);

}  // namespace kiln::layers
