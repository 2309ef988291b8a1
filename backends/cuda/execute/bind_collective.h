// Binds a collective that NCCL runs to the sizes of a call: its kernels and its memory.
#pragma once

#include "backends/codegen/bind/slot_sizes.h"
#include "backends/codegen/plan/plan.h"
#include "backends/cuda/execute/rank_kernels.h"
#include "core/ops/collective_payload.h"

#include <span>

namespace kiln::cuda {

/// A collective with the sizes of a call. It runs when its operands are there, in a buffer that it
/// has until its results are copied. A rank that has failed sends zeros.
struct DeviceCollective {
  ir::CollectiveAttrs attrs;
  const ir::Node* node = nullptr;  // the call of the host that starts it
  std::vector<codegen::SlotId> operands;  // whose elements follow each other
  std::int64_t bytes = 0;          // of the operands together
  /// Bytes that each rank sends to each other at a time: of a sum that one rank adds, or all.
  std::int64_t part = 0;
  bool is_gathered_sum = false;  // a small one, of which every rank gets and adds all parts
  std::optional<BoundGraphKernel> reduction;  // of the parts of all ranks
  /// Of operands with blocks of several ranks before the collective, of results after it.
  std::optional<BoundGraphKernel> swap;
  std::int64_t buffer = 0, buffer_bytes = 0;  // in the call's memory for collectives
  std::int64_t work_bytes = 0;  // needed while it runs, at the beginning of that memory
  std::int64_t result_bytes = 0;
};

struct DeviceCollectiveStart {
  std::size_t number = 0;  // in DevicePlan::collectives
};
struct DeviceCollectiveWait {
  std::size_t number = 0;
};

/// Throws sdk::Failure, as for a payload that does not fit the operands, and SizeFailure for more
/// than 2^63 - 1 bytes. REQUIRES: a step that starts a collective; those of RankKernels.
DeviceCollective bind_collective(const codegen::HostCallStep& step,
                                 const ir::CollectiveAttrs& attrs, const codegen::Plan& plan,
                                 const codegen::SlotSizes& sizes, const RankKernels& kernels);

/// Throws sdk::Failure unless the step, which waits for that collective, has results of its bytes.
void check_results(const codegen::HostCallStep& step, const codegen::SlotSizes& sizes,
                   std::span<const DeviceCollective> collectives, std::int64_t number);

/// The payload of a step that starts a collective or waits for it; none for other calls. Throws
/// sdk::Failure for a payload that is not valid.
std::optional<ir::CollectivePayload> collective_of(const codegen::HostCallStep& step);
bool starts_collective(const codegen::HostCallStep& step);

}  // namespace kiln::cuda
