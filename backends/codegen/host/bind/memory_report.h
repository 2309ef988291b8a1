// Memory plans for people: which tensor lies where, from which step to which, and for what line of
// the user's. Read by dumps, and by the error of an arena that there is no memory for.
#pragma once

#include "backends/codegen/host/bind/bound_plan.h"

namespace kiln::codegen {

/// Before any call: sizes are symbolic, so that there are lifetimes but no offsets yet.
std::string print_memory(const Program& program);
/// For the sizes that it is bound to.
std::string print_memory(const Program& program, const BoundPlan& bound);
/// What ran each product of a bound plan: the library's choice for these sizes.
std::string print_products(const BoundPlan& bound);

/// "; the largest: 4096 bytes of float32[32,32] (dot at model.cpp:12), ..."; empty when there are
/// none. Bodies of loops and branches are looked into.
std::string largest_tensors(const BoundPlan& bound);

}  // namespace kiln::codegen
