// Collects scratch, spare carries and bodies of the steps.
#include "backends/codegen/host/bind/bound_memory.h"

namespace kiln::codegen {
namespace {

using Kind = StepBlock::Kind;

Scratch* scratch_of(BoundStep& step) {
  if (auto* matmul = std::get_if<BoundMatmul>(&step)) return &matmul->scratch;
  if (auto* convolution = std::get_if<BoundConvolution>(&step)) return &convolution->scratch;
  if (auto* rows = std::get_if<BoundRowUpdates>(&step)) return &rows->scratch;
  if (auto* attention = std::get_if<BoundAttention>(&step)) return &attention->scratch;
  if (BoundLoop* const loop = loop_of(step)) return &loop->packed;
  return nullptr;
}

/// The scratch of a step: of a parallel matmul the shared packed rhs,
/// then the scratch of each part.
std::int64_t whole_scratch(const BoundStep& step) {
  if (const auto* rows = std::get_if<BoundRowUpdates>(&step)) return rows->scratch.bytes;
  if (const auto* attention = std::get_if<BoundAttention>(&step)) {
    return attention->shared_bytes + attention->scratch.bytes * attention->runs;
  }
  if (const BoundLoop* const loop = loop_of(step)) return loop->packed.bytes;
  const auto* matmul = std::get_if<BoundMatmul>(&step);
  if (!matmul) return std::get<BoundConvolution>(step).scratch.bytes;
  const auto runs = matmul->parallel ? static_cast<std::int64_t>(matmul->calls.size()) : 1;
  return matmul->shared_rhs.bytes + matmul->scratch.bytes * runs;
}

void add_spare_carries(BoundPlan& bound, int step, BoundLoop& loop, List<StepMemory>& own) {
  const auto s = static_cast<std::size_t>(step);
  const std::vector<SlotId>& results = std::get<LoopStep>(bound.plan->steps[s]).results;
  for (std::size_t i = 0; i < loop.spare_offsets.size(); ++i) {
    if (loop.carries[i].stack) continue;
    const std::int64_t bytes = bound.sizes.bytes[results[i]];
    own.push_back({{Kind::SpareCarry, step}, bytes, &loop.spare_offsets[i]});
  }
}

}  // namespace

List<StepMemory> step_memory(BoundPlan& bound, std::pmr::memory_resource* scratch) {
  List<StepMemory> own(scratch);
  for (std::size_t s = 0; s < bound.steps.size(); ++s) {
    BoundStep& one = bound.steps[s];
    const int step = static_cast<int>(s);
    if (Scratch* working = scratch_of(one); working && whole_scratch(one) != 0) {
      own.push_back({{Kind::Scratch, step}, whole_scratch(one), &working->offset});
    }
    if (BoundLoop* const loop = loop_of(one)) add_spare_carries(bound, step, *loop, own);
    BoundBodies* bodies = bodies_of(one);
    for (std::size_t i = 0; bodies && i < bodies->plans.size(); ++i) {
      own.push_back({{Kind::Body, step}, bodies->plans[i]->arena.bytes, &bodies->offsets[i]});
    }
  }
  return own;
}

PlanMemory memory_of(const BoundPlan& bound) {
  PlanMemory memory{bound.plan, &bound.sizes, &bound.arena, {}};
  for (std::size_t s = 0; s < bound.steps.size(); ++s) {
    for_each_body(bound.steps[s], [&](const std::string& name, const BoundPlan& body) {
      memory.bodies.push_back({static_cast<int>(s), name, memory_of(body)});
    });
  }
  return memory;
}

}  // namespace kiln::codegen
