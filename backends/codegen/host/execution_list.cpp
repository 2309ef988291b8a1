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

/// The address of a constant; empty_tensor() for the other slots.
std::byte* constant_address(const BoundPlan& bound, SlotId slot) {
  const auto* constant = std::get_if<ConstantSlot>(&bound.plan->slots[slot].kind);
  if (!constant || bound.sizes.bytes[slot] == 0) return empty_tensor();
  return const_cast<std::byte*>(constant->bytes->data());  // never written
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

ExecutionList::ExecutionList(const BoundPlan& bound, std::pmr::memory_resource* memory)
    : plan(&bound),
      addresses(memory),
      slots(bound.plan->slots.size()),
      uses(bound.facts->kernel_uses.data()),
      first_use(bound.facts->first_use.data()),
      instructions(memory),
      group_ends(memory),
      region(memory),
      versions(slots, 0, memory),
      own_packed(bound.packings.size(), nullptr, memory) {
  const Plan& described = *bound.plan;
  packed = own_packed.data();
  addresses.resize(slots + bound.facts->kernel_uses.size(), empty_tensor());
  for (const SlotId slot : described.slots.ids()) {
    std::byte* const address = constant_address(bound, slot);
    if (address != empty_tensor()) set_address(slot, address);
  }
  instructions.reserve(described.steps.size());
  const CachedSteps& cached = bound.facts->cached;
  for (const CachedGroup& group : cached.groups) {
    for (const int step : group.steps) add_instruction(at(step));
    group_ends.push_back(instructions.size());
  }
  cached_end = instructions.size();
  for (std::size_t s = 0; s < described.steps.size(); ++s) {
    if (cached.groups.empty() || !cached.is_cached_step[s]) add_instruction(s);
  }
  divide_region(*this);
}

void ExecutionList::add_instruction(std::size_t s) {
  const BoundStep& step = plan->steps[s];
  if (!std::visit([](const auto& one) { return has_work(one); }, step)) return;
  std::pmr::memory_resource* const memory = addresses.get_allocator().resource();
  Instruction instruction{.step = &plan->plan->steps[s],
                          .bound = &step,
                          .arguments = {},
                          .bodies = List<ExecutionList>(memory)};
  if (const auto* kernel = std::get_if<BoundKernel>(&step)) {
    instruction.arguments.buffers = addresses.data() + slots + plan->facts->first_operand[s];
    instruction.arguments.sizes = kernel->sizes.data();
    instruction.arguments.begin = kernel->begin;
    instruction.arguments.end = kernel->begin + kernel->range;
  }
  if (const BoundBodies* bodies = bodies_of(step)) {
    instruction.bodies.reserve(bodies->plans.size());
    for (const BoundPlanPtr& body : bodies->plans) instruction.bodies.emplace_back(*body, memory);
    if (loop_of(step)) {
      for (ExecutionList& body : instruction.bodies) body.packed = instruction.bodies[0].packed;
    }
  }
  instructions.push_back(std::move(instruction));
}

std::int64_t ExecutionList::bytes_of(const BoundPlan& bound) {
  const std::size_t words = 2 * bound.plan->slots.size() + bound.facts->kernel_uses.size() +
                            bound.facts->cached.groups.size() + bound.packings.size() + 16;
  std::int64_t bytes =
      static_cast<std::int64_t>(words * sizeof(void*) + bound.steps.size() * sizeof(Instruction));
  for (const BoundStep& step : bound.steps) {
    const BoundBodies* bodies = bodies_of(step);
    if (!bodies) continue;
    for (const BoundPlanPtr& body : bodies->plans) {
      bytes += bytes_of(*body) + static_cast<std::int64_t>(sizeof(ExecutionList));
    }
  }
  return bytes;
}

void ExecutionList::move_to(std::byte* memory) {
  if (arena == memory) return;
  arena = memory;
  const SlotList<std::int64_t>& offsets = plan->arena.offsets;
  for (const SlotId slot : offsets.ids()) {
    if (offsets[slot] >= 0 && plan->plan->slots[slot].is<TemporarySlot>()) {
      set_address(slot, arena + offsets[slot]);
    }
  }
  for (Instruction& one : instructions) {
    const BoundBodies* bodies = bodies_of(*one.bound);
    for (std::size_t b = 0; bodies && b < bodies->plans.size(); ++b) {
      one.bodies[b].move_to(arena + bodies->offsets[b]);
    }
    const BoundLoop* const loop = loop_of(*one.bound);
    if (loop) place_packings(*loop, one.bodies[0]);
  }
}

/// Sets the addresses of operands that are packed whenever the loop begins. A weight's address is
/// set when a call holds it.
void ExecutionList::place_packings(const BoundLoop& loop, ExecutionList& body) const {
  const List<Packing>& packings = body.plan->packings;
  for (std::size_t i = 0; i < packings.size(); ++i) {
    if (packings[i].offset >= 0) body.packed[i] = arena + loop.packed.offset + packings[i].offset;
  }
}

}  // namespace kiln::codegen
