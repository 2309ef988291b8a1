// StackingBudget: limits the memory that a pass spends on stacking values of a loop over its steps.
// In the loop such a value needs memory for one step only.
#pragma once

#include "core/passes/scan_parts.h"

namespace kiln::passes {

/// The bytes of a value of that type, with 64 for each symbolic dim.
double nominal_bytes(const ir::Type& type);

/// The bytes per step that may be stacked in addition to the loop's inputs and outputs: four times
/// the bytes of these or, if that is more and the number of steps is static, 16 MiB over all
/// steps.
class StackingBudget {
 public:
  explicit StackingBudget(const ScanParts& parts);

  /// Spends `bytes` per step; returns false and spends nothing if the budget does not have them.
  /// `traffic`: bytes that each step no longer reads or writes; a sixteenth of them is free.
  bool take(double bytes, double traffic);

 private:
  double left_ = 0;
};

}  // namespace kiln::passes
