// Dims and bytes of the slots of a plan, for the sizes of one call.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/codegen/plan/plan.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace kiln::codegen {

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

struct SlotSizes {
  std::vector<std::vector<std::int64_t>> dims;  // of each slot
  std::vector<std::int64_t> bytes;              // of each slot; 0: a dim is 0
};

/// Evaluates the dims of every slot of `plan`, without those of bodies. Throws SizeFailure for a
/// tensor whose bytes overflow 63 bits, and what `evaluate` throws.
SlotSizes slot_sizes(const Plan& plan, const EvaluateDim& evaluate);

}  // namespace kiln::codegen
