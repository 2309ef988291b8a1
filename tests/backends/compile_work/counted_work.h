// Counts the allocations of a thread.
#pragma once

#include <cstdint>

namespace compile_work_test {

struct Work {
  std::int64_t allocations = 0, bytes = 0;
};

/// Of the calling thread since it started.
Work work_so_far();

}  // namespace compile_work_test
