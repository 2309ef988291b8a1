// Dims and bytes of the slots of a plan, for the sizes of one call.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/codegen/plan/plan.h"

#include <cstdint>
#include <functional>
#include <memory_resource>
#include <span>
#include <vector>

namespace kiln::codegen {

/// A list of a bound plan. All lists of a plan share one memory resource, so that binding makes few
/// allocations.
template <class T>
using List = std::pmr::vector<T>;

/// The memory of a bound plan, and memory that is free again once the plan is bound.
struct BindMemory {
  std::pmr::memory_resource* plan = std::pmr::new_delete_resource();
  std::pmr::memory_resource* scratch = std::pmr::new_delete_resource();
};

/// Evaluates a symbolic dim in a call. Throws kiln::ValueError for an unbound symbol, a division by
/// zero or an overflow of 64 bits.
using EvaluateDim = std::function<std::int64_t(const ir::Dim&)>;

/// Sizes with which a plan cannot run.
class SizeFailure : public sdk::Failure {
 public:
  using Failure::Failure;
};

/// a / b, rounded up. REQUIRES: a >= 0, b > 0, and a + b does not overflow.
std::int64_t ceil_div(std::int64_t a, std::int64_t b);
/// `bytes` rounded up to kAlignment.
std::int64_t aligned(std::int64_t bytes);
/// a * b, in bytes. Throws SizeFailure (RESOURCE_EXHAUSTED) when the aligned result overflows 63
/// bits. `node`: the tensor's, for the error's text; or null.
std::int64_t checked_product(std::int64_t a, std::int64_t b, const ir::Node* node);

/// The value of each dim.
std::vector<std::int64_t> evaluate_dims(const ir::Dims& dims, const EvaluateDim& evaluate);

class SlotSizes {
 public:
  explicit SlotSizes(std::pmr::memory_resource* memory = std::pmr::new_delete_resource())
      : bytes(memory), dims_(memory), ends_(memory) {}

  std::span<const std::int64_t> dims(int slot) const {
    const auto s = static_cast<std::size_t>(slot);
    const std::size_t begin = s == 0 ? 0 : ends_[s - 1];
    return {dims_.data() + begin, ends_[s] - begin};
  }

  List<std::int64_t> bytes;  // of each slot; 0: a dim is 0

 private:
  friend SlotSizes slot_sizes(const Plan& plan, const EvaluateDim& evaluate,
                              std::pmr::memory_resource* memory);

  List<std::int64_t> dims_;   // of all slots, one after the other
  List<std::uint32_t> ends_;  // of each slot, in dims_
};

/// Evaluates the dims of every slot of `plan`, without those of bodies. Throws SizeFailure for a
/// tensor whose bytes overflow 63 bits, and what `evaluate` throws.
SlotSizes slot_sizes(const Plan& plan, const EvaluateDim& evaluate,
                     std::pmr::memory_resource* memory = std::pmr::new_delete_resource());

}  // namespace kiln::codegen
