// Queues a bound matmul on the stream of a call.
#pragma once

#include "backends/cuda/execute/issue_plan.h"

namespace kiln::cuda {

/// `slots`: of the plan that holds the step, which begins its temporaries at `arena`. Throws
/// sdk::Failure with the step's source line. REQUIRES: a ScopedContext of the thread.
void issue_matmul(const codegen::MatmulStep& step, const DeviceMatmul& bound,
                  const DevicePlan& plan, const SlotAddresses& slots, api::DeviceAddress arena,
                  const CallContext& call);

}  // namespace kiln::cuda
