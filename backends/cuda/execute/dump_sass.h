// Disassembles machine code for the dump stage `sass`.
#pragma once

#include "backends/codegen/dumps.h"
#include "backends/cuda/api/open_compiler.h"

#include <string>

namespace kiln::cuda {

/// Disassembles `cubin`, which may be empty, by nvdisasm or cuobjdump and hands over the text, as
/// `name`. Logs a warning instead when that fails: once per process when neither program is found.
void dump_sass(const std::string& cubin, const api::Compiler& compiler, const codegen::Dumps& dumps,
               const sdk::Host& host, const std::string& name = "");

}  // namespace kiln::cuda
