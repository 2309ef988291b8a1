// Stand-ins for what the step function of a masked rnn gets in the rows of masked samples. The
// cotangents of masked rows are 0, but 0 times an infinite slope is NaN, which sums over samples
// would spread. So a masked row computes the same step as some unmasked row: its slopes are finite
// wherever those of the unmasked steps are.
#pragma once

#include "core/k/sequence/step_operands.h"
#include "core/ops/lambda_builder.h"

namespace kiln {

/// The stand-in step of a sample is its own first unmasked step in the order of iteration: the loop
/// takes it with that input and the initial states. If all steps of a sample are masked, it is the
/// first unmasked step of another one, with that sample's rows of constants and captured tensors.
/// If all steps of all samples are masked, each step keeps its own operands (integers: 0), and no
/// cotangent leaves the loop.
class MaskedSteps {
 public:
  /// `mask`: bool, (time, samples).
  MaskedSteps(const ir::Value& mask, bool go_backwards);

  /// Inputs (time, samples, ..), replaced where they are masked.
  ir::Value inputs(const ir::Value& x) const;
  /// The stand-ins of an initial state (samples, ..) in masked rows.
  ir::Value state(const ir::Value& initial) const;
  /// Replacements of the outside values of a step, and of each of `arguments` by itself.
  ir::Replacements outside(const StepOperands& operands,
                           std::span<const ir::Value> arguments) const;

 private:
  /// Row b becomes row sample_[b].
  ir::Value chosen_rows(const ir::Value& x) const;

  ir::Value mask_;  // (time, samples)
  ir::Value row_;  // (samples): time * samples + sample of each stand-in
  ir::Value sample_;  // (samples): the sample of each stand-in
  ir::Value has_own_;  // bool (samples): whether the sample has an unmasked step
  ir::Value exists_;  // bool: whether any sample has one
};

}  // namespace kiln
