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
  List<ExecutionList> bodies;  // of a loop: one for each group of rows; of a branch: both
};

/// A part of a kernel: indices [begin, end) along axis 0.
struct RegionPart {
  std::size_t instruction = 0;
  std::int64_t begin = 0, end = 0;
};

/// Mutable state of a run: one run at a time.
struct ExecutionList {
  /// `memory` outlives the list. The arena and the packed operands have no addresses yet.
  ExecutionList(const BoundPlan& bound, std::pmr::memory_resource* memory);

  /// The bytes that a list of the plan allocates, about.
  static std::int64_t bytes_of(const BoundPlan& bound);

  /// Sets all addresses in the arena, of bodies too. REQUIRES: `arena.bytes` of the plan, which
  /// outlive the run. O(1) if that is the arena already.
  void move_to(std::byte* memory);

  /// Sets the address of the slot for all instructions. O(uses of the slot by kernels).
  void set_address(SlotId slot, std::byte* address) {
    const auto s = static_cast<std::size_t>(slot.number);
    addresses[s] = address;
    std::byte** const table = addresses.data() + slots;
    for (std::uint32_t i = first_use[s]; i < first_use[s + 1]; ++i) table[uses[i]] = address;
  }
  std::byte* slot(SlotId id) const { return addresses[static_cast<std::size_t>(id.number)]; }

  const BoundPlan* plan = nullptr;
  std::byte* arena = nullptr;
  std::byte** packed = nullptr;  // the address of each of BoundPlan::packings of the first group
  /// The address of each slot, then the buffer table of each kernel (KernelArguments::buffers
  /// points into it). Never resized.
  List<std::byte*> addresses;
  std::size_t slots = 0;  // number of slots
  const std::uint32_t *uses = nullptr, *first_use = nullptr;  // PlanFacts::kernel_uses
  List<Instruction> instructions;  // groups of cached steps first, in order
  List<std::size_t> group_ends;  // of each group of cached steps, in `instructions`
  std::size_t cached_end = 0;  // instructions before it are cached steps
  /// The parts of the parallel region, instructions [region_begin, region_end), in any order; empty
  /// where the region is too little work for several threads.
  List<RegionPart> region;
  std::size_t region_begin = 0, region_end = 0;
  /// Of each instruction, then of the region as a whole; empty until a run is timed.
  std::vector<StepTime> times;
  std::vector<StepCost> costs;  // likewise
  SlotList<std::uint64_t> versions;  // of slots: equal versions, equal contents; 0: unknown
  std::int64_t step_number = 0;  // t of the loop whose body this is
  List<std::byte*> own_packed;  // `packed` points to it; unused in groups after the first

 private:
  void add_instruction(std::size_t s);
  void place_packings(const BoundLoop& loop, ExecutionList& body) const;
};

/// The address of tensors without elements: valid and aligned, never accessed.
std::byte* empty_tensor();

}  // namespace kiln::codegen
