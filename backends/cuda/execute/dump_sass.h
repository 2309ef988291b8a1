// Disassembles machine code for the dump stage `sass`.
#pragma once

#include "backends/cuda/execute/compile_kernels.h"

#include <string>

namespace kiln::cuda {

/// Disassembles all cubins by nvdisasm or cuobjdump and hands over the text, as `name`. Logs a
/// warning instead when that fails: once per process when neither program is found.
void dump_sass(const std::vector<CompiledPart>& parts, const api::Compiler& compiler,
               const codegen::Dumps& dumps, const sdk::Host& host, const std::string& name = "");

}  // namespace kiln::cuda
