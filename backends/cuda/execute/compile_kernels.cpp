// Compiles the kernels of a program as at most one text per thread of the host: the time of NVRTC
// grows with the text, and each has a prelude. The updates of many variables are often one kernel.
#include "backends/cuda/execute/compile_kernels.h"

#include "backends/codegen/grid/batch.h"
#include "backends/codegen/kernel/kernel_key.h"
#include "backends/codegen/kernel/variable_extent.h"
#include "backends/codegen/plan/gather_equal_kernels.h"
#include "core/types/text.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <set>
#include <unordered_map>

namespace kiln::cuda {
namespace {

constexpr std::size_t kMaxParts = 16;

using codegen::BuiltKernels;
using codegen::Kernel;
using codegen::KernelId;
using codegen::LoopStep;
using codegen::Plan;
using codegen::ScheduledKernel;
using codegen::ScheduledLoop;

std::string print_schedules(const BuiltKernels& kernels, const CompiledKernels& compiled,
                            const std::vector<const ScheduledLoop*>& loops) {
  std::string out;
  for (const KernelId i : kernels.ids()) {
    const std::string& name = kernels[i].kernel.name;
    const CompiledKernel& one = compiled.kernels[i];
    const std::string where =
        one.function.empty() ? "; in a loop" : "; the function " + one.function;
    out += text(name, ": ", print(one.schedule), one.function == name ? "" : where,
                one.has_variable_extent ? "; any extent" : "", "\n");
  }
  for (const ScheduledLoop* one : loops) {
    out += one->reason.empty()
               ? print(one->loop)
               : text("loop ", one->loop.name, ": a kernel for each step: ", one->reason, "\n");
  }
  return out;
}

/// Schedules the loops that may be one kernel; in the order of the plan.
std::vector<const ScheduledLoop*> schedule_loops(const codegen::Program& program,
                                                 const codegen::GridDescription& grid,
                                                 CompiledKernels& compiled) {
  IdVector<KernelId, codegen::GridSchedule> schedules;
  for (const CompiledKernel& one : compiled.kernels) schedules.push_back(one.schedule);
  std::vector<const ScheduledLoop*> loops;
  for (const LoopStep* loop : fused_loops(program.plan)) {
    ScheduledLoop scheduled =
        schedule_row_loop(*loop, program.kernels, schedules, grid, text("loop", loops.size()));
    if (scheduled.reason.empty()) verify(scheduled.loop, grid);
    const auto added = compiled.loops.emplace(loop->body.get(), std::move(scheduled));
    if (added.second) loops.push_back(&added.first->second);
  }
  return loops;
}

/// Marks the kernels of steps that are launched, without those of loops that are one kernel.
void mark_launched(const Plan& plan, const CompiledKernels& compiled,
                   IdVector<KernelId, bool>& is_launched) {
  for (const codegen::Step& step : plan.steps) {
    if (const auto* kernel = std::get_if<codegen::KernelStep>(&step)) {
      is_launched[kernel->kernel] = true;
    }
    if (const auto* loop = std::get_if<LoopStep>(&step)) {
      const auto found = compiled.loops.find(loop->body.get());
      const bool is_kernel = found != compiled.loops.end() && found->second.reason.empty();
      if (!is_kernel) mark_launched(*loop->body, compiled, is_launched);
    }
    if (const auto* branch = std::get_if<codegen::BranchStep>(&step)) {
      for (const auto& body : branch->branches) mark_launched(*body, compiled, is_launched);
    }
  }
}

/// Launched kernels as they are compiled.
class KernelForms {
 public:
  KernelForms(const codegen::Program& program, const CompiledKernels& compiled)
      : program_(program), is_launched_(program.kernels.size(), false) {
    mark_launched(program.plan, compiled, is_launched_);
    count_batched_steps();
    for (const KernelId i : program.kernels.ids()) {
      Form& form = forms_.emplace_back(form_of(i));
      if (!is_launched_[i]) continue;
      form.first = first_.try_emplace(form.key, i).first->second;
      forms_[form.first].batched_steps += steps_[i];
    }
  }

  const Kernel& kernel(KernelId i) const {
    return forms_[i].variable ? *forms_[i].variable : program_.kernels[i].kernel;
  }
  bool has_variable_extent(KernelId i) const { return forms_[i].variable.has_value(); }
  /// The first kernel with the same function; none for a kernel that is not launched.
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
  IdVector<KernelId, bool> is_launched_;
  IdVector<KernelId, int> steps_;  // of the kernel in the opening and the region
  std::unordered_map<std::string, std::set<std::string>> keys_;  // of kernels, by batch_key
  IdVector<KernelId, Form> forms_;
  std::unordered_map<std::string, KernelId> first_;
};

/// Compiles the parts at the same time. Of failures, that of the first part is thrown.
std::vector<CompiledPart> compile_parts(std::vector<codegen::GridTextPart> texts, int architecture,
                                        const api::Compiler& compiler, const codegen::Dumps& dumps,
                                        const std::string& name, const sdk::Host& host) {
  std::vector<api::CompiledText> compiled(texts.size());
  std::vector<std::exception_ptr> failures(texts.size());
  host.parallel_for(texts.size(), [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      try {
        compiled[i] = compiler.compile(texts[i].text, architecture, name);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  });
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  dumps.hand_over("ptx", "", [&] {
    std::string ptx;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      ptx += title_of_part(i, texts.size(), texts[i].functions) + compiled[i].ptx;
    }
    return ptx;
  });
  std::vector<CompiledPart> parts;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    parts.push_back({std::move(compiled[i].cubin), std::move(texts[i].functions)});
  }
  return parts;
}

}  // namespace

std::string title_of_part(std::size_t part, std::size_t parts,
                          const std::vector<std::string>& functions) {
  if (parts == 1) return "";
  return text("// part ", part + 1, " of ", parts, ": ", join_text(functions), "\n");
}

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
                                const std::string& label, const sdk::Host& host) {
  CompiledKernels compiled;
  const BuiltKernels& kernels = program.kernels;
  if (kernels.empty()) return compiled;
  for (const codegen::BuiltKernel& built : kernels) {
    compiled.kernels.emplace_back().schedule = schedule_grid(built.kernel, target.grid);
  }
  const std::vector<const ScheduledLoop*> loops = schedule_loops(program, target.grid, compiled);
  const KernelForms forms(program, compiled);
  std::vector<ScheduledKernel> scheduled;  // one of equal kernels, which have equal schedules
  for (const KernelId i : kernels.ids()) {
    CompiledKernel& one = compiled.kernels[i];
    if (!forms.first(i)) continue;
    if (forms.first(i) != i) one = compiled.kernels[forms.first(i)];
    // The extent of another kernel of the function may be symbolic, a size of its own.
    one.has_variable_extent = forms.has_variable_extent(i);
    if (forms.first(i) != i) continue;
    const Kernel& kernel = forms.kernel(i);
    one.function = kernel.name;
    if (one.has_variable_extent) one.schedule = schedule_grid(kernel, target.grid);
    one.schedule.batch = rows_of_table(kernel, one.schedule, forms.batched_steps(i));
    verify(kernel, one.schedule, target.grid);
    scheduled.push_back({kernel, one.schedule});
  }
  std::vector<codegen::RowLoop> kernels_of_loops;
  for (const ScheduledLoop* one : loops) {
    if (one->reason.empty()) kernels_of_loops.push_back(one->loop);
  }
  dumps.hand_over("schedule", "", [&] { return print_schedules(kernels, compiled, loops); });
  dumps.hand_over("cuda_c", "", [&] { return grid_text(scheduled, kernels_of_loops); });
  const std::size_t threads = compiler.is_concurrent() ? host.thread_count() : 1;
  compiled.parts = compile_parts(
      grid_texts(scheduled, kernels_of_loops, std::min<std::size_t>(threads, kMaxParts)),
      target.architecture, compiler, dumps, label.empty() ? "kernels.cu" : label + ".cu", host);
  return compiled;
}

}  // namespace kiln::cuda
