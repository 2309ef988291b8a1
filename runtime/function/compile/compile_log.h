// Tells what was compiled, how long it took and why: the line of KILN_LOG=info, and the arguments
// of the event in a trace.
#pragma once

#include "runtime/function/compile/compiled_program.h"
#include "runtime/host/trace.h"

namespace kiln::runtime {

/// REQUIRES: `program` has its executable and all times.
void log_compilation(const CompiledProgram& program, TraceSpan& span);

}  // namespace kiln::runtime
