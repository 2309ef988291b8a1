// Executes the plan that fits the addresses' alignment.
#include "backends/cuda/libraries/convolutions.h"

namespace kiln::cuda {

PreparedConvolution::PreparedConvolution(const CudnnContext& context,
                                         const ConvolutionDescription& convolution)
    : context_(context),
      title_("convolution " + text_of(convolution)),
      plans_(
          [&](std::int64_t alignment) {
            return ConvolutionPlan(*context.library, convolution, alignment, context.plan_device());
          },
          static_cast<std::int64_t>(dtype_bytes(convolution.dtype))) {}

void PreparedConvolution::issue(const ConvolutionAddresses& addresses, const Stream& stream) const {
  const ConvolutionPlan& plan =
      plans_.of(addresses.input | addresses.filter | addresses.output, title_);
  const PackedTensor tensors[] = {{kInputId, pointer(addresses.input)},
                                  {kFilterId, pointer(addresses.filter)},
                                  {kOutputId, pointer(addresses.output)}};
  const bool has_workspace = plan.workspace_bytes() != 0;
  queue_plan(context_, plan.handle(), tensors, has_workspace ? addresses.workspace : 0, stream,
             "queue the " + title_);
}

}  // namespace kiln::cuda
