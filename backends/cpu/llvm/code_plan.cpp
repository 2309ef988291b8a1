// Code that reads numbers is keyed by its LLVM IR: whatever the emitter decides by a size shows
// there, so that no such decision can be left out of the key.
#include "backends/cpu/llvm/code_plan.h"

#include "backends/cpu/llvm/compile_thread.h"
#include "backends/cpu/llvm/emit_kernel.h"
#include "backends/cpu/llvm/kernel_key.h"

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <utility>

namespace kiln::cpu {
namespace {

using codegen::BuiltKernel;
using codegen::Kernel;

/// Kernels that differ, and which of them each kernel equals.
struct DistinctKernels {
  std::vector<const Kernel*> kernels;
  std::vector<std::string> keys;
  std::vector<std::size_t> of;
};

DistinctKernels distinct(const std::vector<BuiltKernel>& kernels) {
  DistinctKernels result;
  std::unordered_map<std::string, std::size_t> numbers;
  for (const BuiltKernel& built : kernels) {
    const auto [known, is_new] =
        numbers.try_emplace(key_of(built.kernel), result.kernels.size());
    result.of.push_back(known->second);
    if (!is_new) continue;
    result.kernels.push_back(&built.kernel);
    result.keys.push_back(known->first);
  }
  return result;
}

/// The kernels that read numbers.
std::vector<std::size_t> number_readers(const std::vector<const Kernel*>& kernels,
                                        NumberReading reading) {
  if (reading == NumberReading::Never) return {};
  std::unordered_map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const std::string outline = outline_of(*kernels[i]);
    if (!outline.empty()) groups[outline].push_back(i);
  }
  std::vector<std::size_t> list;
  for (const auto& [outline, group] : groups) {
    const bool reads = group.size() > 1 || reading == NumberReading::Always;
    if (reads) list.insert(list.end(), group.begin(), group.end());
  }
  std::sort(list.begin(), list.end());
  return list;
}

struct NumberedCode {
  std::string ir;
  std::vector<std::int64_t> numbers;
};

NumberedCode numbered_code(const Kernel& kernel, const IsaTarget& target) {
  llvm::LLVMContext context;
  context.setDiscardValueNames(true);
  llvm::Module module("kernel", context);
  NumberedCode result;
  result.numbers = emit_kernel_of_numbers(module, kernel, target);
  module.getFunction(kernel.name)->setName("kernel");
  llvm::raw_string_ostream stream(result.ir);
  module.print(stream, nullptr);
  return result;
}

/// Gives the kernels of the list the keys of their LLVM IR.
void key_by_ir(const std::vector<std::size_t>& list, const IsaTarget& target, std::size_t threads,
               DistinctKernels& distinct, std::vector<NumberedCode>& numbered) {
  if (list.empty()) return;
  std::atomic<std::size_t> next{0};
  on_compile_threads(std::min(threads, list.size()), [&] {
    for (std::size_t i = next++; i < list.size(); i = next++) {
      numbered[list[i]] = numbered_code(*distinct.kernels[list[i]], target);
    }
  });
  for (const std::size_t i : list) distinct.keys[i] = std::move(numbered[i].ir);
}

/// A key of this target's: IR and kernels never give equal ones.
std::string target_key(const std::string& key, bool is_ir, const IsaTarget& target) {
  return std::string(is_ir ? "ir " : "kernel ") + std::string(name_of(target.level)) + " " + key;
}

}  // namespace

CodePlan plan_codes(const std::vector<BuiltKernel>& kernels, const IsaTarget& target,
                    NumberReading reading, std::size_t threads) {
  DistinctKernels work = distinct(kernels);
  std::vector<NumberedCode> numbered(work.kernels.size());
  std::vector<bool> reads_numbers(work.kernels.size(), false);
  const std::vector<std::size_t> readers = number_readers(work.kernels, reading);
  key_by_ir(readers, target, threads, work, numbered);
  for (const std::size_t i : readers) reads_numbers[i] = true;
  CodePlan plan;
  std::unordered_map<std::string, std::size_t> codes;
  std::vector<std::size_t> code_of;
  for (std::size_t i = 0; i < work.kernels.size(); ++i) {
    const auto [known, is_new] = codes.try_emplace(
        target_key(work.keys[i], reads_numbers[i], target), plan.codes.size());
    code_of.push_back(known->second);
    if (is_new) plan.codes.push_back({work.kernels[i], reads_numbers[i], known->first});
  }
  for (const std::size_t i : work.of) {
    plan.uses.push_back({code_of[i], numbered[i].numbers});
  }
  return plan;
}

}  // namespace kiln::cpu
