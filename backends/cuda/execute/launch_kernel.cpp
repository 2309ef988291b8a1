// The driver copies the parameters during the call.
#include "backends/cuda/execute/launch_kernel.h"

namespace kiln::cuda {

void launch_kernel(const Stream& stream, const LoadedKernel& kernel,
                   const codegen::GridLaunch& grid, std::span<std::uint64_t> values,
                   std::int32_t number, api::DeviceAddress call_block,
                   std::vector<void*>& parameters) {
  parameters.clear();
  for (std::uint64_t& value : values) parameters.push_back(&value);
  parameters.push_back(&number);
  parameters.push_back(&call_block);
  stream.submit(
      [&] {
        return stream.device().driver().launch_kernel(
            kernel.function, static_cast<unsigned>(grid.blocks), 1, 1,
            static_cast<unsigned>(grid.threads), 1, 1, 0, stream.handle(), parameters.data(),
            nullptr);
      },
      "launch a kernel");
}

}  // namespace kiln::cuda
