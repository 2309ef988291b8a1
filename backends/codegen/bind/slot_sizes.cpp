// Multiplies dims with checks for overflow.
#include "backends/codegen/bind/slot_sizes.h"

#include "backends/codegen/inspect/source.h"
#include "core/types/text.h"

#include <algorithm>
#include <unordered_map>

namespace kiln::codegen {
namespace {

std::int64_t bytes_of(const Slot& slot, std::span<const std::int64_t> dims) {
  auto bytes = static_cast<std::int64_t>(dtype_bytes(slot.dtype));
  bool overflows = false;
  for (const std::int64_t dim : dims) {
    if (dim == 0) return 0;
    overflows |= __builtin_mul_overflow(bytes, dim, &bytes);
  }
  if (overflows || bytes > INT64_MAX - kAlignment) throw_too_large(slot.node);
  return bytes;
}

}  // namespace

void throw_too_large(const ir::Node* node) {
  throw SizeFailure(KILN_CODE_RESOURCE_EXHAUSTED, text("a tensor has more than 2^63 - 1 bytes",
                                                       node ? " (" + source_of(*node) + ")" : ""));
}

std::vector<std::int64_t> evaluate_dims(const ir::Dims& dims, const EvaluateDim& evaluate) {
  std::vector<std::int64_t> sizes;
  sizes.reserve(dims.size());
  for (const ir::Dim& dim : dims) sizes.push_back(evaluate(dim));
  return sizes;
}

SlotShapes::SlotShapes(const Plan& plan) {
  std::unordered_multimap<std::size_t, Range> known;  // by the hash of the dims
  const auto range_of = [&](const ir::Dims& shape) {
    std::size_t hash = shape.size();
    for (const ir::Dim& dim : shape) hash = hash * 31 + dim.hash();
    const auto [first, last] = known.equal_range(hash);
    for (auto one = first; one != last; ++one) {
      const auto begin = dims.begin() + one->second.begin;
      if (std::equal(shape.begin(), shape.end(), begin, begin + one->second.rank)) {
        return one->second;
      }
    }
    const Range range{static_cast<std::uint32_t>(dims.size()),
                      static_cast<std::uint32_t>(shape.size())};
    dims.insert(dims.end(), shape.begin(), shape.end());
    known.emplace(hash, range);
    return range;
  };
  of_slot.reserve(plan.slots.size());
  for (const Slot& slot : plan.slots) of_slot.push_back(range_of(slot.dims));
}

SlotSizes slot_sizes(const Plan& plan, const SlotShapes& shapes, const EvaluateDim& evaluate,
                     std::pmr::memory_resource* memory) {
  SlotSizes sizes(memory);
  sizes.shapes_ = &shapes;
  sizes.dims_.reserve(shapes.dims.size());
  sizes.bytes.reserve(plan.slots.size());
  for (const SlotId i : plan.slots.ids()) {
    const SlotShapes::Range range = shapes.of_slot[i];
    while (sizes.dims_.size() < range.begin + range.rank) {
      sizes.dims_.push_back(evaluate(shapes.dims[sizes.dims_.size()]));
    }
    sizes.bytes.push_back(bytes_of(plan.slots[i], sizes.dims(i)));
  }
  return sizes;
}

}  // namespace kiln::codegen
