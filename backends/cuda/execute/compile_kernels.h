// Schedules the kernels of a program and compiles them by NVRTC to a cubin; needs no device.
#pragma once

#include "backends/codegen/dumps.h"
#include "backends/codegen/text/grid_text.h"
#include "backends/cuda/api/open_compiler.h"

#include <string>
#include <vector>

namespace kiln::cuda {

/// The device that kernels are scheduled and compiled for.
struct CodeTarget {
  codegen::GridDescription grid = {};
  int architecture = 90;  // 90: sm_90
};

struct CompiledKernels {
  IdVector<codegen::KernelId, codegen::GridSchedule> schedules;
  /// Names; kernels that differ in names alone share one.
  IdVector<codegen::KernelId, std::string> functions;
  std::string cubin;                   // an ELF file of the device; empty: no kernels
};

/// Schedules all kernels, and compiles those that differ as one text. Hands the stages `schedule`,
/// `cuda_c` and `ptx` over to `dumps`; `label` names the text in errors. Throws sdk::Failure.
CompiledKernels compile_kernels(const codegen::BuiltKernels& kernels, const CodeTarget& target,
                                const api::Compiler& compiler, const codegen::Dumps& dumps,
                                const std::string& label);

/// The architecture to compile for: that of the device, else the highest one below it with the same
/// major number, whose code is binary compatible. Throws sdk::Failure UNIMPLEMENTED.
int code_architecture(const api::Compiler& compiler, int compute_capability);

}  // namespace kiln::cuda
