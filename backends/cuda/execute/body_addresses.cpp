// Slices move by fixed numbers of bytes; carries alternate between buffers.
#include "backends/cuda/execute/body_addresses.h"

#include "backends/cuda/device/device_address.h"
#include "core/types/at.h"

namespace kiln::cuda {

using namespace codegen;
using api::DeviceAddress;

void set_argument(const DevicePlan& body, std::size_t argument, DeviceAddress where,
                  SlotAddresses& slots) {
  const SlotId slot = body.plan->arguments[argument];
  if (slot) slots[slot] = where;
}

void LoopAddresses::start(SlotAddresses& slots) const {
  const auto& attrs = step_.node->as<ir::ScanAttrs>();
  const DevicePlan& body = *bound_.body.plan;
  const auto carries = at(attrs.carry), consts = at(attrs.consts);
  const std::size_t xs = step_.operands.size() - consts - carries;
  const std::int64_t t = attrs.reverse ? bound_.loop.length - 1 : 0;
  for (std::size_t i = 0; i < step_.operands.size(); ++i) {
    const bool is_x = i >= consts + carries;
    const std::int64_t offset = is_x ? t * bound_.loop.slice_bytes[i - consts - carries] : 0;
    set_argument(body, 1 + i, offset_by(outer_[step_.operands[i]], offset), slots);
  }
  for (std::size_t i = 0; i < step_.results.size(); ++i) {
    const bool is_y = i >= carries;
    const std::int64_t offset = is_y ? t * bound_.loop.slice_bytes[xs + i - carries] : 0;
    slots[body.plan->results[i]] = offset_by(outer_[step_.results[i]], offset);
  }
  for (const CarryStacks& stacks : step_.carry_stacks) {
    const LoopCarry& carry = bound_.loop.carries[at(stacks.carry)];
    if (stacks.before < 0 || !carry.argument) continue;
    slots[carry.argument] = slots[body.plan->results[at(stacks.before)]];
  }
  for (const LoopCarry& carry : bound_.loop.carries) set_carry(carry, 0, slots);
}

/// Sets the address to which iteration `done` writes the carry. A carry with a stack is written
/// to the next element of the stack. Another one is double-buffered: iterations alternate between
/// the loop's result and the spare buffer, so that the last iteration writes the result.
void LoopAddresses::set_carry(const LoopCarry& carry, std::int64_t done,
                              SlotAddresses& slots) const {
  const std::int64_t left = bound_.loop.length - 1 - done;
  DeviceAddress where = outer_[step_.results[carry.number]];
  if (carry.stack) {
    if (left > 0 || carry.ends_in_stack) where = offset_by(slots[carry.stack], carry.ahead);
  } else if (left % 2 != 0) {
    where = offset_by(arena_, bound_.spare_offsets[carry.number]);
  }
  slots[carry.result] = where;
}

void LoopAddresses::advance(std::int64_t done, SlotAddresses& slots) const {
  for (const LoopMove& move : bound_.loop.moves) {
    slots[move.slot] = offset_by(slots[move.slot], move.bytes);
  }
  for (const LoopCarry& carry : bound_.loop.carries) {
    if (carry.argument) slots[carry.argument] = slots[carry.result];
    set_carry(carry, done, slots);
  }
}

}  // namespace kiln::cuda
