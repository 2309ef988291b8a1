// Contiguous accesses along one axis make loads coalesced; fewer axes mean fewer index divisions.
#include "backends/codegen/grid/shape_kernel.h"

#include "backends/codegen/kernel/collapse_axes.h"
#include "backends/codegen/kernel/order_axes.h"

namespace kiln::codegen {

void shape_for_grid(Kernel& kernel) {
  order_outer_axes(kernel);
  kernel.vector_axis = nearest_axis(kernel);
  collapse_axes(kernel);
}

TargetDescription target_of(const GridDescription& device) {
  TargetDescription target;
  target.compute_units = device.multiprocessors;
  target.lanes = device.resident_threads;
  target.divides_reductions = true;
  target.batches_launches = true;
  target.loop_bytes = device.shared_bytes;
  return target;
}

}  // namespace kiln::codegen
