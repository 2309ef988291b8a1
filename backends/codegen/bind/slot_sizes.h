// Dims and bytes of the slots of a plan, for the sizes of one call.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/codegen/plan/plan.h"
#include "backends/codegen/plan/plan_memory.h"

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace kiln::codegen {

/// A list of a bound plan. All lists of a plan share one memory resource, so that binding makes few
/// allocations.
template <class T>
using List = std::pmr::vector<T>;
/// A value for each slot of the plan.
template <class T>
using SlotList = IdVector<SlotId, T, List<T>>;

/// The memory of a bound plan, and memory that is free again once the plan is bound.
struct BindMemory {
  std::pmr::memory_resource* plan = std::pmr::new_delete_resource();
  std::pmr::memory_resource* scratch = std::pmr::new_delete_resource();
};

/// Evaluates dims in a call. Throws kiln::ValueError for an unbound symbol, a division by zero or
/// an overflow of 64 bits.
class EvaluateDim {
 public:
  /// `symbolic` evaluates a dim that is not static.
  template <std::invocable<const ir::Dim&> Symbolic>
    requires(!std::same_as<Symbolic, EvaluateDim>)
  EvaluateDim(Symbolic symbolic) : symbolic_(std::move(symbolic)) {}  // NOLINT: a function is one

  std::int64_t operator()(const ir::Dim& dim) const {
    return dim.is_static() ? dim.value() : symbolic_(dim);
  }

 private:
  std::function<std::int64_t(const ir::Dim&)> symbolic_;
};

/// Sizes with which a plan cannot run.
class SizeFailure : public sdk::Failure {
 public:
  using Failure::Failure;
};

/// a / b, rounded up. REQUIRES: a >= 0, b > 0, and a + b does not overflow.
inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
/// `bytes` rounded up to kAlignment.
inline std::int64_t aligned(std::int64_t bytes) { return ceil_div(bytes, kAlignment) * kAlignment; }
/// Throws the SizeFailure of checked_product().
[[noreturn]] void throw_too_large(const ir::Node* node);
/// a * b, in bytes. Throws SizeFailure (RESOURCE_EXHAUSTED) when the aligned result overflows 63
/// bits. `node`: the tensor's, for the error's text; or null.
inline std::int64_t checked_product(std::int64_t a, std::int64_t b, const ir::Node* node) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result) || result > INT64_MAX - kAlignment) {
    throw_too_large(node);
  }
  return result;
}

/// a + b likewise.
inline std::int64_t checked_sum(std::int64_t a, std::int64_t b, const ir::Node* node) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result) || result > INT64_MAX - kAlignment) {
    throw_too_large(node);
  }
  return result;
}

/// The value of each dim.
std::vector<std::int64_t> evaluate_dims(const ir::Dims& dims, const EvaluateDim& evaluate);

/// The shapes of a plan's slots, each once: many slots have equal shapes.
struct SlotShapes {
  /// The dims of a shape, in `dims`.
  struct Range {
    std::uint32_t begin = 0, rank = 0;
  };

  SlotShapes() = default;
  explicit SlotShapes(const Plan& plan);

  std::vector<ir::Dim> dims;  // of all shapes, in the order of the first slots that have them
  IdVector<SlotId, Range> of_slot;
};

class SlotSizes {
 public:
  explicit SlotSizes(std::pmr::memory_resource* memory = std::pmr::new_delete_resource())
      : bytes(memory), dims_(memory) {}

  std::span<const std::int64_t> dims(SlotId slot) const {
    const SlotShapes::Range range = shapes_->of_slot[slot];
    return {dims_.data() + range.begin, range.rank};
  }

  SlotList<std::int64_t> bytes;  // of each slot; 0: a dim is 0

 private:
  friend SlotSizes slot_sizes(const Plan& plan, const SlotShapes& shapes,
                              const EvaluateDim& evaluate, std::pmr::memory_resource* memory);

  const SlotShapes* shapes_ = nullptr;
  List<std::int64_t> dims_;  // the values of SlotShapes::dims
};

/// Evaluates the dims of every slot of `plan`, without those of bodies. Throws SizeFailure for a
/// tensor whose bytes overflow 63 bits, and what `evaluate` throws. REQUIRES: `shapes` is of `plan`
/// and outlives the result.
SlotSizes slot_sizes(const Plan& plan, const SlotShapes& shapes, const EvaluateDim& evaluate,
                     std::pmr::memory_resource* memory = std::pmr::new_delete_resource());

}  // namespace kiln::codegen
