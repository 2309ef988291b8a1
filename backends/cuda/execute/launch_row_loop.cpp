// The order of parameters is that of codegen::RowLoop.
#include "backends/cuda/execute/launch_row_loop.h"

#include "backends/cuda/device/device_address.h"
#include "core/types/at.h"

namespace kiln::cuda {
namespace {

using namespace codegen;

/// Appends the initial value, the result and the stack of a carry.
void add_carry(const LoopBinding& loop, const LoopCarry& carry, const RowLoopArguments& arguments,
               std::vector<std::uint64_t>& values) {
  values.push_back(carry.argument ? arguments.slots[carry.argument] : 0);
  const api::DeviceAddress result = arguments.results[carry.number];
  if (!carry.stack) return values.push_back(result);
  const api::DeviceAddress stack = offset_by(arguments.slots[carry.stack], carry.ahead);
  std::int64_t bytes = 0;
  for (const LoopMove& move : loop.moves) {
    if (move.slot == carry.stack) bytes = move.bytes;
  }
  const api::DeviceAddress last = offset_by(stack, (loop.length - 1) * bytes);
  values.push_back(carry.ends_in_stack ? last : result);
  values.push_back(stack);
}

}  // namespace

void launch_row_loop(const Stream& stream, const BoundRowLoop& kernel, const LoopBinding& loop,
                     const RowLoopArguments& arguments, LaunchMemory& memory) {
  const ScheduledLoop& scheduled = kernel.loaded->scheduled;
  auto& [values, parameters] = memory;
  values.clear();
  for (std::size_t i = 0; i < scheduled.slots.size(); ++i) {
    if (scheduled.loop.tensors[i].kind != RowLoopTensor::Kind::Given) continue;
    values.push_back(arguments.slots[scheduled.slots[i]]);
  }
  for (const LoopCarry& carry : loop.carries) add_carry(loop, carry, arguments, values);
  for (const std::int64_t number : kernel.numbers) {
    values.push_back(static_cast<std::uint64_t>(number));
  }
  values.push_back(static_cast<std::uint64_t>(kernel.rows));
  values.push_back(static_cast<std::uint64_t>(loop.length));
  parameters.clear();
  for (std::uint64_t& value : values) parameters.push_back(&value);
  submit(stream, kernel.loaded->function, {kernel.blocks, scheduled.loop.threads},
         {arguments.number, arguments.call_block}, parameters);
}

}  // namespace kiln::cuda
