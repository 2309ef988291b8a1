// EarlyStopping: ends a training whose monitored value has stopped improving. Formulas: Keras 3.5,
// keras/src/callbacks/early_stopping.py.
#pragma once

#include <kiln/checkpoint_options.h>
#include <kiln/variable.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace kiln {

struct EarlyStoppingOptions {
  double min_delta = 0;         ///< the magnitude that an improvement must exceed
  WholeNumber patience = 0;     ///< epochs in a row without improvement to stop after
  StringArgument mode = "min";  ///< or "max"; Keras guesses it from the value's name
  /// An improvement that does not reach it counts as one without, but for the best value.
  std::optional<double> baseline = {};
  WholeNumber start_from_epoch = 0;  ///< ignores the epochs before it
  /// Variables that get back their values of the best epoch; Keras has a bool for all.
  std::vector<Tensor> restore_best_weights = {};
  StringArgument name = "early_stopping";  ///< the first part of the names of its state
};

/// Monitors one value per epoch. Copies share the state. Threads: one at a time. A training that is
/// resumed gives variables() and numbers() to its Checkpoint.
///     K::EarlyStopping stopping({.patience = 1});
///     for (const double loss : {0.5, 0.4, 0.45, 0.3}) {
///       if (stopping.should_stop(loss)) break;
///     }
class KILN_API EarlyStopping {
 public:
  EarlyStopping() : EarlyStopping({}, Where()) {}
  /// Errors: ValueError for a mode other than "min" and "max", a negative patience or
  /// start_from_epoch, and a NaN; TypeError for a tensor that is not a variable.
  explicit EarlyStopping(const EarlyStoppingOptions& options, Where where = Where::here());
  EarlyStopping(const EarlyStopping& other) = default;  // and no move: it would leave an empty one
  EarlyStopping& operator=(const EarlyStopping& other) = default;

  /// Takes the value of the next epoch, the first of which is 0, and returns whether to stop. An
  /// epoch is an improvement if its value is better than the best by more than min_delta; NaN never
  /// is. Stops at an epoch other than 0 without improvement when at least `patience` epochs in a
  /// row were none, of which it is one. Copies the variables of restore_best_weights at each
  /// improvement, and has restored them when it returns true.
  bool should_stop(double value, Where where = Where::here());
  /// Sets the variables of restore_best_weights to their values of the best epoch; nothing before
  /// the first. For a training that was not stopped.
  void restore(Where where = Where::here()) const;

  /// The best value; infinity, or -infinity for "max", before the first.
  double best() const;
  /// The epoch of the best value, the first monitored one if none was better than NaN; nullopt
  /// before it.
  std::optional<std::int64_t> best_epoch() const;

  /// The best epoch's values of restore_best_weights, named "<name>/<name of the weight>".
  const std::vector<Variable>& variables() const&;
  std::vector<Variable> variables() const&& { return variables(); }
  /// The other state: "<name>.best", ".epoch", ".wait" and ".best_epoch". REQUIRES: *this
  /// or a copy outlives the checkpoint's calls.
  std::vector<CheckpointNumber> numbers() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace kiln
