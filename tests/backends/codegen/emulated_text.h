// Writes the CUDA text of kernels as C++ for the host, which reports every access to memory.
#pragma once

#include "backends/codegen/text/grid_text.h"
#include "tests/backends/codegen/emulated_functions.h"

namespace kiln::test {

/// The functions and variables of the text:
///   run_<kernel>     an EmulatedThread: runs the thread that blockIdx and threadIdx name
///   first_block_<kernel>  blockIdx of the launch's first block; gridDim has twice as many more
///   poison_<kernel>  fills the kernel's shared memory with NaNs
///   memory_<loop>    an EmulatedMemory: the shared memory of a loop, which it accesses by pointers
///   gridDim, ...     the built-in variables of CUDA
///   emulation        EmulatedFunctions, for the emulation to set before threads run
/// A loop has the pointers among its parameters as operands, the numbers as sizes, rows as points
/// and iterations as part_points.
std::string emulated_text(std::span<const codegen::ScheduledKernel> kernels,
                          std::span<const codegen::RowLoop> loops = {});

/// The same of a text whose functions are not kernels. Without `finds_races`, reports accesses to
/// operands alone.
std::string emulated_text(const std::string& whole, std::span<const TextFunction> functions,
                          bool finds_races);

using EmulatedThread = void (*)(std::byte* const* operands, const std::int64_t* sizes,
                                std::int64_t points, std::int64_t part_points, std::byte* partials,
                                std::uint32_t* arrivals, std::int32_t step,
                                codegen::CallBlock* call);

/// The first byte; sets the number of bytes.
using EmulatedMemory = const std::byte* (*)(std::int64_t* bytes);

struct EmulatedFunctions {
  void (*wait_for_block)();
  void (*wait_for_warp)();
  std::uint64_t (*exchange)(std::uint64_t value, int distance);
  std::uint32_t (*ballot)(bool truth);
  /// Called before each access to an operand. False: the access must be skipped.
  bool (*note_global)(const void* address, std::int64_t bytes, bool is_store);
  void (*note_shared)(const void* address, std::int64_t bytes, bool is_store);
  void (*note_atomic)(const void* address);
};

}  // namespace kiln::test
