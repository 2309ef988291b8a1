// Vectorises the axis along which accesses have the smallest stride, unless its points must run in
// order. Scans combine the lanes of a vector in a tree.
#include "backends/codegen/host/loop_order/order_loops.h"

#include "backends/codegen/claims/target_description.h"
#include "backends/codegen/kernel/collapse_axes.h"
#include "backends/codegen/kernel/order_axes.h"

namespace kiln::codegen {

void order_loops(Kernel& kernel) {
  order_outer_axes(kernel);
  kernel.vector_axis = runs_along_neighbours(kernel) ? static_cast<int>(kernel.axes.size()) - 1
                                                     : nearest_axis(kernel);
  reuse_stored(kernel);
  collapse_axes(kernel);
  // find_independent_rows lowers it where groups of rows need that.
  if (kernel.vector_axis == 0 && kernel.outer > 0) kernel.part_multiple = TargetDescription{}.lanes;
}

}  // namespace kiln::codegen
