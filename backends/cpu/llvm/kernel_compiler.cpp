// Emits, compiles, and looks up. Kernels that differ in nothing but their names share code.
#include "backends/cpu/llvm/kernel_compiler.h"

#include "backends/cpu/llvm/emit_kernel.h"
#include "backends/cpu/llvm/emit_scalar.h"

#include <memory>
#include <new>
#include <unordered_map>

namespace kiln::cpu {
namespace {

/// A kernel's text without what does not change its code.
std::string meaning_of(codegen::Kernel kernel) {
  kernel.name.clear();
  kernel.comes_from.clear();
  return print(kernel);
}

void call(const void* code, const codegen::KernelArguments* arguments) {
  using Function = void (*)(const codegen::KernelArguments*);
  reinterpret_cast<Function>(const_cast<void*>(code))(arguments);
}

/// What a compilation works in.
struct Unit {
  llvm::LLVMContext context;
  llvm::Module module{"kernels", context};
};

std::vector<codegen::KernelFunction> compile_in(llvm::Module& module,
                                                const std::vector<codegen::BuiltKernel>& kernels,
                                                const IsaTarget& target,
                                                std::shared_ptr<const void>& keep_alive,
                                                CompileTexts& texts) {
  set_target(module, target);
  std::unordered_map<std::string, std::string> emitted;  // meaning to name
  std::vector<std::string> names;
  for (const codegen::BuiltKernel& built : kernels) {
    const auto [known, is_new] = emitted.emplace(meaning_of(built.kernel), built.kernel.name);
    if (is_new) emit_kernel(module, built.kernel, target);
    names.push_back(known->second);
  }
  texts.lap("LLVM IR");
  std::vector<RuntimeSymbol> symbols = scalar_symbols();
  for (const RuntimeSymbol& symbol : kernel_symbols()) symbols.push_back(symbol);
  const std::shared_ptr<MachineCode> code = compile(module, target, symbols, texts);
  std::vector<codegen::KernelFunction> functions;
  for (const std::string& name : names) functions.push_back({call, code->address(name)});
  texts.lap("linking");
  keep_alive = code;
  return functions;
}

}  // namespace

std::vector<codegen::KernelFunction> compile_kernels(
    const std::vector<codegen::BuiltKernel>& kernels, const IsaTarget& target,
    std::shared_ptr<const void>& keep_alive, CompileTexts& texts) {
  if (kernels.empty()) return {};
  auto unit = std::make_unique<Unit>();
  try {
    return compile_in(unit->module, kernels, target, keep_alive, texts);
  } catch (const std::bad_alloc&) {
    // It passed through tables of LLVM that are not made for it and could not be freed now.
    static_cast<void>(unit.release());
    throw;
  }
}

}  // namespace kiln::cpu
