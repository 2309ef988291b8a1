// Builds kernels by hand, and compiles them by the fake NVRTC.
#pragma once

#include "backends/codegen/text/grid_text.h"
#include "tests/backends/codegen/make_kernel.h"
#include "tests/backends/cuda_fakes/fake_gpu.h"

#include <string>
#include <vector>

namespace kiln::fake_cuda {

inline constexpr codegen::GridDescription kDevice;

/// z[i] = x[i] + y[i] over n int32 elements; n is a size of the call.
inline codegen::Kernel addition() {
  const ir::Dim n = ir::Dim::fresh("n");
  test::KernelMaker k("addition", {n}, 1);
  const codegen::ExpressionId x = k.load(k.access(k.input(DType::Int32), {1}));
  const codegen::ExpressionId y = k.load(k.access(k.input(DType::Int32), {1}));
  k.map({{k.access(k.output(DType::Int32), {1}), k.apply(ir::Op::Add, {x, y})}});
  add_size(k.kernel, n);
  return k.kernel;
}

inline cuda::api::CompiledText compile(const std::string& folder,
                                       const std::vector<codegen::Kernel>& kernels,
                                       int architecture) {
  std::vector<codegen::GridSchedule> schedules;
  for (const codegen::Kernel& kernel : kernels) {
    schedules.push_back(schedule_grid(kernel, kDevice));
  }
  std::vector<codegen::ScheduledKernel> scheduled;
  for (std::size_t i = 0; i < kernels.size(); ++i) scheduled.push_back({kernels[i], schedules[i]});
  cuda::api::Messages messages;
  const auto compiler = cuda::api::open_compiler(compiler_settings(folder), messages);
  return compiler->compile(grid_text(scheduled), architecture, "kernels.cu");
}

}  // namespace kiln::fake_cuda
