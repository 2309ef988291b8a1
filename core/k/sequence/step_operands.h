// Classifies the outside values that a step function of rnn uses (constants and captured tensors)
// by what they have to do with samples: a row per sample, or shared by all.
//
//   step:    h = tanh(dot(x_t, w) + c) * s      x_t, s: arguments (samples, ..)
//   rows:    c, where c is (samples, ..)        shared: w
#pragma once

#include "core/ops/make.h"

#include <span>
#include <vector>

namespace kiln {

struct StepOperands {
  /// Row b along axis 0 affects row b of each result of the step, and nothing else of it.
  std::vector<ir::Value> rows;
  /// The others, and those for which this is not found out: used in a nested loop, for example.
  std::vector<ir::Value> shared;
};

/// The outside values that `results` (samples, ..) depend on, in the order of the graph.
/// `arguments` are those of the step function; `trace` recorded the nodes that it made. Linear in
/// the nodes of the step.
StepOperands operands_of_step(std::span<const ir::Value> results,
                              std::span<const ir::Value> arguments, const ir::Trace& trace);

}  // namespace kiln
