// Parametric code is keyed by its LLVM IR: every decision of the emitter that depends on a size is
// visible in the IR, so that the key cannot miss one.
#include "backends/cpu/llvm/code/code_plan.h"

#include "backends/codegen/kernel/kernel_key.h"
#include "backends/cpu/llvm/jit/compile_thread.h"
#include "backends/cpu/llvm/kernel/emit_kernel.h"
#include "backends/cpu/schedule/kernel_work.h"

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <utility>

namespace kiln::cpu {
namespace {

using codegen::BuiltKernel;
using codegen::BuiltKernels;
using codegen::Kernel;
using codegen::key_of;
using codegen::parametric_key_of;

/// The distinct kernels, and the index of the distinct kernel that each kernel equals.
struct DistinctKernels {
  std::vector<const Kernel*> kernels;
  std::vector<std::string> keys;
  std::vector<std::size_t> of;
};

DistinctKernels distinct(const BuiltKernels& kernels) {
  DistinctKernels result;
  std::unordered_map<std::string, std::size_t> numbers;
  for (const BuiltKernel& built : kernels) {
    const auto [known, is_new] = numbers.try_emplace(key_of(built.kernel), result.kernels.size());
    result.of.push_back(known->second);
    if (!is_new) continue;
    result.kernels.push_back(&built.kernel);
    result.keys.push_back(known->first);
  }
  return result;
}

/// The indices of kernels that get parametric code.
std::vector<std::size_t> parametric_kernels(const std::vector<const Kernel*>& kernels,
                                            ParametricCode parametric) {
  if (parametric == ParametricCode::Never) return {};
  std::unordered_map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const std::string outline = parametric_key_of(*kernels[i]);
    if (!outline.empty()) groups[outline].push_back(i);
  }
  std::vector<std::size_t> list;
  for (const auto& [outline, group] : groups) {
    const bool is_chosen = group.size() > 1 || parametric == ParametricCode::Always;
    if (is_chosen) list.insert(list.end(), group.begin(), group.end());
  }
  std::sort(list.begin(), list.end());
  return list;
}

struct ParametricIr {
  std::string ir;
  std::vector<std::int64_t> parameters;
};

ParametricIr parametric_ir(const Kernel& kernel, const IsaTarget& target) {
  llvm::LLVMContext context;
  context.setDiscardValueNames(true);
  llvm::Module module("kernel", context);
  ParametricIr result;
  result.parameters = emit_parametric_kernel(module, kernel, target);
  module.getFunction(kernel.name)->setName("kernel");
  llvm::raw_string_ostream stream(result.ir);
  stream.SetBufferSize(std::size_t{1} << 14);  // unbuffered, it would take half of the time
  module.print(stream, nullptr);
  stream.flush();
  return result;
}

/// Replaces the keys of the listed kernels by their LLVM IR.
void key_by_ir(const std::vector<std::size_t>& list, const IsaTarget& target, std::size_t threads,
               DistinctKernels& distinct, std::vector<ParametricIr>& parametric_irs) {
  if (list.empty()) return;
  std::atomic<std::size_t> next{0};
  on_compile_threads(std::min(threads, list.size()), [&] {
    for (std::size_t i = next++; i < list.size(); i = next++) {
      parametric_irs[list[i]] = parametric_ir(*distinct.kernels[list[i]], target);
    }
  });
  for (const std::size_t i : list) distinct.keys[i] = std::move(parametric_irs[i].ir);
}

CodeGeneration generation_of(const Kernel& kernel) {
  return has_few_points(kernel) ? CodeGeneration::Quick : CodeGeneration::Full;
}

/// Prefixes a key by its kind, the ISA and the passes: IR and kernels never give equal keys.
std::string target_key(const std::string& key, bool is_ir, const IsaTarget& target,
                       CodeGeneration generation) {
  return std::string(is_ir ? "ir " : "kernel ") + std::string(name_of(target.isa)) +
         (target.has_avx512_bf16 ? "-bf16" : "") +
         (generation == CodeGeneration::Quick ? " quick " : " full ") + key;
}

}  // namespace

CodePlan plan_codes(const BuiltKernels& kernels, const IsaTarget& target, ParametricCode parametric,
                    std::size_t threads) {
  DistinctKernels work = distinct(kernels);
  std::vector<ParametricIr> parametric_irs(work.kernels.size());
  std::vector<bool> is_parametric(work.kernels.size(), false);
  const std::vector<std::size_t> chosen = parametric_kernels(work.kernels, parametric);
  key_by_ir(chosen, target, threads, work, parametric_irs);
  for (const std::size_t i : chosen) is_parametric[i] = true;
  CodePlan plan;
  std::unordered_map<std::string, std::size_t> codes;
  std::vector<std::size_t> code_of;
  for (std::size_t i = 0; i < work.kernels.size(); ++i) {
    const CodeGeneration generation = generation_of(*work.kernels[i]);
    const auto [known, is_new] = codes.try_emplace(
        target_key(work.keys[i], is_parametric[i], target, generation), plan.codes.size());
    code_of.push_back(known->second);
    if (!is_new) continue;
    plan.codes.push_back({.kernel = work.kernels[i],
                          .is_parametric = is_parametric[i],
                          .generation = generation,
                          .key = known->first});
  }
  for (const std::size_t i : work.of) {
    plan.uses.push_back({code_of[i], parametric_irs[i].parameters});
  }
  return plan;
}

}  // namespace kiln::cpu
