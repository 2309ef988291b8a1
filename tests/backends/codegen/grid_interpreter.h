// Runs launches of kernels on a grid of threads, thread after thread, by the interpreter of
// kernels: the meaning of grid_text without its text.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"
#include "backends/codegen/text/grid_text.h"
#include "tests/backends/codegen/thread_order.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace kiln::test {

/// The arguments of a launch.
struct GridCall {
  std::byte* const* buffers = nullptr;    // one per operand
  const std::int64_t* sizes = nullptr;    // one per Kernel::sizes
  std::int64_t points = 0, blocks = 0;    // of GridLaunch
  std::int64_t begin = 0;                 // of the points, for a kernel in a loop
  std::int64_t part_points = 0;           // of GridLaunch, for schedules with `split_k`
  std::byte* partials = nullptr;          // the memory of partial results
  std::uint32_t* arrivals = nullptr;      // the counters of blocks
  std::int32_t step = 0;
  codegen::CallBlock* call = nullptr;  // seed, counter, first index out of range
  ThreadOrder order = ThreadOrder::Ascending;
};

/// The memory of a launch whose blocks exchange partial results, filled with bytes on which no
/// result may depend.
struct PartialMemory {
  explicit PartialMemory(const codegen::GridLaunch& launch)
      : partials(static_cast<std::size_t>(launch.partial_bytes), std::byte{0xff}),
        arrivals(static_cast<std::size_t>(launch.arrivals)) {}
  bool is_left_as_found() const {
    return std::count(arrivals.begin(), arrivals.end(), 0u) ==
           static_cast<std::int64_t>(arrivals.size());
  }

  std::vector<std::byte> partials;
  std::vector<std::uint32_t> arrivals;
};

/// A kernel that is prepared for many launches.
class GridKernel {
 public:
  /// Throws InternalError where the kernel breaks a rule. REQUIRES: the schedule passes verify()
  /// for the kernel as it was built. One that was read from its text has symbols of its own for
  /// sizes, which need not satisfy the rules of schedules.
  GridKernel(const codegen::Kernel& kernel, const codegen::GridSchedule& schedule);
  ~GridKernel();
  GridKernel(GridKernel&&) noexcept;
  GridKernel& operator=(GridKernel&&) noexcept;

  const codegen::Kernel& kernel() const;
  const codegen::GridSchedule& schedule() const;

  /// Runs the threads or teams of the grid in their order; writes nothing when an earlier step
  /// has recorded an index out of range. Several host threads may call run() at a time. REQUIRES:
  /// each has a CallBlock of its own.
  void run(const GridCall& call) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace kiln::test
