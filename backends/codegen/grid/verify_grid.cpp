// The rules of a grid schedule, from the accesses of the kernel alone.
#include "backends/codegen/grid/grid_schedule.h"

#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>

namespace kiln::codegen {
namespace {

class Verifier {
 public:
  Verifier(const Kernel& kernel, const GridSchedule& schedule, const GridDescription& device)
      : kernel_(kernel), schedule_(schedule), device_(device) {}

  void run() const {
    const int axes = static_cast<int>(kernel_.axes.size());
    require(schedule_.threads > 0 && schedule_.threads <= device_.max_threads,
            "its blocks do not fit the device");
    require(schedule_.parallel_axes >= 0 && schedule_.parallel_axes <= kernel_.outer,
            "threads share an outer point");
    require(schedule_.form == GridForm::Serial || schedule_.parallel_axes == axes,
            "points have axes inside");
    for (const Stage& stage : kernel_.stages) {
      for (const Store& store : stage.stores) {
        if (store.accumulate)
          check_addition(kernel_.accesses[static_cast<std::size_t>(store.access)]);
      }
    }
  }

 private:
  /// Points of different indices of axis 0 meet where the access has stride 0 there and no dynamic
  /// index; points of one index of axis 0 may always meet.
  void check_addition(const Access& access) const {
    require(schedule_.parallel_axes <= 1, "threads add to one element");
    if (schedule_.parallel_axes == 0) return;
    const bool meets = access.dynamic < 0 && access.strides[0] == ir::Dim(0);
    require(!meets, "threads add to one element");
  }

  void require(bool holds, const char* what) const {
    if (holds) return;
    throw InternalError("compile", "",
                        text("the grid schedule of kernel ", kernel_.name, ": ", what));
  }

  const Kernel& kernel_;
  const GridSchedule& schedule_;
  const GridDescription& device_;
};

}  // namespace

void verify(const Kernel& kernel, const GridSchedule& schedule, const GridDescription& device) {
  Verifier(kernel, schedule, device).run();
}

}  // namespace kiln::codegen
