// Builds execution lists: lays out the buffer tables, resolves addresses that stay fixed, and
// divides the parallel region into parts.
#include "backends/codegen/host/execution_list.h"

#include "core/types/at.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

bool has_work(const BoundKernel& kernel) { return kernel.range != 0; }
bool has_work(const BoundCopy& copy) { return copy.bytes != 0; }
template <class Other>
bool has_work(const Other&) {
  return true;
}

/// The address of a slot that is fixed for the life of the list; empty_tensor() for the others.
std::byte* fixed_address(const BoundPlan& bound, std::size_t slot, std::byte* arena,
                         std::byte* packed) {
  if (bound.cached_offsets[slot] >= 0) return packed + bound.cached_offsets[slot];
  const Slot& described = bound.plan->slots[slot];
  const auto* constant = std::get_if<ConstantSlot>(&described.kind);
  if (constant && bound.sizes.bytes[slot] != 0) {
    return const_cast<std::byte*>(constant->bytes->data());  // never written
  }
  if (described.is<TemporarySlot>() && bound.arena.offsets[slot] >= 0) {
    return arena + bound.arena.offsets[slot];
  }
  return empty_tensor();
}

/// Lays out the kernels' buffer tables behind the addresses of slots and records the uses of slots.
void lay_out_addresses(ExecutionList& list) {
  const Plan& plan = *list.plan->plan;
  std::vector<std::vector<std::uint32_t>> uses(plan.slots.size());
  std::size_t next = plan.slots.size();
  for (const Step& step : plan.steps) {
    const auto* kernel = std::get_if<KernelStep>(&step);
    if (!kernel) continue;
    for (const int slot : kernel->slots)
      uses[at(slot)].push_back(static_cast<std::uint32_t>(next++));
  }
  list.addresses.resize(next, empty_tensor());
  list.first_use.push_back(0);
  for (const auto& of_slot : uses) {
    list.uses.insert(list.uses.end(), of_slot.begin(), of_slot.end());
    list.first_use.push_back(static_cast<std::uint32_t>(list.uses.size()));
  }
}

/// Divides the region into parts. REQUIRES: the instructions are complete.
void divide_region(ExecutionList& list) {
  if (!list.plan->parallel_region) return;
  const Plan& plan = *list.plan->plan;
  const Step* const steps = plan.steps.data();
  for (std::size_t i = 0; i < list.instructions.size(); ++i) {
    const Instruction& one = list.instructions[i];
    const auto number = static_cast<std::size_t>(one.step - steps);
    if (number < plan.region_begin) list.region_begin = i + 1;
    if (number < plan.region_end) list.region_end = i + 1;
    if (number < plan.region_begin || number >= plan.region_end) continue;
    const auto& kernel = std::get<BoundKernel>(*one.bound);
    for (std::int64_t begin = 0; begin < kernel.range; begin += kernel.grain) {
      list.region.push_back({i, begin, std::min(begin + kernel.grain, kernel.range)});
    }
  }
}

}  // namespace

std::byte* empty_tensor() {
  alignas(kAlignment) static std::byte bytes[kAlignment];
  return bytes;
}

ExecutionList::ExecutionList(const BoundPlan& bound, std::byte* arena_memory,
                             std::byte* packed_memory)
    : plan(&bound), arena(arena_memory), packed(packed_memory) {
  const Plan& described = *bound.plan;
  lay_out_addresses(*this);
  versions.resize(described.slots.size(), 0);
  for (std::size_t i = 0; i < described.slots.size(); ++i) {
    set_address(static_cast<int>(i), fixed_address(bound, i, arena, packed));
  }
  std::byte** table = addresses.data() + described.slots.size();
  for (std::size_t s = 0; s < described.steps.size(); ++s) {
    const Step& step = described.steps[s];
    const BoundStep& bound_step = bound.steps[s];
    Instruction instruction;
    instruction.step = &step;
    instruction.bound = &bound_step;
    if (const auto* kernel = std::get_if<BoundKernel>(&bound_step)) {
      instruction.arguments.buffers = table;
      instruction.arguments.sizes = kernel->sizes.data();
      instruction.arguments.begin = kernel->begin;
      instruction.arguments.end = kernel->begin + kernel->range;
      table += std::get<KernelStep>(step).slots.size();
    }
    if (const BoundBodies* bodies = bodies_of(bound_step)) {
      for (std::size_t b = 0; b < bodies->plans.size(); ++b) {
        instruction.bodies.emplace_back(*bodies->plans[b], arena + bodies->offsets[b],
                                        packed + bodies->packed_offset);
      }
      instruction.packed_versions.resize(bodies->plans[0]->packings.size(), 0);
    }
    const bool is_needed = std::visit([&](const auto& one) { return has_work(one); }, bound_step);
    if (is_needed) instructions.push_back(std::move(instruction));
  }
  const auto is_cached = [&](const Instruction& one) {
    return bound.is_cached_step[static_cast<std::size_t>(one.step - described.steps.data())] != 0;
  };
  const auto rest = std::stable_partition(instructions.begin(), instructions.end(), is_cached);
  cached_end = static_cast<std::size_t>(rest - instructions.begin());
  divide_region(*this);
}

}  // namespace kiln::codegen
