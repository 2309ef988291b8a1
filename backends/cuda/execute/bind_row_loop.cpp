// The bytes by which tensors move are those of LoopBinding::moves.
#include "backends/cuda/execute/bind_row_loop.h"

#include "backends/codegen/bind/kernel_sizes.h"

#include <algorithm>

namespace kiln::cuda {

using namespace codegen;

namespace {

/// The bytes by which the address of a slot of the body moves; 0: it stays.
std::int64_t bytes_of_move(const LoopStep& step, const LoopBinding& bound, SlotId slot) {
  if (slot == step.body->arguments[0]) {
    return bound.direction * std::int64_t{sizeof(std::int64_t)};  // t, from the list of all
  }
  for (const LoopMove& move : bound.moves) {
    if (move.slot == slot) return move.bytes;
  }
  return 0;
}

}  // namespace

BoundRowLoop bind_row_loop(const LoopStep& step, const LoopBinding& bound, const LoadedLoop& loaded,
                           const EvaluateDim& evaluate) {
  const RowLoop& loop = loaded.scheduled.loop;
  BoundRowLoop out{.loaded = &loaded};
  for (std::size_t i = 0; i < loop.tensors.size(); ++i) {
    if (loop.tensors[i].kind != RowLoopTensor::Kind::Given) continue;
    out.numbers.push_back(bytes_of_move(step, bound, loaded.scheduled.slots[i]));
  }
  for (const LoopCarry& carry : bound.carries) {
    if (carry.stack) out.numbers.push_back(bytes_of_move(step, bound, carry.stack));
  }
  for (const RowLoopStep& one : loop.steps) {
    const auto* own = std::get_if<RowLoopKernel>(&one.work);
    if (own == nullptr) continue;
    const EvaluateDim of_kernel = evaluate_for_kernel(own->kernel, evaluate);
    const auto sizes = evaluate_dims(own->kernel.sizes, of_kernel);
    out.numbers.insert(out.numbers.end(), sizes.begin(), sizes.end());
  }
  out.rows = evaluate(step.fusion->division.rows);
  out.blocks = std::min((out.rows + loop.rows - 1) / loop.rows, loaded.resident_blocks);
  return out;
}

}  // namespace kiln::cuda
