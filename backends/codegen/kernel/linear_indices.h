// Affine forms of the linear element indices that random numbers are drawn from: a coefficient per
// axis and a constant. Collapsing axes then merges coefficients as it merges strides; an index
// expression over single axes would forbid the merge.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <optional>

namespace kiln::codegen {

/// Before (axes [8][16]):  random(position, i0 * 16 + i1)
/// After collapsing:       random(position, i0)          (axes [128])
class LinearIndices {
 public:
  explicit LinearIndices(const Kernel& kernel);

  /// Whether the index along the axis is used by anything except linear indices of draws.
  bool is_indexed(int axis) const { return indexed_[static_cast<std::size_t>(axis)]; }
  /// Whether every form has coefficients c[first] == c[first + 1] * size, `size` being the extent
  /// of axis `first + 1`.
  bool can_merge(int first, const ir::Dim& size) const;
  /// Drops the coefficient of axis `first`. REQUIRES: can_merge.
  void merge(int first);
  /// Replaces the index expressions of draws by ones over the kernel's present axes.
  void write_to(Kernel& kernel) const;

 private:
  /// constant + the sum of each axis index times its coefficient.
  struct AffineForm {
    std::vector<ir::Dim> coefficients;
    ir::Dim constant = 0;
  };

  void find_forms(const Kernel& kernel);
  std::optional<AffineForm> form_of(const Kernel& kernel, const Expression& e) const;
  ExpressionFlags needed(const Kernel& kernel) const;

  bool draws_ = false;
  IdVector<ExpressionId, std::optional<AffineForm>> forms_;  // of the indices of draws
  std::vector<bool> indexed_;  // of each axis
};

}  // namespace kiln::codegen
