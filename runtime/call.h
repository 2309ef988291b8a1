// One call of a program: takes a snapshot of the variables, executes, and publishes the updates.
#pragma once

#include "runtime/program.h"

namespace kiln::runtime {

/// Runs `program` on inputs that are checked already. Fills the empty buffers of `outputs`.
/// If it throws, no variable has changed.
void run_call(const Program& program, std::span<const Buffer* const> inputs,
              std::span<Buffer> outputs);

}  // namespace kiln::runtime
