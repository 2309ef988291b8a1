// Slots of a loop's body that move from one iteration to the next.
#include "backends/codegen/host/bind/bind_step.h"

namespace kiln::codegen {
namespace {

std::int64_t slice_bytes(int slot, std::int64_t length, const BoundPlan& out) {
  return length == 0 ? 0 : out.bytes[static_cast<std::size_t>(slot)] / length;
}

void list_moves(const LoopStep& step, const ir::ScanAttrs& attrs, BoundLoop& bound) {
  const auto first_carry = static_cast<std::size_t>(attrs.consts);
  const auto carries = static_cast<std::size_t>(attrs.carry);
  const std::size_t first_x = first_carry + carries, xs = step.operands.size() - first_x;
  for (std::size_t x = 0; x < xs; ++x) {
    const int slot = step.body->arguments[1 + first_x + x];
    if (slot >= 0) bound.moves.push_back({slot, bound.direction * bound.slice_bytes[x]});
  }
  for (std::size_t y = carries; y < step.results.size(); ++y) {
    bound.moves.push_back(
        {step.body->results[y], bound.direction * bound.slice_bytes[xs + y - carries]});
  }
  for (std::size_t c = 0; c < carries; ++c) {
    bound.carries.push_back({c, step.body->arguments[1 + first_carry + c], step.body->results[c]});
  }
}

}  // namespace

BoundLoop bind_loop(const LoopStep& step, const StepBinding& binding) {
  BoundLoop bound;
  const auto& attrs = step.node->as<ir::ScanAttrs>();
  bound.length = binding.evaluate(attrs.length);
  bound.direction = attrs.reverse ? -1 : 1;
  const auto first_x = static_cast<std::size_t>(attrs.consts + attrs.carry);
  for (std::size_t i = first_x; i < step.operands.size(); ++i) {
    bound.slice_bytes.push_back(slice_bytes(step.operands[i], bound.length, binding.out));
  }
  for (auto i = static_cast<std::size_t>(attrs.carry); i < step.results.size(); ++i) {
    bound.slice_bytes.push_back(slice_bytes(step.results[i], bound.length, binding.out));
  }
  bound.spare_offsets.resize(static_cast<std::size_t>(attrs.carry));
  list_moves(step, attrs, bound);
  return bound;
}

}  // namespace kiln::codegen
