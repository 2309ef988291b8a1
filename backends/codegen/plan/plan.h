// A Plan: steps in order over numbered tensors. Sizes are still symbolic; bind_plan.h makes it
// ready for one tuple of them. Bodies of loops and branches are plans of their own.
#pragma once

#include "backends/codegen/claims/claim.h"
#include "backends/codegen/kernel/build/built_kernel.h"

#include <deque>
#include <memory>
#include <utility>
#include <variant>

namespace kiln::codegen {

/// A tensor of a plan. Results of the plan and what lies outside are given by whoever runs it.
struct Slot {
  enum class Kind : std::uint8_t { Argument, Constant, Result, Temporary } kind = Kind::Temporary;
  DType dtype = DType::Float32;
  ir::Dims dims;
  int number = 0;                                       // of the argument or the result
  std::shared_ptr<const std::vector<std::byte>> bytes;  // of a constant
  const ir::Node* node = nullptr;                       // whose value it is
};

struct Plan;

struct KernelStep {
  int kernel = 0;          // in Program::kernels
  std::vector<int> slots;  // one per operand
};
/// A library call: a Dot or a Conv with its fused epilogue. Executors prepare the call once for
/// each tuple of sizes.
struct LibraryStep {
  const ir::Node* node = nullptr;
  DType dtype = DType::Float32;  // of operands, bias and result
  int lhs = 0, rhs = 0, result = 0;
  int bias = -1;      // epilogue: slot of a vector that is added to every row; -1: none
  bool relu = false;  // epilogue: applied last
  std::optional<EpilogueOp> followed_by = {};  // an epilogue that a kernel computes instead
};
/// A Dot. Operands and result are strided views of their slots, in elements: one matrix for each
/// index of the batch axes.
struct MatmulStep : LibraryStep {
  ProductForm form;
};
/// A Conv. Operands are the whole of their slots.
struct ConvolutionStep : LibraryStep {};
/// How a loop is cut into groups of rows; see find_sharding.h.
struct Sharding {
  ir::Dim rows;                      // leading dim of all that the loop writes
  std::vector<std::int64_t> scales;  // of each step: indices to a row; 0: not by rows
};
/// A carry that lies in stacks of its loop; see stack_carries.h. Numbers of the loop's results;
/// -1: none. With both, the stacks are one tensor of length + 1 slices.
struct CarryStacks {
  int carry = 0;
  int before = -1;  // stacks the carry as each iteration finds it
  int after = -1;   // stacks the carry as each iteration leaves it
};
struct LoopStep {
  const ir::Node* node = nullptr;
  std::vector<int> operands, results;
  std::shared_ptr<const Plan> body;
  std::optional<Sharding> sharding = {};
  std::vector<CarryStacks> carry_stacks = {};  // ascending; the other carries have two buffers each
};
struct BranchStep {
  const ir::Node* node = nullptr;
  std::vector<int> operands, results;
  std::shared_ptr<const Plan> branches[2];  // then, else
};
struct HostCallStep {
  const ir::Node* node = nullptr;
  std::vector<int> operands, results;
};
/// A ScatterSub: rows of `x` minus the rate times the sum of their updates. Operands are dense.
struct RowUpdate {
  const ir::Node* node = nullptr;
  int x = 0, rate = 0, indices = 0, updates = 0, result = 0;
};
/// Checks all indices of all updates before the first write, so that it may write a result over
/// its x although it can fail.
struct RowUpdateStep {
  std::vector<RowUpdate> updates;
};
struct CopyStep {
  int from = 0, to = 0;
};
using Step = std::variant<KernelStep, MatmulStep, ConvolutionStep, LoopStep, BranchStep,
                          HostCallStep, RowUpdateStep, CopyStep>;

/// Null for a step of another kind.
inline const LibraryStep* library_step(const Step& step) {
  if (const auto* matmul = std::get_if<MatmulStep>(&step)) return matmul;
  return std::get_if<ConvolutionStep>(&step);
}
inline LibraryStep* library_step(Step& step) {
  return const_cast<LibraryStep*>(library_step(std::as_const(step)));
}

struct Plan {
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<int> arguments;  // slot of each argument; -1 when nothing reads it
  std::vector<int> results;    // slot of each result: all different, none an argument or constant
  std::vector<ir::Guard> guards;  // of a lambda: checked on entering it
  /// Steps that run side by side: kernels that make results which no other step reads.
  std::size_t region_begin = 0, region_end = 0;
};

/// The outcome of the decision about one node.
struct ClaimOutcome {
  ClaimDecision decision;
  std::vector<std::string> absorbed;  // epilogues that are fused into the call
  std::vector<std::string> left;      // epilogues that kernels compute, with the reason
  int kernel = -1;                    // in Program::kernels, of a node that is not taken
};

/// A whole compiled graph: its plan and every kernel of it and of its bodies.
struct Program {
  Plan plan;
  std::vector<BuiltKernel> kernels;
  std::vector<ClaimOutcome> claims;  // of every node that some claim is about
  std::vector<ir::Value> nodes;      // keeps alive what the program points to
};

/// The readable form, as dumps show it.
std::string print(const Program& program);
/// One step in one line, without bodies.
std::string print(const Program& program, const Step& step);
/// The line above the steps of a region. REQUIRES: there are some.
std::string print_region(const Plan& plan);
/// Which node went to the library, and why the others did not.
std::string print_claims(const Program& program);

}  // namespace kiln::codegen
