// Tables of at most kTableBytes.
#include "backends/codegen/grid/batch.h"

#include "backends/codegen/grid/grid_schedule.h"

#include <algorithm>

namespace kiln::codegen {

std::int64_t row_words(const Kernel& kernel) {
  return static_cast<std::int64_t>(kernel.operands.size() + kernel.sizes.size()) + 2;
}

int rows_of_table(const Kernel& kernel, const GridSchedule& schedule, std::int64_t equal) {
  const auto may_record = [](const Access& access) { return bool(access.dynamic); };
  if (schedule.split_k || std::ranges::any_of(kernel.accesses, may_record)) return 1;
  const std::int64_t rows = kTableBytes / (row_words(kernel) * std::int64_t{sizeof(std::int64_t)});
  return static_cast<int>(std::clamp<std::int64_t>(equal, 1, std::max<std::int64_t>(rows, 1)));
}

}  // namespace kiln::codegen
