// One call of a program: takes a snapshot of the variables, executes, and publishes the updates.
// If it throws, no variable has changed.
#pragma once

#include "runtime/function/callable_program.h"
#include "runtime/variable/moment.h"

#include <kiln/array.h>

namespace kiln::runtime {

/// Runs the program on the caller's memory and writes the results to the caller's memory. Without a
/// heap allocation when the backend prepares calls and the sizes are those of the call before.
/// Given a moment, which has all its variables, the variables are those of then.
void call_into(const CallableProgram& callable, std::span<const ArrayView> inputs,
               std::span<const MutableArrayView> outputs, const Moment* moment = nullptr);

/// The same, giving arrays.
std::vector<Array> call(const CallableProgram& callable, std::span<const ArrayView> inputs,
                        const Moment* moment = nullptr);

}  // namespace kiln::runtime
