// Bound plans as text, for dumps.
#pragma once

#include "backends/codegen/host/bind/bound_plan.h"

namespace kiln::codegen {

/// The memory plan, with the bytes of packed operands and the cached steps.
std::string print_memory(const Program& program, const BoundPlan& bound);
/// The implementation of each library call at these sizes.
std::string print_library_calls(const BoundPlan& bound);

}  // namespace kiln::codegen
