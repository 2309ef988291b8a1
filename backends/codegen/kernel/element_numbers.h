// Linear element indices, from which random numbers are drawn, as affine forms: a step per axis and
// an offset. Axes can then be merged as strides are, without an index expression that forbids it.
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
