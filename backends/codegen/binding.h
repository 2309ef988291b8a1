// A plan made ready for one tuple of sizes: extents evaluated, products prepared, memory planned.
// Immutable once made; runs share it.
#pragma once

#include "backends/codegen/plan.h"

#include <functional>

namespace kiln::codegen {

/// A prepared product and where its matrices begin, in elements.
struct ProductRun {
  std::shared_ptr<const PreparedProduct> product;
  std::int64_t lhs = 0, rhs = 0, result = 0;
};

struct BoundPlan;

struct BoundStep {
  // Kernels.
  KernelFunction function;
  std::vector<std::int64_t> sizes;
  std::int64_t begin = 0;  // first index of axis 0
  std::int64_t range = 0;  // indices of axis 0; 0: nothing to do
  std::int64_t grain = 0;  // of them in one part of a parallel run
  const ir::Node* empty_axis = nullptr;  // fails: this node has nothing to choose from
  // Products.
  std::vector<ProductRun> runs;
  std::int64_t scratch_offset = 0, scratch_bytes = 0;  // in the arena; bytes of one run
  bool parallel = false;
  // Copies.
  std::int64_t copy_begin = 0, copy_bytes = 0;
  // Loops and branches. A loop has one body for each group of rows, run side by side.
  std::int64_t length = 0;
  std::vector<std::int64_t> spare_offsets;  // a second buffer for each carry
  std::vector<std::int64_t> slice_bytes;    // of each x, then of each y
  std::vector<std::unique_ptr<BoundPlan>> bodies;
  std::vector<std::int64_t> body_offsets;  // of their arenas in this one
};

struct BoundPlan {
  const Plan* plan = nullptr;
  std::vector<std::int64_t> bytes;    // of each slot
  std::vector<std::vector<std::int64_t>> dims;  // of each slot
  std::vector<std::int64_t> offsets;  // of temporaries in the arena; -1 for the others
  std::vector<BoundStep> steps;
  std::int64_t arena_bytes = 0;
  std::int64_t live_bytes = 0;  // the most that is alive at one step
};

using EvaluateDim = std::function<std::int64_t(const ir::Dim&)>;

/// Rows begin .. end - 1 of a loop that is cut; `scales` as in Sharding.
struct RowGroup {
  std::int64_t begin = 0, end = 0;
  const std::vector<std::int64_t>* scales = nullptr;
};

/// `kernels`: one per Program::kernels. Throws sdk::Failure for sizes that do not fit 63 bits.
std::unique_ptr<BoundPlan> bind_plan(const Plan& plan, const std::vector<BuiltKernel>& kernels,
                                     const std::vector<KernelFunction>& functions,
                                     const EvaluateDim& evaluate, ProductLibrary* library,
                                     const RowGroup* group = nullptr);

/// Bytes from one tensor to the next in an arena.
inline constexpr std::int64_t kAlignment = 64;

}  // namespace kiln::codegen
