// A plan made ready for one tuple of sizes: extents evaluated, products prepared, memory planned.
// Immutable once made; runs share it.
#pragma once

#include "backends/codegen/bind/arena.h"
#include "backends/codegen/bind/bind_failure.h"
#include "backends/codegen/bind/bind_loop.h"
#include "backends/codegen/host/prepared/kernel_function.h"
#include "backends/codegen/host/prepared/product.h"

#include <type_traits>
#include <variant>

namespace kiln::codegen {

/// A prepared product and where its matrices begin, in elements.
struct ProductRun {
  std::shared_ptr<const PreparedProduct> product;
  std::int64_t lhs = 0, rhs = 0, result = 0;
  std::int64_t bias = 0;            // likewise
  std::int64_t packed_offset = -1;  // of rhs in Tape::packed; -1: it is not there
  bool shares_rhs = false;          // reads BoundMatmul::shared_rhs
};

/// A rhs of matmuls, or the filter of a convolution, that is packed before the calls and again when
/// its tensor's version changes.
struct Packing {
  std::shared_ptr<const Packer> product;
  int source = 0;             // in a loop's body: the loop's operand; else a slot
  std::int64_t rhs = 0;       // where the matrix begins in it, in elements
  MatrixProduct matrix = {};  // whose rhs it is; of a filter: a float32 one
  std::int64_t offset = 0;    // in Tape::packed
};

/// The right operand of a product that is split by rows: packed once, before the parts run, in
/// front of their scratch.
struct SharedRhs {
  std::shared_ptr<const Packer> packer;  // null: it is read where it lies
  std::int64_t begin = 0;                // of the matrix in its slot, in elements
  std::int64_t bytes = 0;                // when packed
};

struct BoundPlan;

/// Memory that a step needs for itself.
struct Scratch {
  std::int64_t offset = 0;  // in the arena
  std::int64_t bytes = 0;   // of one run
};

/// The plans of a loop's or a branch's bodies.
struct BoundBodies {
  std::vector<std::unique_ptr<BoundPlan>> plans;
  std::vector<std::int64_t> offsets;  // of their arenas in that of the plan that holds them
  std::int64_t packed_offset = 0;     // of what they share in its packed memory
};

struct BoundKernel {
  KernelFunction function;
  std::vector<std::int64_t> sizes;
  std::int64_t begin = 0;                // first index of axis 0
  std::int64_t range = 0;                // indices of axis 0; 0: nothing to do
  std::int64_t grain = 0;                // of them in one part of a parallel run
  const ir::Node* empty_axis = nullptr;  // fails: this node has nothing to choose from
  bool parallel = false;
};

struct BoundMatmul {
  std::vector<ProductRun> runs;  // empty: nothing to sum, or no result
  std::int64_t columns = 0;
  SharedRhs shared_rhs;
  Scratch scratch;
  bool parallel = false;
};

struct BoundConvolution {
  std::shared_ptr<const PreparedConvolution> convolution;  // null: nothing to sum, or no result
  std::int64_t columns = 0;
  std::int64_t packed_kernel = -1;  // in Tape::packed
  Scratch scratch;
  bool parallel = false;
};

/// It has one body for each group of rows; groups run side by side.
struct BoundLoop : LoopBinding {
  std::vector<std::int64_t> spare_offsets;  // a second buffer for each carry that has one
  BoundBodies bodies;
};

struct BoundBranch {
  BoundBodies bodies;  // then, else
};

struct BoundHostCall {};

/// The updates of a step, with their entries one behind the other in the scratch.
struct BoundRowUpdates {
  std::vector<PreparedRowUpdate> updates;
  Scratch scratch;
};

struct BoundCopy {
  std::int64_t begin = 0, bytes = 0;
};

using BoundStep = std::variant<BoundKernel, BoundMatmul, BoundConvolution, BoundLoop, BoundBranch,
                               BoundHostCall, BoundRowUpdates, BoundCopy>;

/// Null for a step that has none.
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
  /// Set for a body that cannot run with these sizes: the error of entering it. `plan` is then
  /// empty and no other member is set.
  std::optional<BindFailure> failure = {};
  SlotSizes sizes;
  Arena arena;
  std::vector<BoundStep> steps;
  bool parallel_region = false;  // the kernels of the plan's region run on several threads
  /// Steps that run when the version of one of `kept_arguments` changes; see kept_steps.h.
  std::vector<std::uint8_t> is_kept_step;
  std::vector<int> kept_arguments;         // slots
  std::vector<std::int64_t> kept_offsets;  // of slots they write, in Tape::packed; -1: others
  std::vector<Packing> packings;
  std::int64_t packed_bytes = 0;  // of these, of kept slots and of the bodies'
};

}  // namespace kiln::codegen
