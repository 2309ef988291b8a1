// The bound plan flattened to instructions with resolved pointers. A run is one pass over the list;
// a loop repeats the pass over its body and advances a few pointers per iteration.
#pragma once

#include "backends/codegen/host/bind/bound_plan.h"
#include "backends/codegen/plan/step_times.h"

namespace kiln::codegen {

struct ExecutionList;

struct Instruction {
  const Step* step = nullptr;
  const BoundStep* bound = nullptr;
  KernelArguments arguments;  // of a kernel, without seed and call counter
  std::vector<ExecutionList> bodies;  // of a loop: one for each group of rows; of a branch: both
  /// Of a loop: the versions of the slots that operands were packed from; 0: pack again.
  std::vector<std::uint64_t> packed_versions;
};

/// A part of a kernel: indices [begin, end) along axis 0.
struct RegionPart {
  std::size_t instruction = 0;
  std::int64_t begin = 0, end = 0;
};

/// Mutable state of a run: one run at a time.
struct ExecutionList {
  /// REQUIRES: the memory, `arena.bytes` and `packed_bytes` of the plan, outlives the list.
  ExecutionList(const BoundPlan& bound, std::byte* arena, std::byte* packed);

  /// Sets the address of the slot for all instructions. O(uses of the slot by kernels).
  void set_address(int slot, std::byte* address) {
    const auto s = static_cast<std::size_t>(slot);
    addresses[s] = address;
    for (std::uint32_t i = first_use[s]; i < first_use[s + 1]; ++i) addresses[uses[i]] = address;
  }
  std::byte* slot(int number) const { return addresses[static_cast<std::size_t>(number)]; }

  const BoundPlan* plan = nullptr;
  std::byte* arena = nullptr;
  std::byte* packed = nullptr;  // packed operands and cached tensors, of this plan and its bodies
  /// The address of each slot, then the buffer table of each kernel (KernelArguments::buffers
  /// points into it). Never resized.
  std::vector<std::byte*> addresses;
  /// Positions in the buffer tables that hold slot s: `uses` from first_use[s] to first_use[s + 1].
  std::vector<std::uint32_t> uses, first_use;
  std::vector<Instruction> instructions;
  std::size_t cached_end = 0;  // instructions before it are cached steps, see BoundPlan
  /// The parts of the parallel region, instructions [region_begin, region_end), in any order; empty
  /// where the region is too little work for several threads.
  std::vector<RegionPart> region;
  std::size_t region_begin = 0, region_end = 0;
  /// Of each instruction, then of the region as a whole; empty until a run is timed.
  std::vector<StepTime> times;
  std::vector<std::uint64_t> versions;  // of slots: equal versions, equal contents; 0: unknown
  std::int64_t step_number = 0;         // t of the loop whose body this is
};

/// The address of tensors without elements: valid and aligned, never accessed.
std::byte* empty_tensor();

}  // namespace kiln::codegen
