// CUDA text of kernels with points and serial schedules, compiled for the host and run thread after
// thread. It shares the text of stages with loop_text; the interpreter, with which both are
// compared, shares neither.
#pragma once

#include "backends/codegen/text/grid_text.h"
#include "tests/codegen/make_kernel.h"

namespace kiln::test {

/// A device so small that few points already make several blocks, and threads take several points.
constexpr codegen::GridDescription kSmallDevice{
    .max_threads = 4, .max_blocks = 2, .multiprocessors = 2, .resident_threads = 4};

enum class ThreadOrder : std::uint8_t { Ascending, Descending };

/// As the text leaves the operands, all kernels compiled at once. REQUIRES: calls are for all of
/// axis 0.
std::vector<KernelOutcome> run_as_grid(const std::vector<codegen::Kernel>& kernels,
                                       const std::vector<KernelCall>& calls, ThreadOrder order);

/// Whether the call is for all of axis 0.
bool is_whole(const codegen::Kernel& kernel, const KernelCall& call);

}  // namespace kiln::test
