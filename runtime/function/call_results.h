// The Arrays that a call returns.
#pragma once

#include "runtime/function/prepared_call.h"

#include <kiln/array.h>

#include <vector>

namespace kiln::runtime {

/// Allocates Arrays of unspecified content for the results and binds them as outputs of `prepared`.
/// REQUIRES: prepared.is_direct(), and its inputs are bound. Throws OutOfMemory.
std::vector<Array> bind_results(const CompiledProgram& program, PreparedCall& prepared);

/// Copies output `i` to an Array. Throws OutOfMemory, BackendError.
Array to_result(const CompiledProgram& program, std::size_t i, const Buffer& buffer);

}  // namespace kiln::runtime
