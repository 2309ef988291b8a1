// Loops of lowered programs that are one kernel, against a launch per step.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"
#include "backends/codegen/plan/plan.h"

namespace kiln::testing {

/// The loops of the program that are one kernel on the device. Checks that they follow the rules,
/// are read back from what they print, and leave the same bytes as launches of their steps one
/// after the other, in every order of threads: by the interpreter and, with `as_text`, by their
/// CUDA text, compiled for the host. Those whose sizes are not static are counted, and not run.
int check_row_loops(const codegen::Program& program, const codegen::GridDescription& device,
                    bool as_text);

}  // namespace kiln::testing
