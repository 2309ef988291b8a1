// Compiles the kernels of a program as one text, by one call of NVRTC, whose time grows with the
// text: the updates of many variables are often one kernel.
#include "backends/cuda/execute/compile_kernels.h"

#include "backends/codegen/grid/batch.h"
#include "backends/codegen/kernel/kernel_key.h"
#include "core/types/text.h"

#include <algorithm>
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

/// For each kernel, the first one that differs from it in names alone.
IdVector<KernelId, KernelId> first_equal(const BuiltKernels& kernels) {
  IdVector<KernelId, KernelId> first;
  std::unordered_map<std::string, KernelId> first_of_key;
  for (const KernelId i : kernels.ids()) {
    first.push_back(first_of_key.try_emplace(key_of(kernels[i].kernel), i).first->second);
  }
  return first;
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
  const IdVector<KernelId, KernelId> first = first_equal(kernels);
  std::vector<ScheduledKernel> scheduled;  // one of equal kernels, which have equal schedules
  compiled.schedules.reserve(kernels.size());
  for (const KernelId i : kernels.ids()) {
    const codegen::Kernel& kernel = kernels[i].kernel;
    compiled.functions.push_back(kernels[first[i]].kernel.name);
    if (first[i] != i) {
      compiled.schedules.push_back(compiled.schedules[first[i]]);
      continue;
    }
    codegen::GridSchedule schedule = schedule_grid(kernel, target.grid);
    schedule.batch = rows_of_table(kernel, schedule, std::ranges::count(first, i));
    verify(kernel, schedule, target.grid);
    compiled.schedules.push_back(std::move(schedule));
    scheduled.push_back({kernel, compiled.schedules.back()});
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
