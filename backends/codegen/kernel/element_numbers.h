// A random number depends on the number of its element, which build_kernel makes out of the indices
// of all axes. Seen as steps for each axis, as an access has strides, it does not keep axes from
// becoming one: a draw for 3 columns is as quick as one for 3000.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <optional>

namespace kiln::codegen {

class ElementNumbers {
 public:
  explicit ElementNumbers(const Kernel& kernel);

  /// Whether anything but the number of an element is made from the index along the axis.
  bool is_indexed(int axis) const { return indexed_[static_cast<std::size_t>(axis)]; }
  /// Whether all numbers run through axes `first` and `first + 1`, the latter of `size`, as
  /// through one.
  bool can_merge(int first, const ir::Dim& size) const;
  void merge(int first);
  /// Makes the expressions of the numbers anew, from the axes that the kernel has now.
  void write_to(Kernel& kernel) const;

 private:
  /// rest + the sum of each index times its step.
  struct Sum {
    std::vector<ir::Dim> steps;
    ir::Dim rest = 0;
  };

  void find_sums(const Kernel& kernel);
  std::optional<Sum> sum_of(const Kernel& kernel, const Expression& e) const;
  std::vector<bool> needed(const Kernel& kernel) const;

  bool draws_ = false;
  std::vector<std::optional<Sum>> sums_;  // of each expression that is the number of an element
  std::vector<bool> indexed_;             // of each axis
};

}  // namespace kiln::codegen
