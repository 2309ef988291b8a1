// Runs CUDA text of kernels on the host: compiled by the host's compiler, one fibre per thread of a
// block. It shares the text of points with loop_text; the interpreters share neither.
#pragma once

#include "backends/codegen/text/grid_text.h"
#include "tests/backends/codegen/memory_watch.h"
#include "tests/backends/codegen/thread_order.h"

#include <memory>

namespace kiln::test {

/// The arguments of a launch. Those of a loop: see emulated_text().
struct EmulatedLaunch {
  std::byte* const* operands = nullptr;
  const std::int64_t* sizes = nullptr;  // one per Kernel::sizes
  codegen::GridLaunch grid;
  std::byte* partials = nullptr;  // this and the next one: of schedules with `split_k`
  std::uint32_t* arrivals = nullptr;
  std::int32_t step = 0;
  codegen::CallBlock* call = nullptr;
  ThreadOrder order = ThreadOrder::Ascending;
  IsInBounds is_in_bounds;  // of accesses to operands
};

class EmulatedKernels {
 public:
  /// Compiles the kernels. Throws InternalError with the compiler's errors.
  explicit EmulatedKernels(std::span<const codegen::ScheduledKernel> kernels,
                           std::span<const codegen::RowLoop> loops = {});
  /// Opens a library that was compiled from emulated_text(). Throws std::runtime_error.
  explicit EmulatedKernels(const std::string& library);
  /// `library`: compiled from emulated_text(). `finds_races`: else checks bounds alone.
  EmulatedKernels(std::shared_ptr<void> library, bool finds_races) : finds_races_(finds_races) {
    open(std::move(library));
  }

  bool has(const std::string& kernel) const;
  /// Runs the blocks one after the other. Throws std::runtime_error for an access out of bounds, a
  /// data race, and a barrier or an exchange in which not all threads take part. One at a time.
  void run(const std::string& kernel, const EmulatedLaunch& launch) const;

 private:
  void open(std::shared_ptr<void> library);

  std::shared_ptr<void> library_;
  bool finds_races_ = true;
};

}  // namespace kiln::test
