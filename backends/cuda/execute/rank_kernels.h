// Kernels of collectives: the tree over ranks, and the order of blocks in a tensor.
#pragma once

#include "backends/cuda/execute/graph_kernel.h"
#include "core/ir/attrs.h"

#include <map>
#include <mutex>
#include <tuple>

namespace kiln::cuda {

/// A kernel with its sizes; `kernel` gives the order of its operands.
struct BoundGraphKernel {
  const GraphKernel* kernel = nullptr;
  BoundKernel bound = {};
};

/// The kernels of a device, which programs share. The first use of each compiles it, and blocks
/// other threads meanwhile. Thread-safe. Its functions throw sdk::Failure and REQUIRE a
/// ScopedContext of the thread, which captures no stream; the object outlives their results.
class RankKernels {
 public:
  explicit RankKernels(KernelCompiler compiler) : compiler_(std::move(compiler)) {}

  /// A parameter of a kernel is an address, and all of them have at most 4 KiB.
  static constexpr std::int64_t kMaxRanks = 256;

  /// Combines `count` elements of each rank in the order of the tree over ranks, with the bits of
  /// reduce_ranks() (runtime/distributed/rank_tree.h): T(0, n), where T(a, a + 1) is the argument a
  /// and T(a, b) combines T(a, a + m) with the rest, m the largest power of two below b - a. Sums
  /// of halves are in float32 and rounded once. REQUIRES: ranks <= kMaxRanks.
  BoundGraphKernel reduce(DType dtype, ir::CollectiveReduction reduction, std::int64_t ranks,
                          std::int64_t count) const;
  /// From [a, b, c] to [b, a, c], of elements with that many bytes.
  BoundGraphKernel swap_blocks(std::size_t element_bytes, std::int64_t a, std::int64_t b,
                               std::int64_t c) const;

 private:
  using ReductionKey = std::tuple<DType, ir::CollectiveReduction, std::int64_t>;
  struct SwapKernel {
    ir::Dim dims[3];
    std::unique_ptr<const GraphKernel> kernel;
  };

  KernelCompiler compiler_;
  mutable std::mutex mutex_;
  mutable std::map<ReductionKey, std::unique_ptr<const GraphKernel>> reductions_;
  mutable std::map<std::size_t, SwapKernel> swaps_;
};

}  // namespace kiln::cuda
