// Kernels of lowered programs as a grid of threads, from their readable form.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"
#include "backends/codegen/kernel/build/built_kernel.h"

#include <vector>

namespace kiln::testing {

/// Checks that the kernel and its schedule for the default GridDescription follow the rules and are
/// read back from what they print.
void check_text_form(const codegen::Kernel& kernel);

/// Checks that the threads of a grid leave the same as the loops but for the rounding of sums, on
/// two devices and in every order, by the readable form. False, and runs nothing, when a size is
/// not static or an axis is empty.
bool check_grid_run(const codegen::BuiltKernel& built);

/// Kernels for blocks or groups of points whose CUDA text is compiled for the host, all at once.
class TextSample {
 public:
  /// Leaves the kernel out when check_grid_run would, or when each thread has points of its own,
  /// one at a time.
  void add(const codegen::BuiltKernel& built);
  /// Checks that the text leaves the same as the interpreter of grids, in every order: the same
  /// bytes unless there are elementary functions. Returns the number of kernels.
  int check() const;

 private:
  static void check(const std::vector<codegen::BuiltKernel>& sample,
                    const codegen::GridDescription& device);

  std::vector<codegen::BuiltKernel> blocks_, groups_;
};

}  // namespace kiln::testing
