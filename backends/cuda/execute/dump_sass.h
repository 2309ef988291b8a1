// The dump stage `sass`: machine code as text.
#pragma once

#include "backends/codegen/dumps.h"
#include "backends/cuda/api/open_compiler.h"

#include <string>

namespace kiln::cuda {

/// Hands over the disassembly of `cubin`, which may be empty, by nvdisasm or cuobjdump. Where that
/// cannot be had, hands over nothing and logs the reason: a missing program once a process.
void dump_sass(const std::string& cubin, const api::Compiler& compiler, const codegen::Dumps& dumps,
               const sdk::Host& host);

}  // namespace kiln::cuda
