// A plan made ready for one tuple of sizes: extents evaluated, products prepared, memory planned.
// Immutable once made; runs share it.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/codegen/host/prepared/kernel_function.h"
#include "backends/codegen/host/prepared/product.h"
#include "backends/codegen/plan/plan_memory.h"
#include "backends/codegen/plan/plan.h"

#include <functional>

namespace kiln::codegen {

/// A prepared product and where its matrices begin, in elements.
struct ProductRun {
  std::shared_ptr<const PreparedProduct> product;
  std::int64_t lhs = 0, rhs = 0, result = 0;
  std::int64_t bias = 0;            // likewise
  std::int64_t packed_offset = -1;  // of rhs in Tape::packed; -1: it is not there
  bool shares_rhs = false;          // reads BoundStep::shared_rhs
};

/// A right operand that is packed before its products run and kept as long as it is the same.
struct Packing {
  std::shared_ptr<const Packer> product;
  int source = 0;            // in a loop's body: the loop's operand; else a slot
  std::int64_t rhs = 0;      // where the matrix begins in it, in elements
  MatrixProduct matrix = {}; // whose rhs it is
  std::int64_t offset = 0;   // in Tape::packed
};

/// The right operand of a product that is split by rows: packed once, before the parts run, in
/// front of their scratch.
struct SharedRhs {
  std::shared_ptr<const Packer> packer;  // null: it is read where it lies
  std::int64_t begin = 0;                // of the matrix in its slot, in elements
  std::int64_t bytes = 0;                // when packed
};

/// How a slot of a loop's body moves from one iteration to the next.
struct LoopMove {
  int slot = 0;
  std::int64_t bytes = 0;
};
struct LoopCarry {
  std::size_t number = 0;
  int argument = -1, result = 0;  // slots of the body; -1: nothing reads it
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
  std::int64_t columns = 0;
  std::vector<ProductRun> runs;
  SharedRhs shared_rhs;
  std::shared_ptr<const PreparedConvolution> convolution;  // null: a Dot, or nothing to sum
  std::int64_t packed_kernel = -1;  // of the convolution, in Tape::packed
  std::int64_t scratch_offset = 0, scratch_bytes = 0;  // in the arena; bytes of one run
  bool parallel = false;
  // Copies.
  std::int64_t copy_begin = 0, copy_bytes = 0;
  // Loops and branches. A loop has one body for each group of rows, run side by side.
  std::int64_t length = 0;
  std::vector<std::int64_t> spare_offsets;  // a second buffer for each carry
  std::vector<std::int64_t> slice_bytes;    // of each x, then of each y
  std::int64_t direction = 1;               // of t
  std::vector<LoopMove> moves;
  std::vector<LoopCarry> carries;
  std::vector<std::unique_ptr<BoundPlan>> bodies;
  std::vector<std::int64_t> body_offsets;  // of their arenas in this one
  std::int64_t packed_offset = 0;          // of what they share in this one's packed memory
};

/// The error of entering a body that cannot be bound to the call's sizes.
struct BindFailure {
  std::uint32_t code = 0;  // KILN_CODE_*
  std::string text;
};

/// Sizes with which a plan cannot run.
class SizeFailure : public sdk::Failure {
 public:
  using Failure::Failure;
};

/// What lies at one place of an arena, for dumps and errors.
struct ArenaBlock {
  enum class Kind : std::uint8_t { Tensors, Scratch, SpareCarry, Body };
  Kind kind = Kind::Tensors;
  MemoryBlock memory;
  std::vector<int> slots;  // of tensors: each is written over the one before
  int step = 0;            // of the others: whose memory it is
};

struct BoundPlan {
  const Plan* plan = nullptr;
  /// Set for a body that cannot run with these sizes: the error of entering it. `plan` is then
  /// empty and no other member is set.
  std::optional<BindFailure> failure = {};
  std::vector<std::int64_t> bytes;    // of each slot
  std::vector<std::vector<std::int64_t>> dims;  // of each slot
  std::vector<std::int64_t> offsets;  // of temporaries in the arena; -1 for the others
  std::vector<BoundStep> steps;
  std::int64_t arena_bytes = 0;
  std::int64_t live_bytes = 0;  // the most that is alive at one step
  std::vector<ArenaBlock> blocks;
  std::vector<Packing> packings;
  std::int64_t packed_bytes = 0;  // of these and of the bodies'
};

using EvaluateDim = std::function<std::int64_t(const ir::Dim&)>;

}  // namespace kiln::codegen
