// Multiplies dims with checks for overflow.
#include "backends/codegen/bind/slot_sizes.h"

#include "backends/codegen/inspect/source.h"
#include "backends/codegen/plan/plan_memory.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

std::int64_t bytes_of(const Slot& slot, std::span<const std::int64_t> dims) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  auto bytes = static_cast<std::int64_t>(dtype_bytes(slot.dtype));
  for (const std::int64_t dim : dims) bytes = checked_product(bytes, dim, slot.node);
  return bytes;
}

}  // namespace

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t aligned(std::int64_t bytes) { return ceil_div(bytes, kAlignment) * kAlignment; }

std::int64_t checked_product(std::int64_t a, std::int64_t b, const ir::Node* node) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result) || result > INT64_MAX - kAlignment) {
    throw SizeFailure(
        KILN_CODE_RESOURCE_EXHAUSTED,
        text("a tensor has more than 2^63 - 1 bytes", node ? " (" + source_of(*node) + ")" : ""));
  }
  return result;
}

std::vector<std::int64_t> evaluate_dims(const ir::Dims& dims, const EvaluateDim& evaluate) {
  std::vector<std::int64_t> sizes;
  sizes.reserve(dims.size());
  for (const ir::Dim& dim : dims) sizes.push_back(evaluate(dim));
  return sizes;
}

SlotSizes slot_sizes(const Plan& plan, const EvaluateDim& evaluate,
                     std::pmr::memory_resource* memory) {
  SlotSizes sizes(memory);
  std::size_t axes = 0;
  for (const Slot& slot : plan.slots) axes += slot.dims.size();
  sizes.dims_.reserve(axes);
  sizes.ends_.reserve(plan.slots.size());
  sizes.bytes.reserve(plan.slots.size());
  for (const Slot& slot : plan.slots) {
    for (const ir::Dim& dim : slot.dims) sizes.dims_.push_back(evaluate(dim));
    sizes.ends_.push_back(static_cast<std::uint32_t>(sizes.dims_.size()));
    const int number = static_cast<int>(sizes.bytes.size());
    sizes.bytes.push_back(bytes_of(slot, sizes.dims(number)));
  }
  return sizes;
}

}  // namespace kiln::codegen
