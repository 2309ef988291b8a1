// Binds row updates and copies, and defines what several kinds of steps share.
#include "backends/codegen/host/bind/bind_step.h"

#include "backends/codegen/inspect/source.h"
#include "core/types/text.h"

#include <kiln/error.h>

namespace kiln::codegen {
namespace {

/// The product of the dims from `first` on. No overflow: slot_sizes() has checked the tensor's
/// bytes.
std::int64_t product_of(const ir::Dims& dims, std::size_t first, const StepBinding& binding) {
  std::int64_t product = 1;
  for (std::size_t i = first; i < dims.size(); ++i) product *= binding.evaluate(dims[i]);
  return product;
}

}  // namespace

SlotId packing_source(SlotId slot, const StepBinding& binding) {
  if (binding.out.facts->cached.group_of_slot[slot] >= 0) return slot;
  const Slot& described = binding.plan.slots[slot];
  const auto* argument = std::get_if<ArgumentSlot>(&described.kind);
  if (!argument) return {};
  const PlanUse& use = binding.use;
  const int number = argument->number;
  if (use.consts >= 0) return number >= 1 && number <= use.consts ? slot : SlotId();
  const std::vector<bool>& unchanged = binding.out.facts->unchanged;
  const auto i = static_cast<std::size_t>(number);
  return i < unchanged.size() && unchanged[i] ? slot : SlotId();
}

RhsUse rhs_use(SlotId source, const StepBinding& binding) {
  if (!source) return RhsUse::Once;
  return binding.use.consts >= 0 ? RhsUse::Loop : RhsUse::Kept;
}

void require_float32(const ConvolutionStep& step) {
  if (step.dtype == DType::Float32) return;
  throw InternalError("bind", "",
                      text("a host library was given a convolution of ", step.dtype, " (",
                           source_of(*step.node), ")"));
}

BoundRowUpdates bind_row_updates(const RowUpdateStep& step, const StepBinding& binding) {
  BoundRowUpdates bound{List<PreparedRowUpdate>(binding.memory()), {}};
  bound.updates.reserve(step.updates.size());
  for (const RowUpdate& one : step.updates) {
    const ir::Type &type = one.node->types[0], &indices = one.node->operands[2].type();
    PreparedRowUpdate update;
    update.dtype = type.dtype;
    update.indices = indices.dtype;
    update.rows = binding.evaluate(type.dims[0]);
    update.columns = product_of(type.dims, 1, binding);
    update.entries = product_of(indices.dims, 0, binding);
    update.grain = binding.inputs.host.kernel_grain;
    bound.scratch.bytes += aligned(update.scratch_bytes());
    bound.updates.push_back(update);
  }
  return bound;
}

BoundCopy bind_copy(const CopyStep& step, const StepBinding& binding) {
  const std::int64_t bytes = binding.out.sizes.bytes[step.to];
  const RowGroup* group = binding.group();
  if (!group || bytes == 0) return {0, bytes};
  const std::int64_t row = bytes / binding.out.sizes.dims(step.to).front();
  return {group->begin * row, (group->end - group->begin) * row};
}

}  // namespace kiln::codegen
