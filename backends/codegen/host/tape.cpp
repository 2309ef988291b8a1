// Making tapes: the one place where steps become instructions.
#include "backends/codegen/host/tape.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

bool has_work(const BoundKernel& kernel) { return kernel.range != 0; }
bool has_work(const BoundCopy& copy) { return copy.bytes != 0; }
template <class Other>
bool has_work(const Other&) {
  return true;
}

/// Where a slot lies for the life of the tape; `nowhere` when that is not yet known.
std::byte* fixed_place(const BoundPlan& bound, std::size_t slot, std::byte* arena,
                       std::byte* packed) {
  if (bound.kept_offsets[slot] >= 0) return packed + bound.kept_offsets[slot];
  const Slot& described = bound.plan->slots[slot];
  if (described.kind == Slot::Kind::Constant && bound.sizes.bytes[slot] != 0) {
    return const_cast<std::byte*>(described.bytes->data());  // never written
  }
  if (described.kind == Slot::Kind::Temporary && bound.arena.offsets[slot] >= 0) {
    return arena + bound.arena.offsets[slot];
  }
  return nowhere();
}

/// The cells of the kernels' tables behind those of the slots, and who uses which slot.
void lay_out_cells(Tape& tape) {
  const Plan& plan = *tape.plan->plan;
  std::vector<std::vector<std::uint32_t>> uses(plan.slots.size());
  std::size_t next = plan.slots.size();
  for (const Step& step : plan.steps) {
    const auto* kernel = std::get_if<KernelStep>(&step);
    if (!kernel) continue;
    for (const int slot : kernel->slots)
      uses[at(slot)].push_back(static_cast<std::uint32_t>(next++));
  }
  tape.cells.resize(next, nowhere());
  tape.first_use.push_back(0);
  for (const auto& of_slot : uses) {
    tape.uses.insert(tape.uses.end(), of_slot.begin(), of_slot.end());
    tape.first_use.push_back(static_cast<std::uint32_t>(tape.uses.size()));
  }
}

/// The parts of a region that several threads share. REQUIRES: the instructions are there.
void cut_region(Tape& tape) {
  if (!tape.plan->parallel_region) return;
  const Plan& plan = *tape.plan->plan;
  const Step* const steps = plan.steps.data();
  for (std::size_t i = 0; i < tape.instructions.size(); ++i) {
    const Instruction& one = tape.instructions[i];
    const auto number = static_cast<std::size_t>(one.step - steps);
    if (number < plan.region_begin) tape.region_begin = i + 1;
    if (number < plan.region_end) tape.region_end = i + 1;
    if (number < plan.region_begin || number >= plan.region_end) continue;
    const auto& kernel = std::get<BoundKernel>(*one.bound);
    for (std::int64_t begin = 0; begin < kernel.range; begin += kernel.grain) {
      tape.region.push_back({i, begin, std::min(begin + kernel.grain, kernel.range)});
    }
  }
}

}  // namespace

std::byte* nowhere() {
  alignas(kAlignment) static std::byte place[kAlignment];
  return place;
}

Tape::Tape(const BoundPlan& bound, std::byte* arena_memory, std::byte* packed_memory)
    : plan(&bound), arena(arena_memory), packed(packed_memory) {
  const Plan& described = *bound.plan;
  lay_out_cells(*this);
  versions.resize(described.slots.size(), 0);
  for (std::size_t i = 0; i < described.slots.size(); ++i) {
    place(static_cast<int>(i), fixed_place(bound, i, arena, packed));
  }
  std::byte** table = cells.data() + described.slots.size();
  for (std::size_t s = 0; s < described.steps.size(); ++s) {
    const Step& step = described.steps[s];
    const BoundStep& ready = bound.steps[s];
    Instruction made;
    made.step = &step;
    made.bound = &ready;
    if (const auto* kernel = std::get_if<BoundKernel>(&ready)) {
      made.arguments.buffers = table;
      made.arguments.sizes = kernel->sizes.data();
      made.arguments.begin = kernel->begin;
      made.arguments.end = kernel->begin + kernel->range;
      table += std::get<KernelStep>(step).slots.size();
    }
    if (const BoundBodies* bodies = bodies_of(ready)) {
      for (std::size_t b = 0; b < bodies->plans.size(); ++b) {
        made.bodies.emplace_back(*bodies->plans[b], arena + bodies->offsets[b],
                                 packed + bodies->packed_offset);
      }
      made.packed_versions.resize(bodies->plans[0]->packings.size(), 0);
    }
    const bool works = std::visit([&](const auto& one) { return has_work(one); }, ready);
    if (works) instructions.push_back(std::move(made));
  }
  const auto is_kept = [&](const Instruction& one) {
    return bound.is_kept_step[static_cast<std::size_t>(one.step - described.steps.data())] != 0;
  };
  const auto rest = std::stable_partition(instructions.begin(), instructions.end(), is_kept);
  kept_end = static_cast<std::size_t>(rest - instructions.begin());
  cut_region(*this);
}

}  // namespace kiln::codegen
