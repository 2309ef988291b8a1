// How much memory a pass may spend on stacking values of a loop, in bytes a step. A loop needs
// memory for one step; stacked over its steps, a value needs as many times that.
#pragma once

#include "core/passes/scan_parts.h"

namespace kiln::passes {

/// Bytes of one step. A dim that is not static counts as 64.
double nominal_bytes(const ir::Type& type);

/// Bytes a step that may be stacked besides the loop's inputs and outputs: four times as many as
/// these have, or 16 MiB over all steps of a known number, whichever is more.
class StackingBudget {
 public:
  explicit StackingBudget(const ScanParts& parts);

  /// Takes `bytes` a step out of the budget; false, and nothing is taken, where it has less.
  /// `traffic` are the bytes that each step need not read or write any more: stacking a sixteenth
  /// of them is free.
  bool take(double bytes, double traffic);

 private:
  double left_ = 0;
};

}  // namespace kiln::passes
