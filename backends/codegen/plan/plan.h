// The execution plan of a graph: steps in order over numbered tensors. Sizes are symbolic; an
// executor binds them for each tuple of input sizes (bind/, host/bind). Bodies of loops and
// branches are plans themselves.
//
// Example: %0 = argument 0 float32[4,8] .. %2 = temporary, %3 = result 0
//          matmul %2 = %0 x %1
//          kernel k0_tanh(%2, %3)
#pragma once

#include "backends/codegen/claims/claim.h"
#include "backends/codegen/kernel/build/built_kernel.h"
#include "backends/codegen/plan/ids.h"

#include <deque>
#include <limits>
#include <memory>
#include <utility>
#include <variant>

namespace kiln::codegen {

/// A temporary: its memory is in the plan's arena (bind/arena.h).
struct TemporarySlot {};
struct ArgumentSlot {
  int number = 0;  // of the argument
};
struct ConstantSlot {
  std::shared_ptr<const std::vector<std::byte>> bytes;
};
struct ResultSlot {
  int number = 0;  // of the result
};

/// A tensor of a plan. The executor provides the memory of arguments, constants and results.
struct Slot {
  std::variant<TemporarySlot, ArgumentSlot, ConstantSlot, ResultSlot> kind;
  DType dtype = DType::Float32;
  ir::Dims dims;
  const ir::Node* node = nullptr;  // that has this value

  template <class Kind>
  bool is() const {
    return std::holds_alternative<Kind>(kind);
  }
};

struct Plan;

struct KernelStep {
  KernelId kernel;
  IdVector<OperandId, SlotId> slots;  // of each operand
};
/// A library call: a Dot or a Conv with its fused epilogue, min(relu(x + bias), relu_bound).
/// Executors prepare the call once for each tuple of sizes.
struct LibraryStep {
  const ir::Node* node = nullptr;
  DType dtype = DType::Float32;  // of operands, bias and result, but for a narrow rhs
  SlotId lhs, rhs, result;
  SlotId bias;  // a vector that is added to every row, or none
  bool relu = false;
  double relu_bound = std::numeric_limits<double>::infinity();  // above 0; finite only with relu
  std::optional<EpilogueOp> followed_by = {};  // an epilogue that was not fused, for dumps
};
/// A Dot. Operands and result are strided views of their slots, one matrix for each index of the
/// batch axes.
struct MatmulStep : LibraryStep {
  BatchedMatmul form;
  /// float16 or bfloat16: the dtype of rhs, which the call widens to float32
  /// (read_narrow_weights.h).
  std::optional<DType> narrow_rhs = {};

  DType rhs_dtype() const { return narrow_rhs.value_or(dtype); }
};
/// A Conv. Operands are dense; the filter is transposed where the target takes it so
/// (transpose_filters.h).
struct ConvolutionStep : LibraryStep {};
/// How a loop divides into groups of rows; see independent_rows.h.
struct IndependentRows {
  ir::Dim rows;  // leading dim of all tensors that the loop writes
  /// Of each step: indices of its axis 0 per row; 0: every group of rows runs the whole step.
  std::vector<std::int64_t> scales;
};
/// Whether one kernel can run a loop; see fuse_loops.h.
struct LoopFusion {
  /// How blocks divide the loop. One row and scales of 0: one block runs all of it.
  IndependentRows division;
  std::string reason = {};  // for a launch per step and iteration; empty: one kernel
};
/// A carry that is stored in the stacks of its values; see stack_carries.h. `before` and `after`
/// are numbers of the loop's results, -1 for none. With both, the stacks are one tensor of length +
/// 1 slices.
struct CarryStacks {
  int carry = 0;
  int before = -1;  // stacks the carry that each iteration reads
  int after = -1;  // stacks the carry that each iteration writes
};
struct LoopStep {
  const ir::Node* node = nullptr;
  std::vector<SlotId> operands, results;
  std::shared_ptr<const Plan> body;
  std::optional<IndependentRows> independent_rows = {};
  std::vector<CarryStacks> carry_stacks = {};  // ascending; the other carries have two buffers each
  std::optional<LoopFusion> fusion = {};  // none: the target does not fuse loops
};
struct BranchStep {
  const ir::Node* node = nullptr;
  std::vector<SlotId> operands, results;
  std::shared_ptr<const Plan> branches[2];  // then, else
};
struct HostCallStep {
  const ir::Node* node = nullptr;
  std::vector<SlotId> operands, results;
};
/// A ScatterSub: result[i] = x[i] - rate * (sum of the updates with index i), for the rows i that
/// have an index. Operands are dense.
struct RowUpdate {
  const ir::Node* node = nullptr;
  SlotId x, rate, indices, updates, result;
};
/// Checks all indices of all updates before the first write: although it can fail, its results may
/// share the buffers of its x.
struct RowUpdateStep {
  std::vector<RowUpdate> updates;
};
/// An Attention or AttentionGradient that the target takes. Operands are dense.
struct AttentionStep {
  const ir::Node* node = nullptr;
  std::vector<SlotId> operands, results;  // none: a result that nothing reads
};
struct CopyStep {
  SlotId from, to;
};
using Step = std::variant<KernelStep, MatmulStep, ConvolutionStep, LoopStep, BranchStep,
                          HostCallStep, RowUpdateStep, AttentionStep, CopyStep>;

/// Null for a step of another kind.
inline const LibraryStep* library_step(const Step& step) {
  if (const auto* matmul = std::get_if<MatmulStep>(&step)) return matmul;
  return std::get_if<ConvolutionStep>(&step);
}
inline LibraryStep* library_step(Step& step) {
  return const_cast<LibraryStep*>(library_step(std::as_const(step)));
}

struct Plan {
  IdVector<SlotId, Slot> slots;
  std::vector<Step> steps;
  std::vector<SlotId> arguments;  // slot of each argument; none when nothing reads it
  std::vector<SlotId> results;  // slot of each result: all different, none an argument or constant
  std::vector<ir::Guard> guards;  // of a lambda: checked on entry
  /// The parallel region: steps region_begin .. region_end - 1, which are independent
  /// (find_region.h).
  std::size_t region_begin = 0, region_end = 0;
  /// The opening: steps 0 .. opening_end - 1, kernels of arguments and constants
  /// (gather_equal_kernels.h).
  std::size_t opening_end = 0;
};

/// The outcome of the decision about one node.
struct ClaimOutcome {
  ClaimDecision decision;
  std::vector<std::string> fused;  // epilogues, and widening of weights, fused into the call
  std::vector<std::string> not_fused;  // epilogues that kernels compute, with the reason
  KernelId kernel = {};  // of a node that is not taken
};

/// A compiled graph: its plan, and the kernels of the plan and of its bodies.
struct Program {
  Plan plan;
  BuiltKernels kernels;
  std::vector<ClaimOutcome> claims;  // of every node for whose op there is a claim
  std::vector<ir::Value> nodes;  // keeps the nodes alive that the program refers to
};

/// The readable form, as dumps show it.
std::string print(const Program& program);
/// One step in one line, without bodies.
std::string print(const Program& program, const Step& step);
/// ", relu", ", relu up to 6" or nothing.
std::string print_relu(const LibraryStep& step);
/// The line above the steps of a region. REQUIRES: the region is not empty.
std::string print_region(const Plan& plan);
/// The same for the opening.
std::string print_opening(const Plan& plan);
/// The decision, the outcome and the reasons for each node of ClaimOutcome.
std::string print_claims(const Program& program);

}  // namespace kiln::codegen
