// Text of bound plans, for dumps.
#pragma once

#include "backends/codegen/host/bind/bound_plan.h"

namespace kiln::codegen {

/// The memory plan, with the bytes of packed operands and the kept steps.
std::string print_memory(const Program& program, const BoundPlan& bound);
/// The library's choice for each product at these sizes.
std::string print_products(const BoundPlan& bound);

}  // namespace kiln::codegen
