// Schedules the kernels of a program and compiles them by NVRTC to a cubin; needs no device.
#pragma once

#include "backends/codegen/dumps.h"
#include "backends/codegen/plan/schedule_row_loop.h"
#include "backends/codegen/text/grid_text.h"
#include "backends/cuda/api/open_compiler.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace kiln::cuda {

/// The device that kernels are scheduled and compiled for.
struct CodeTarget {
  codegen::GridDescription grid = {};
  int architecture = 90;  // 90: sm_90
};

struct CompiledKernel {
  codegen::GridSchedule schedule;
  /// A name; kernels that differ in names alone share one. Empty: loops alone have the kernel.
  std::string function;
  /// The function takes the extent of the kernel's axis as its only size
  /// (codegen/kernel/variable_extent.h).
  bool has_variable_extent = false;
};

/// Functions that were compiled together.
struct CompiledPart {
  std::string cubin;  // an ELF file of the device
  std::vector<std::string> functions;  // their names
};

/// The line before a part in dumps, with its number and functions; empty: there is one part.
std::string title_of_part(std::size_t part, std::size_t parts,
                          const std::vector<std::string>& functions);

struct CompiledKernels {
  IdVector<codegen::KernelId, CompiledKernel> kernels;
  std::unordered_map<const codegen::Plan*, codegen::ScheduledLoop> loops;  // by body
  std::vector<CompiledPart> parts;
};

/// Schedules all kernels and loops, and compiles those that differ, by the threads of the host.
/// Kernels of the plan's opening and region that differ in the extent of their axis share a
/// function, which takes a table. Hands the stages `schedule`, `cuda_c` and `ptx` over to `dumps`;
/// `label` names the text in errors. The program outlives the result. Throws sdk::Failure.
CompiledKernels compile_kernels(const codegen::Program& program, const CodeTarget& target,
                                const api::Compiler& compiler, const codegen::Dumps& dumps,
                                const std::string& label, const sdk::Host& host);

/// The architecture to compile for: that of the device, else the highest one below it with the same
/// major number, whose code is binary compatible. Throws sdk::Failure UNIMPLEMENTED.
int code_architecture(const api::Compiler& compiler, int compute_capability);

}  // namespace kiln::cuda
