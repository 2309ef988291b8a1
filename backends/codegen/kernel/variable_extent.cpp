// Strides, offsets and constants stay: only kernels in which these are equal get one key.
#include "backends/codegen/kernel/variable_extent.h"

#include <algorithm>

namespace kiln::codegen {

std::optional<Kernel> with_variable_extent(const Kernel& kernel) {
  const bool has_one_axis = kernel.axes.size() == 1 && kernel.outer == 1;
  if (!has_one_axis || !kernel.axes[0].is_static() || !kernel.sizes.empty()) return std::nullopt;
  const auto is_checked = [](const Access& access) { return bool(access.dynamic); };
  if (std::ranges::any_of(kernel.accesses, is_checked)) return std::nullopt;
  Kernel variable = kernel;
  variable.axes[0] = ir::Dim::fresh("n");
  add_size(variable, variable.axes[0]);
  return variable;
}

}  // namespace kiln::codegen
