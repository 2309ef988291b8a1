// Compiles the kernels of a program as one text, by one call of NVRTC, whose time grows with the
// text: the updates of many variables are often one kernel.
#include "backends/cuda/execute/compile_kernels.h"

#include "backends/codegen/kernel/kernel_key.h"
#include "core/types/text.h"

#include <unordered_map>

namespace kiln::cuda {
namespace {

using codegen::BuiltKernel;
using codegen::BuiltKernels;
using codegen::KernelId;
using codegen::ScheduledKernel;

std::string print_schedules(const BuiltKernels& kernels, const CompiledKernels& compiled) {
  std::string out;
  for (const KernelId i : kernels.ids()) {
    const std::string &name = kernels[i].kernel.name, &function = compiled.functions[i];
    out += text(name, ": ", print(compiled.schedules[i]),
                function == name ? "" : text("; the function ", function), "\n");
  }
  return out;
}

}  // namespace

int code_architecture(const api::Compiler& compiler, int compute_capability) {
  int best = 0;
  for (const int one : compiler.architectures()) {
    if (one <= compute_capability && one / 10 == compute_capability / 10) best = one;
  }
  if (best != 0) return best;
  throw sdk::Failure(KILN_CODE_UNIMPLEMENTED,
                     text("NVRTC ", compiler.version_text(), " (", compiler.path(),
                          ") cannot compile for compute capability ", compute_capability / 10, ".",
                          compute_capability % 10));
}

CompiledKernels compile_kernels(const BuiltKernels& kernels, const CodeTarget& target,
                                const api::Compiler& compiler, const codegen::Dumps& dumps,
                                const std::string& label) {
  CompiledKernels compiled;
  if (kernels.empty()) return compiled;
  for (const BuiltKernel& built : kernels) {
    compiled.schedules.push_back(schedule_grid(built.kernel, target.grid));
    verify(built.kernel, compiled.schedules.back(), target.grid);
  }
  std::vector<ScheduledKernel> scheduled;  // one of equal kernels, which have equal schedules
  std::unordered_map<std::string, std::string> function_of_key;
  for (const KernelId i : kernels.ids()) {
    const codegen::Kernel& kernel = kernels[i].kernel;
    const auto [known, is_new] = function_of_key.try_emplace(key_of(kernel), kernel.name);
    compiled.functions.push_back(known->second);
    if (is_new) scheduled.push_back({kernel, compiled.schedules[i]});
  }
  dumps.hand_over("schedule", "", [&] { return print_schedules(kernels, compiled); });
  const std::string source = grid_text(scheduled);
  dumps.hand_over("cuda_c", "", [&] { return source; });
  const std::string name = label.empty() ? "kernels.cu" : label + ".cu";
  api::CompiledText result = compiler.compile(source, target.architecture, name);
  dumps.hand_over("ptx", "", [&] { return result.ptx; });
  compiled.cubin = std::move(result.cubin);
  return compiled;
}

}  // namespace kiln::cuda
