// One call of a program: reads a snapshot of the variables, executes, and publishes the updates.
// A call that throws changes no variable.
#pragma once

#include "runtime/function/callable_program.h"
#include "runtime/variable/variable_snapshot.h"

#include <kiln/array.h>

namespace kiln::runtime {

/// Runs the program on the caller's memory and writes the results there; where outputs overlap, the
/// last one wins. Allocates nothing if the backend has frames, the sizes equal those of the call
/// before, and the memory can_run_in_place(). `snapshot`: has all variables of the program, which
/// are read from it; null: takes a snapshot of its own. Thread-safe. Throws ValueError, TypeError,
/// OutOfMemory, BackendError and what a host function throws.
void call_into(const CallableProgram& callable, std::span<const ArrayView> inputs,
               std::span<const MutableArrayView> outputs,
               const VariableSnapshot* snapshot = nullptr);

/// As call_into, but returns the results as Arrays.
std::vector<Array> call(const CallableProgram& callable, std::span<const ArrayView> inputs,
                        const VariableSnapshot* snapshot = nullptr);
/// As above. REQUIRES: `inputs` have the dtypes of the program's inputs, none of which is bool.
std::vector<Array> call(const CallableProgram& callable, std::span<const Array> inputs);

}  // namespace kiln::runtime
