// Compiles the kernels of a program as one text, by one call of NVRTC, whose time grows with the
// text: the updates of many variables are often one kernel.
#include "backends/cuda/execute/compile_kernels.h"

#include "backends/codegen/grid/batch.h"
#include "backends/codegen/kernel/kernel_key.h"
#include "backends/codegen/kernel/variable_extent.h"
#include "backends/codegen/plan/gather_equal_kernels.h"
#include "core/types/text.h"

#include <optional>
#include <set>
#include <unordered_map>

namespace kiln::cuda {
namespace {

using codegen::BuiltKernels;
using codegen::Kernel;
using codegen::KernelId;
using codegen::ScheduledKernel;

std::string print_schedules(const BuiltKernels& kernels, const CompiledKernels& compiled) {
  std::string out;
  for (const KernelId i : kernels.ids()) {
    const std::string& name = kernels[i].kernel.name;
    const CompiledKernel& one = compiled.kernels[i];
    out += text(name, ": ", print(one.schedule),
                one.function == name ? "" : text("; the function ", one.function),
                one.has_variable_extent ? "; any extent" : "", "\n");
  }
  return out;
}

/// Kernels as they are compiled.
class KernelForms {
 public:
  explicit KernelForms(const codegen::Program& program) : program_(program) {
    count_batched_steps();
    for (const KernelId i : program.kernels.ids()) {
      Form& form = forms_.emplace_back(form_of(i));
      form.first = first_.try_emplace(form.key, i).first->second;
      forms_[form.first].batched_steps += steps_[i];
    }
  }

  const Kernel& kernel(KernelId i) const {
    return forms_[i].variable ? *forms_[i].variable : program_.kernels[i].kernel;
  }
  bool has_variable_extent(KernelId i) const { return forms_[i].variable.has_value(); }
  /// The first kernel with the same function.
  KernelId first(KernelId i) const { return forms_[i].first; }
  /// Steps of the function in the opening and the region. REQUIRES: first(i) == i.
  int batched_steps(KernelId i) const { return forms_[i].batched_steps; }

 private:
  struct Form {
    std::optional<Kernel> variable;  // the kernel with a variable extent, where that is compiled
    std::string key;
    KernelId first = {};
    int batched_steps = 0;
  };

  void count_batched_steps() {
    const codegen::Plan& plan = program_.plan;
    steps_.assign(program_.kernels.size(), 0);
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      const bool is_in_region = s >= plan.region_begin && s < plan.region_end;
      if (s >= plan.opening_end && !is_in_region) continue;
      const KernelId kernel = std::get<codegen::KernelStep>(plan.steps[s]).kernel;
      if (++steps_[kernel] > 1) continue;
      const Kernel& one = program_.kernels[kernel].kernel;
      keys_[codegen::batch_key(one)].insert(key_of(one));
    }
  }

  Form form_of(KernelId i) const {
    const Kernel& kernel = program_.kernels[i].kernel;
    if (steps_[i] > 0) {
      std::optional<Kernel> variable = with_variable_extent(kernel);
      if (variable && keys_.at(codegen::batch_key(kernel)).size() > 1) {
        std::string key = key_of(*variable);
        return {.variable = std::move(variable), .key = std::move(key)};
      }
    }
    return {.variable = std::nullopt, .key = key_of(kernel)};
  }

  const codegen::Program& program_;
  IdVector<KernelId, int> steps_;  // of the kernel in the opening and the region
  std::unordered_map<std::string, std::set<std::string>> keys_;  // of kernels, by batch_key
  IdVector<KernelId, Form> forms_;
  std::unordered_map<std::string, KernelId> first_;
};

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

CompiledKernels compile_kernels(const codegen::Program& program, const CodeTarget& target,
                                const api::Compiler& compiler, const codegen::Dumps& dumps,
                                const std::string& label) {
  CompiledKernels compiled;
  const BuiltKernels& kernels = program.kernels;
  if (kernels.empty()) return compiled;
  const KernelForms forms(program);
  std::vector<ScheduledKernel> scheduled;  // one of equal kernels, which have equal schedules
  compiled.kernels.reserve(kernels.size());
  for (const KernelId i : kernels.ids()) {
    if (forms.first(i) != i) {
      compiled.kernels.push_back(compiled.kernels[forms.first(i)]);
      continue;
    }
    const Kernel& kernel = forms.kernel(i);
    codegen::GridSchedule schedule = schedule_grid(kernel, target.grid);
    schedule.batch = rows_of_table(kernel, schedule, forms.batched_steps(i));
    verify(kernel, schedule, target.grid);
    compiled.kernels.push_back({std::move(schedule), kernel.name, forms.has_variable_extent(i)});
    scheduled.push_back({kernel, compiled.kernels.back().schedule});
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
