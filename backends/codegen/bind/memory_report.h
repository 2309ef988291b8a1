// Text of memory plans: offset, lifetime and source line of each tensor, for dumps and for the
// errors of arenas that are too large.
#pragma once

#include "backends/codegen/bind/arena.h"

#include <string>
#include <vector>

namespace kiln::codegen {

/// Before any call: symbolic sizes and lifetimes, no offsets.
std::string print_memory(const Program& program);

/// Text that an executor adds to the report on a bound plan.
struct MemoryNotes {
  std::string totals;  // ends the first line
  std::string lines;   // after the arguments, each with its newline
};
/// For the sizes of a call: the arena's size, the arguments, then a line for each block by offset,
/// bodies indented. `memory`: of the program's plan.
std::string print_memory(const Program& program, const PlanMemory& memory,
                         const MemoryNotes& notes = {});

/// "; the largest: 4096 bytes of float32[32,32] (dot at model.cpp:12), ..."; empty when there are
/// no tensors. Lists at most five: temporaries of the plan and its bodies, arguments and results of
/// the plan. A result that shares the buffer of an argument is listed as both.
std::string largest_tensors(const PlanMemory& memory);

}  // namespace kiln::codegen
