// Computes slice strides first, then assigns each stacked carry to its stack.
#include "backends/codegen/bind/bind_loop.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

std::int64_t slice_bytes(SlotId slot, std::int64_t length, const SlotSizes& sizes) {
  return length == 0 ? 0 : sizes.bytes[slot] / length;
}

/// Lists the slices that advance and the carries.
void add_moves(const LoopStep& step, const ir::ScanAttrs& attrs, LoopBinding& bound) {
  const auto first_carry = static_cast<std::size_t>(attrs.consts);
  const auto carries = static_cast<std::size_t>(attrs.carry);
  const std::size_t first_x = first_carry + carries, xs = step.operands.size() - first_x;
  for (std::size_t x = 0; x < xs; ++x) {
    const SlotId slot = step.body->arguments[1 + first_x + x];
    if (slot) bound.moves.push_back({slot, bound.direction * bound.slice_bytes[x]});
  }
  for (std::size_t y = carries; y < step.results.size(); ++y) {
    bound.moves.push_back(
        {step.body->results[y], bound.direction * bound.slice_bytes[xs + y - carries]});
  }
  for (std::size_t c = 0; c < carries; ++c) {
    bound.carries.push_back({c, step.body->arguments[1 + first_carry + c], step.body->results[c]});
  }
}

/// Binds a carry to its stacks (plan/stack_carries.h), with the copies at their ends.
void bind_stacks(const LoopStep& step, const CarryStacks& stacks, const SlotSizes& sizes,
                 LoopBinding& bound) {
  const auto& attrs = step.node->as<ir::ScanAttrs>();
  const auto number = static_cast<std::size_t>(stacks.carry);
  const SlotId initial = step.operands[static_cast<std::size_t>(attrs.consts) + number];
  const SlotId last = step.results[number];
  const auto stack = [&](int result) { return step.results[static_cast<std::size_t>(result)]; };
  const SlotId some = stack(std::max(stacks.before, stacks.after));
  const std::int64_t slice = slice_bytes(some, bound.length, sizes);
  const std::int64_t top = sizes.bytes[some] - slice;
  const std::int64_t first_offset = attrs.reverse ? top : 0;
  LoopCarry& carry = bound.carries[number];
  carry.ends_in_stack = stacks.after >= 0;
  const int written = carry.ends_in_stack ? stacks.after : stacks.before;
  carry.stack = step.body->results[static_cast<std::size_t>(written)];
  carry.ahead = carry.ends_in_stack ? 0 : bound.direction * slice;
  if (stacks.before >= 0) {
    bound.first_copies.push_back(
        {.to = stack(stacks.before), .from = initial, .to_offset = first_offset, .bytes = slice});
  }
  if (stacks.after >= 0) {
    bound.last_copies.push_back({.to = last,
                                 .from = stack(stacks.after),
                                 .from_offset = top - first_offset,
                                 .bytes = slice});
  }
}

}  // namespace

LoopBinding bind_loop(const LoopStep& step, const SlotSizes& sizes, const EvaluateDim& evaluate,
                      std::pmr::memory_resource* memory) {
  LoopBinding bound(memory);
  const auto& attrs = step.node->as<ir::ScanAttrs>();
  bound.length = evaluate(attrs.length);
  bound.direction = attrs.reverse ? -1 : 1;
  const auto first_x = static_cast<std::size_t>(attrs.consts + attrs.carry);
  for (std::size_t i = first_x; i < step.operands.size(); ++i) {
    bound.slice_bytes.push_back(slice_bytes(step.operands[i], bound.length, sizes));
  }
  for (auto i = static_cast<std::size_t>(attrs.carry); i < step.results.size(); ++i) {
    bound.slice_bytes.push_back(slice_bytes(step.results[i], bound.length, sizes));
  }
  add_moves(step, attrs, bound);
  for (const CarryStacks& stacks : step.carry_stacks) bind_stacks(step, stacks, sizes, bound);
  return bound;
}

}  // namespace kiln::codegen
