// A plan bound to one tuple of sizes: extents evaluated, library calls prepared, memory planned.
// Immutable and shared by runs.
#pragma once

#include "backends/codegen/bind/arena.h"
#include "backends/codegen/bind/bind_failure.h"
#include "backends/codegen/bind/bind_loop.h"
#include "backends/codegen/host/prepared/kernel_function.h"
#include "backends/codegen/host/prepared/matmul.h"

#include <type_traits>
#include <variant>

namespace kiln::codegen {

/// One matmul of a step: the prepared call and the offsets of its operands, in elements.
struct MatmulCall {
  std::shared_ptr<const PreparedMatmul> matmul;
  std::int64_t lhs = 0, rhs = 0, result = 0, bias = 0;
  std::int64_t packed_offset = -1;  // of the rhs in ExecutionList::packed; -1: not packed
  bool shares_rhs = false;          // reads BoundMatmul::shared_rhs
};

/// An rhs of matmuls, or the filter of a convolution, that is packed before the steps run, and
/// again when its tensor's version changes.
struct Packing {
  std::shared_ptr<const Packer> packer;
  int source = 0;           // in a loop's body: an operand of the loop; else a slot
  std::int64_t rhs = 0;     // offset of the matrix in it, in elements
  MatmulShape shape = {};   // of a matmul with this rhs; default for a filter
  std::int64_t offset = 0;  // in ExecutionList::packed
};

/// The rhs of a matmul that is divided along M: packed once, before
/// the parts run, in front of their scratch.
struct SharedRhs {
  std::shared_ptr<const Packer> packer;  // null: the rhs is read in place
  std::int64_t begin = 0;                // offset of the matrix in its slot, in elements
  std::int64_t bytes = 0;                // when packed
};

struct BoundPlan;

/// Working memory of a step.
struct Scratch {
  std::int64_t offset = 0;  // in the arena
  std::int64_t bytes = 0;   // of one part
};

/// The plans of a loop's or a branch's bodies.
struct BoundBodies {
  std::vector<std::unique_ptr<BoundPlan>> plans;
  std::vector<std::int64_t> offsets;  // of their arenas in the arena of the enclosing plan
  std::int64_t packed_offset = 0;     // of their packed operands in its packed memory
};

struct BoundKernel {
  KernelFunction function;
  std::vector<std::int64_t> sizes;
  std::int64_t begin = 0;                // first index of axis 0
  std::int64_t range = 0;                // number of indices; 0: no work
  std::int64_t grain = 0;                // indices of a part of a parallel run
  const ir::Node* empty_axis = nullptr;  // an ArgMax over an empty axis: the step fails
  bool parallel = false;
};

struct BoundMatmul {
  std::vector<MatmulCall> calls;  // empty: K is 0, or the result has no elements
  std::int64_t n = 0;             // columns of the result
  SharedRhs shared_rhs;
  Scratch scratch;
  bool parallel = false;
};

struct BoundConvolution {
  std::shared_ptr<const PreparedConvolution> convolution;  // null: an empty operand or result
  std::int64_t n = 0;               // channels of the result
  std::int64_t packed_filter = -1;  // offset in ExecutionList::packed; -1: not packed
  Scratch scratch;
  bool parallel = false;
};

/// A loop with one body per group of rows; groups run in parallel.
struct BoundLoop : LoopBinding {
  std::vector<std::int64_t> spare_offsets;  // of each carry's second buffer, if it has one
  BoundBodies bodies;
};

struct BoundBranch {
  BoundBodies bodies;  // then, else
};

struct BoundHostCall {};

/// The updates of a step; their entries follow each other in the scratch.
struct BoundRowUpdates {
  std::vector<PreparedRowUpdate> updates;
  Scratch scratch;
};

struct BoundCopy {
  std::int64_t begin = 0, bytes = 0;
};

using BoundStep = std::variant<BoundKernel, BoundMatmul, BoundConvolution, BoundLoop, BoundBranch,
                               BoundHostCall, BoundRowUpdates, BoundCopy>;

/// The bodies of a loop or a branch; null for other steps.
template <class Bound>
auto* bodies_of(Bound& step) {
  using Bodies = std::conditional_t<std::is_const_v<Bound>, const BoundBodies, BoundBodies>;
  Bodies* none = nullptr;
  if (auto* loop = std::get_if<BoundLoop>(&step)) return static_cast<Bodies*>(&loop->bodies);
  if (auto* branch = std::get_if<BoundBranch>(&step)) return static_cast<Bodies*>(&branch->bodies);
  return none;
}

struct BoundPlan {
  const Plan* plan = nullptr;
  /// The error of entering a body that cannot run with these sizes. `plan` then points to an empty
  /// Plan, and no other member is set.
  std::optional<BindFailure> failure = {};
  SlotSizes sizes;
  Arena arena;
  std::vector<BoundStep> steps;
  bool parallel_region = false;  // run the kernels of the plan's region in parallel
  /// Steps that run only when the version of one of `cached_arguments` changes; see cached_steps.h.
  std::vector<std::uint8_t> is_cached_step;
  std::vector<int> cached_arguments;         // slots
  /// For each slot that those steps write, its offset in ExecutionList::packed; -1: other slots.
  std::vector<std::int64_t> cached_offsets;
  std::vector<Packing> packings;
  std::int64_t packed_bytes = 0;  // of packings, of cached slots, and of the bodies' packed memory
};

}  // namespace kiln::codegen
