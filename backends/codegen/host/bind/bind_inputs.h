// The inputs of binding besides the plan.
#pragma once

#include "backends/codegen/host/bind/bound_plan.h"
#include "backends/codegen/host/bind/host_description.h"

namespace kiln::codegen {

/// The rows [begin, end) of a row-independent loop that one thread
/// computes; `scales` as in IndependentRows.
struct RowGroup {
  std::int64_t begin = 0, end = 0;
  const std::vector<std::int64_t>* scales = nullptr;
};

/// The context in which a plan runs.
struct PlanUse {
  bool is_program = false;  // not a body
  int consts = -1;  // of a loop's body: the number of loop-invariant arguments after t
  const RowGroup* group = nullptr;
  /// The bound plan of the first group, for the others: it packs the operands of all groups. A
  /// library may pack for one group and not for another with more rows.
  BoundPlan* first = nullptr;
};

/// Inputs for a plan and its bodies. REQUIRES: the program, its facts and the library outlive the
/// bound plan, and so does `memory.plan`; the others need not.
struct BindInputs {
  const Program& program;
  const ProgramFacts& facts;
  const KernelFunctions& functions;
  const EvaluateDim& evaluate;
  WeightForms& forms;
  HostLibrary* library = nullptr;  // of the plan's library steps
  HostDescription host = {};
  /// The program bound to other sizes, most of whose weights have the same forms; or null.
  const BoundPlan* previous = nullptr;
  BindMemory memory = {};

  const BuiltKernels& kernels() const { return program.kernels; }
};

}  // namespace kiln::codegen
