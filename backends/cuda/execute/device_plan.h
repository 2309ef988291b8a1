// Binds a plan to one tuple of sizes: evaluates grids, trip counts and offsets of temporaries. A
// bound plan is immutable; concurrent calls share it.
#pragma once

#include "backends/codegen/bind/bind_failure.h"
#include "backends/codegen/bind/bind_loop.h"
#include "backends/codegen/bind/build_arena.h"
#include "backends/codegen/bind/memory_report.h"
#include "backends/cuda/execute/bind_attention.h"
#include "backends/cuda/execute/bind_half_attention.h"
#include "backends/cuda/execute/bind_collective.h"
#include "backends/cuda/execute/bind_convolution.h"
#include "backends/cuda/execute/bind_matmul.h"
#include "backends/cuda/execute/bind_row_loop.h"
#include "backends/cuda/execute/cached_tensors.h"
#include "backends/cuda/execute/launch_kernel.h"
#include "backends/cuda/execute/segments.h"

#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace kiln::cuda {

/// The address of each slot of a plan; 0 where a tensor has no elements or nothing reads it.
using SlotAddresses = IdVector<codegen::SlotId, api::DeviceAddress>;

struct DevicePlan;

/// A body of a loop or a branch, and the offset of its arena in that of the enclosing plan.
struct DeviceBody {
  std::unique_ptr<DevicePlan> plan;
  std::int64_t offset = 0;
};

/// A kernel step with the sizes of a call.
struct KernelLaunch : BoundKernel {
  std::int64_t partials = 0;             // offset in the arena of GridLaunch::partial_bytes
  const ir::Node* empty_axis = nullptr;  // an ArgMax over an axis of size 0: the step throws
};
/// A loop step with its trip count and the buffers of its carries.
struct DeviceLoop {
  codegen::LoopBinding loop;
  /// For each carry: the offset in the arena of the second buffer of a double-buffered carry;
  /// else -1.
  std::vector<std::int64_t> spare_offsets;
  DeviceBody body;
  std::optional<BoundRowLoop> kernel = {};  // that runs all iterations; none: each step is launched
  bool ends_early = false;  // a While: the host reads its first carry before each iteration
  std::int64_t step_number = 0;  // of a While: the offset in the arena of t
};
struct DeviceBranch {
  DeviceBody bodies[2];  // of a true predicate, of a false one
};
struct DeviceHostCall {};
struct DeviceCopy {};

using DeviceStep = std::variant<KernelLaunch, DeviceMatmul, DeviceConvolution, DeviceAttention,
                                DeviceHalfAttention, DeviceLoop, DeviceBranch, DeviceHostCall,
                                DeviceCollectiveStart, DeviceCollectiveWait, DeviceCopy>;

/// Steps begin .. end - 1, which do not depend on each other, by launch: steps of one function are
/// one launch, up to GridSchedule::batch of them. Cached steps and launches without points are in
/// none.
struct BatchedSteps {
  std::size_t begin = 0, end = 0;
  std::vector<std::vector<std::size_t>> launches;
};

struct DevicePlan {
  const codegen::Plan* plan = nullptr;
  /// The error of entering a body that cannot run with these sizes. `plan` then points to an empty
  /// Plan, and no other member is set.
  std::optional<codegen::BindFailure> failure = {};
  codegen::SlotSizes sizes;
  std::vector<DeviceStep> steps;  // one per step of the plan
  codegen::Arena arena;
  /// Steps whose results outlive the call, and the memory of each group of them; none in bodies.
  const codegen::CachedSteps* cached = nullptr;
  std::vector<CachedLayout> cached_layouts;
  /// The slots outside of the arena whose addresses other steps get: arguments, results, and one of
  /// each group of cached steps. None in bodies.
  std::vector<codegen::SlotId> given_slots;
  std::int64_t longest_loop = 0;  // maximum trip count, bodies included
  std::int64_t operations = 0;  // steps that queue work, loops unrolled; saturates
  std::int64_t arrivals = 0;  // maximum GridLaunch::arrivals of a launch, bodies included
  bool waits_for_host = false;  // has a branch, a host call, a collective or a step that throws
  std::vector<Segment> segments;  // of the steps, in order
  /// The opening and the parallel region, where they have steps; none in bodies.
  std::vector<BatchedSteps> batched;
  /// Kernel launches are numbered from 0 in the order of the steps, with loops unrolled, also those
  /// that are one kernel, and both bodies of branches counted. Their count, which saturates, and
  /// the first number of each step.
  std::int64_t launches = 0;
  std::vector<std::int64_t> first_launches;
  std::vector<DeviceCollective> collectives;  // in the order of their steps; none in bodies
  std::int64_t collective_bytes = 0;  // of the memory that they need, for the call
};

/// All members but `evaluate` outlive the bound plan.
struct DeviceBindInputs {
  const codegen::Program& program;
  const codegen::ProgramFacts& facts;  // of the program
  const LoadedKernels& kernels;  // of the program
  const LoadedLoops& loops;  // likewise
  const codegen::GridDescription& grid;
  const MatmulLibrary* matmuls;  // null: the program has none
  const CudnnLibrary* cudnn;  // likewise
  const AttentionKernels& attention_kernels;
  const RankKernels* rank_kernels;  // null: the host runs collectives
  const codegen::EvaluateDim& evaluate;
};

/// Binds the plan and its bodies. Throws codegen::SizeFailure for tensors of more than 2^63 - 1
/// bytes, InternalError for a step that this backend has no library for, and as bind_matmul,
/// bind_convolution, bind_attention and bind_half_attention. REQUIRES: a ScopedContext of the
/// thread.
std::unique_ptr<DevicePlan> bind_device_plan(const codegen::Plan& plan,
                                             const DeviceBindInputs& inputs);

/// The step of the launch with that number, of the plan or of a body. REQUIRES: number <
/// plan.launches.
const codegen::KernelStep& kernel_of_launch(const DevicePlan& plan, std::int64_t number);

/// Throws codegen::SizeFailure if CallBlock::step cannot number all launches.
void check_launches(const DevicePlan& plan);

/// The notes of a memory report on memory besides the arena: cached tensors, then the bytes of
/// collectives and the buffer of each.
codegen::MemoryNotes memory_notes(const DevicePlan& plan);

/// The memory of the plan and its bodies, without that of cached tensors and collectives. `plan`
/// outlives the result.
codegen::PlanMemory memory_of(const DevicePlan& plan);

}  // namespace kiln::cuda
