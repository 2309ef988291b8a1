// A plan bound to one tuple of sizes: extents evaluated, library calls prepared, memory planned.
// Immutable and shared by runs.
#pragma once

#include "backends/codegen/bind/arena.h"
#include "backends/codegen/bind/bind_failure.h"
#include "backends/codegen/bind/bind_loop.h"
#include "backends/codegen/bind/plan_facts.h"
#include "backends/codegen/host/prepared/kernel_function.h"
#include "backends/codegen/host/prepared/matmul.h"
#include "backends/codegen/plan/step_times.h"
#include "backends/codegen/host/bind/weight_form.h"

#include <span>
#include <type_traits>
#include <utility>
#include <variant>

namespace kiln::codegen {

/// One matmul of a step: the prepared call and the offsets of its operands, in elements.
struct MatmulCall {
  std::shared_ptr<const PreparedMatmul> matmul;
  std::int64_t lhs = 0, rhs = 0, result = 0, bias = 0;
  int packing = -1;                // of the rhs, in BoundPlan::packings; -1: not packed
  std::int64_t packed_offset = 0;  // of the rhs in it, in bytes
  bool shares_rhs = false;         // reads BoundMatmul::shared_rhs
};

/// A range of columns of a Packing that one packer packs.
struct PackingPart {
  std::shared_ptr<const Packer> packer;
  std::int64_t begin = 0;   // of the columns in the operand, in elements
  std::int64_t offset = 0;  // in the packed operand, in bytes
};

/// An rhs of matmuls, or the filter of a convolution, that is packed before the steps run, and
/// again when its tensor's version changes.
struct Packing {
  std::size_t first_part = 0, last_part = 0;  // a range of BoundPlan::packing_parts
  SlotId source;            // in a loop's body: an argument
  std::int64_t rhs = 0;     // offset of the matrix in it, in elements
  MatmulShape shape = {};   // of a matmul with this rhs; default for a filter
  std::int64_t bytes = 0;   // when packed
  /// In BoundLoop::packed of the enclosing loop; -1: it is a weight of the program.
  std::int64_t offset = -1;
};

/// The operand of the loop that a packing of its body packs.
inline SlotId packed_operand(const LoopStep& loop, const Packing& packing) {
  const int argument = std::get<ArgumentSlot>(loop.body->slots[packing.source].kind).number;
  return loop.operands[static_cast<std::size_t>(argument - 1)];  // argument 0 is t
}

/// The rhs of a matmul that is divided along M: packed once, before
/// the parts run, in front of their scratch.
struct SharedRhs {
  std::shared_ptr<const Packer> packer;  // null: the rhs is read in place
  std::int64_t begin = 0;                // offset of the matrix in its slot, in elements
  std::int64_t bytes = 0;                // when packed
};

/// Destroys an object in the memory resource that it was created in.
template <class T>
struct DeleteIn {
  std::pmr::memory_resource* memory = nullptr;
  void operator()(T* object) const {
    std::pmr::polymorphic_allocator<>(memory).delete_object(object);
  }
};
template <class T>
using PtrIn = std::unique_ptr<T, DeleteIn<T>>;
template <class T, class... Arguments>
PtrIn<T> make_in(std::pmr::memory_resource* memory, Arguments&&... arguments) {
  std::pmr::polymorphic_allocator<> allocator(memory);
  return {allocator.new_object<T>(std::forward<Arguments>(arguments)...), DeleteIn<T>{memory}};
}

struct BoundPlan;
using BoundPlanPtr = PtrIn<BoundPlan>;

/// Working memory of a step.
struct Scratch {
  std::int64_t offset = 0;  // in the arena
  std::int64_t bytes = 0;   // of one part
};

/// The plans of a loop's or a branch's bodies.
struct BoundBodies {
  List<BoundPlanPtr> plans;
  List<std::int64_t> offsets;  // of their arenas in the arena of the enclosing plan
};

struct BoundKernel {
  KernelFunction function;
  List<std::int64_t> sizes;
  std::int64_t begin = 0;                // first index of axis 0
  std::int64_t range = 0;                // number of indices; 0: no work
  std::int64_t grain = 0;                // indices of a part of a parallel run
  const ir::Node* empty_axis = nullptr;  // an ArgMax over an empty axis: the step fails
  bool parallel = false;
};

struct BoundMatmul {
  List<MatmulCall> calls;         // empty: K is 0, or the result has no elements
  std::int64_t n = 0;             // columns of the result
  SharedRhs shared_rhs;
  Scratch scratch;
  bool parallel = false;
  StepCost cost = {};
};

struct BoundConvolution {
  std::shared_ptr<const PreparedConvolution> convolution;  // null: an empty operand or result
  std::int64_t n = 0;  // channels of the result
  int packing = -1;    // of the filter, in BoundPlan::packings; -1: not packed
  Scratch scratch;
  bool parallel = false;
  StepCost cost = {};
};

/// A loop with one body per group of rows; groups run in parallel and share the packed operands of
/// the first.
struct BoundLoop : LoopBinding {
  BoundLoop(LoopBinding binding, std::pmr::memory_resource* memory)
      : LoopBinding(std::move(binding)),
        spare_offsets(carries.size(), 0, memory),
        bodies{List<BoundPlanPtr>(memory), List<std::int64_t>(memory)} {}

  List<std::int64_t> spare_offsets;  // of each carry's second buffer, if it has one
  BoundBodies bodies;
  Scratch packed;  // operands that are packed whenever the loop begins
};

struct BoundBranch {
  BoundBodies bodies;  // then, else
};

struct BoundHostCall {};

/// The updates of a step; their entries follow each other in the scratch.
struct BoundRowUpdates {
  List<PreparedRowUpdate> updates;
  Scratch scratch;
};

struct BoundAttention {
  std::shared_ptr<const PreparedAttention> attention;  // null: no results
  std::int64_t runs = 1;  // that divide the parts
  std::int64_t shared_bytes = 0;  // of all runs, before their own scratch
  Scratch scratch;  // of one run
  StepCost cost = {};
};

struct BoundCopy {
  std::int64_t begin = 0, bytes = 0;
};

/// A loop is not stored in place, since most steps are smaller.
using BoundStep =
    std::variant<BoundKernel, BoundMatmul, BoundConvolution, PtrIn<BoundLoop>, BoundBranch,
                 BoundHostCall, BoundRowUpdates, BoundAttention, BoundCopy>;

/// Null for a step of another kind.
inline BoundLoop* loop_of(BoundStep& step) {
  auto* loop = std::get_if<PtrIn<BoundLoop>>(&step);
  return loop ? loop->get() : nullptr;
}
inline const BoundLoop* loop_of(const BoundStep& step) {
  return loop_of(const_cast<BoundStep&>(step));
}

/// The bodies of a loop or a branch; null for other steps.
template <class Bound>
auto* bodies_of(Bound& step) {
  using Bodies = std::conditional_t<std::is_const_v<Bound>, const BoundBodies, BoundBodies>;
  Bodies* none = nullptr;
  if (auto* loop = loop_of(step)) return static_cast<Bodies*>(&loop->bodies);
  if (auto* branch = std::get_if<BoundBranch>(&step)) return static_cast<Bodies*>(&branch->bodies);
  return none;
}

/// A tensor that depends on unchanged variables alone, in memory that all plans of the program
/// share (shared_weights.h): a packed operand or the results of a group of cached steps.
struct BoundWeight {
  std::shared_ptr<const WeightForm> form;
  int group = -1;   // whose arguments it depends on: of CachedSteps::groups; -1: on `slot` alone
  SlotId slot;      // of the packed tensor; none: the results of the group
  int loop = -1;    // step whose body has the packing; -1: the plan has it
  int packing = 0;  // index in BoundPlan::packings
};

struct BoundPlan {
  explicit BoundPlan(std::pmr::memory_resource* memory)
      : sizes(memory),
        arena(memory),
        steps(memory),
        cached_offsets(memory),
        packings(memory),
        packing_parts(memory),
        weights(memory) {}

  std::span<const PackingPart> parts_of(const Packing& packing) const {
    return std::span(packing_parts)
        .subspan(packing.first_part, packing.last_part - packing.first_part);
  }

  const Plan* plan = nullptr;
  const PlanFacts* facts = nullptr;  // of `plan`
  /// The error of entering a body that cannot run with these sizes. `plan` and `facts` are then
  /// those of an empty Plan, and no other member is set.
  std::optional<BindFailure> failure = {};
  SlotSizes sizes;
  Arena arena;
  List<BoundStep> steps;
  bool parallel_region = false;  // run the kernels of the plan's region in parallel
  /// For each slot that cached steps write, its offset in the memory of their group; -1: other
  /// slots. Empty without cached steps.
  SlotList<std::int64_t> cached_offsets;
  List<Packing> packings;
  List<PackingPart> packing_parts;  // of all packings, in order
  List<BoundWeight> weights;  // of the program's plan: groups of cached steps, then packings
  std::int64_t weight_bytes = 0;  // of these
  std::int64_t retained_bytes = 0;  // of prepared library calls, see Packer::retained_bytes()
};

}  // namespace kiln::codegen
