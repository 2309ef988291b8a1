// Runs CUDA text of kernels, compiled for the host, by fibres. It shares the text of points with
// loop_text; the interpreters, with which both are compared, share neither.
#pragma once

#include "tests/backends/codegen/grid_interpreter.h"
#include "tests/backends/codegen/make_kernel.h"

namespace kiln::test {

/// A device so small that few points already make several blocks, and threads take several points.
constexpr codegen::GridDescription kSmallDevice{
    .max_threads = 4, .max_blocks = 2, .multiprocessors = 2, .resident_threads = 4};
/// Blocks of two warps.
constexpr codegen::GridDescription kTwoWarps{
    .max_threads = 64, .max_blocks = 2, .multiprocessors = 2, .resident_threads = 64};
/// Blocks of one warp, many of which divide the inner points of a few outer ones.
constexpr codegen::GridDescription kManyBlocks{.max_threads = 32,
                                               .max_blocks = 64,
                                               .multiprocessors = 32,
                                               .resident_threads = 64,
                                               .part_points = 2};
/// The same with blocks of two warps.
constexpr codegen::GridDescription kManyPairs{.max_threads = 64,
                                              .max_blocks = 64,
                                              .multiprocessors = 32,
                                              .resident_threads = 128,
                                              .part_points = 1};

/// The number of a kernel's step in a call, and the index out of range that earlier steps recorded.
/// The seed and the counter of the call are in KernelCall.
struct GridStep {
  std::int32_t step = 0;
  codegen::CallBlock before = {};
  /// Elements between an address that is aligned for all accesses and operand i: shifts[i %
  /// shifts.size()].
  std::vector<std::int64_t> shifts = {0};
  int rows = 1;  // of the table of functions that may take one (grid/batch.h)
};

/// Runs the text of all kernels, compiled at once, and returns the operands. REQUIRES, here and
/// below: calls are for all of axis 0.
std::vector<KernelOutcome> run_as_grid(const std::vector<codegen::Kernel>& kernels,
                                       const std::vector<KernelCall>& calls, ThreadOrder order,
                                       const GridStep& step = {},
                                       const codegen::GridDescription& device = kSmallDevice);

/// Runs the grid interpreter on the kernel and the schedule that the comments of the text show.
/// Checks that these print as the kernel and the schedule that the text was emitted from.
KernelOutcome run_as_parsed_grid(const codegen::Kernel& kernel, const KernelCall& call,
                                 ThreadOrder order, const GridStep& step = {},
                                 const codegen::GridDescription& device = kSmallDevice);

/// Whether the call is for all of axis 0.
bool is_whole(const codegen::Kernel& kernel, const KernelCall& call);

}  // namespace kiln::test
