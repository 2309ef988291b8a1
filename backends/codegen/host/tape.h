// The bound plan flattened to instructions with resolved pointers. A run is one pass over the list;
// a loop repeats its body's pass and advances a few pointers.
#pragma once

#include "backends/codegen/host/bind/bound_plan.h"
#include "backends/codegen/plan/step_times.h"

namespace kiln::codegen {

struct Tape;

struct Instruction {
  const Step* step = nullptr;
  const BoundStep* bound = nullptr;
  KernelArguments arguments;  // kernels: all but the call's numbers; see Tape::cells
  std::vector<Tape> bodies;   // of a loop: one for each group of rows; of a branch: both
  /// Loops: the versions of the slots that the packed operands came from; 0: pack anew.
  std::vector<std::uint64_t> packed_versions;
};

/// Indices [begin, end) of axis 0 of a kernel.
struct RegionPart {
  std::size_t instruction = 0;
  std::int64_t begin = 0, end = 0;
};

/// One run at a time.
struct Tape {
  /// The memory outlives the tape: `arena.bytes` and `packed_bytes` of the plan.
  Tape(const BoundPlan& bound, std::byte* arena, std::byte* packed);

  /// From now on the slot lies there, for every instruction.
  void place(int slot, std::byte* where) {
    const auto s = static_cast<std::size_t>(slot);
    cells[s] = where;
    for (std::uint32_t i = first_use[s]; i < first_use[s + 1]; ++i) cells[uses[i]] = where;
  }
  std::byte* slot(int number) const { return cells[static_cast<std::size_t>(number)]; }

  const BoundPlan* plan = nullptr;
  std::byte* arena = nullptr;
  std::byte* packed = nullptr;  // packed operands and kept tensors, of this plan and its bodies
  /// A cell for each slot, then the table of buffers of each kernel. Never resized.
  std::vector<std::byte*> cells;
  std::vector<std::uint32_t> uses, first_use;  // the further cells of each slot
  std::vector<Instruction> instructions;
  std::size_t kept_end = 0;  // instructions before it are kept steps, see BoundPlan
  /// The plan's region, when it is worth several threads: parts that may run in any order, of the
  /// instructions from region_begin on and before region_end.
  std::vector<RegionPart> region;
  std::size_t region_begin = 0, region_end = 0;
  /// Of instructions, then of the region as a whole; empty until a run is timed.
  std::vector<StepTime> times;
  std::vector<std::uint64_t> versions;  // of slots, as the host counts them; 0: not known
  std::int64_t step_number = 0;         // t of the loop whose body this is
};

/// Where tensors without elements point to.
std::byte* nowhere();

}  // namespace kiln::codegen
