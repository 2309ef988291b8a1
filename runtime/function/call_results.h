// The Arrays that a call gives.
#pragma once

#include "runtime/function/call_frame.h"

#include <kiln/array.h>

#include <vector>

namespace kiln::runtime {

/// Arrays for the results, of unspecified content, bound as the frame's outputs. REQUIRES: the
/// frame is direct and its inputs are bound. OutOfMemory.
std::vector<Array> bind_results(const Program& program, CallFrame& frame);

/// Output `i` on the host. OutOfMemory, BackendError.
Array to_result(const Program& program, std::size_t i, const Buffer& buffer);

}  // namespace kiln::runtime
