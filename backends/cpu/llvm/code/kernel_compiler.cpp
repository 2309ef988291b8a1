// Compiles code that is not cached in modules of a few kernels, on several threads. A function's
// code depends neither on the other functions of its module nor on the thread.
#include "backends/cpu/llvm/code/kernel_compiler.h"

#include "backends/cpu/llvm/jit/compile_thread.h"
#include "backends/cpu/llvm/kernel/emit_kernel.h"
#include "backends/cpu/llvm/scalar/emit_scalar.h"
#include "backends/cpu/llvm/jit/llvm_setup.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <utility>

namespace kiln::cpu {
namespace {

using codegen::BuiltKernels;
using codegen::KernelFunctions;
using codegen::KernelId;

using Code = void (*)(const codegen::KernelArguments*);

void call(const void* code, const codegen::KernelArguments* arguments) {
  reinterpret_cast<Code>(const_cast<void*>(code))(arguments);
}

/// Parametric code with its parameters.
struct ParametricFunction {
  const void* code;
  std::vector<std::int64_t> parameters;
};

void call_with_parameters(const void* context, const codegen::KernelArguments* arguments) {
  const auto& function = *static_cast<const ParametricFunction*>(context);
  codegen::KernelArguments changed = *arguments;
  changed.sizes = function.parameters.data();
  call(function.code, &changed);
}

/// Owns what the functions of a program point at.
struct ProgramCode {
  std::vector<KernelCodePtr> codes;
  std::vector<ParametricFunction> parametric;  // never moved once functions point at them
};

std::vector<RuntimeSymbol> all_symbols() {
  std::vector<RuntimeSymbol> symbols = scalar_symbols();
  for (const RuntimeSymbol& symbol : kernel_symbols()) symbols.push_back(symbol);
  return symbols;
}

struct ModuleWithContext {
  llvm::LLVMContext context;
  llvm::Module module{"kernels", context};
};

void emit(llvm::Module& module, const PlannedCode& code, const IsaTarget& target) {
  if (!code.is_parametric) return emit_kernel(module, *code.kernel, target);
  static_cast<void>(emit_parametric_kernel(module, *code.kernel, target));
}

/// Full where any piece wants it.
CodeGeneration generation_of(const std::vector<const PlannedCode*>& codes) {
  const bool is_quick = std::all_of(codes.begin(), codes.end(), [](const PlannedCode* code) {
    return code->generation == CodeGeneration::Quick;
  });
  return is_quick ? CodeGeneration::Quick : CodeGeneration::Full;
}

/// Compiles pieces of code as one module.
std::unique_ptr<MachineCode> compile_module(ModuleCompiler& compiler,
                                            const std::vector<const PlannedCode*>& codes,
                                            const IsaTarget& target, CompileTexts& texts) {
  auto owner = std::make_unique<ModuleWithContext>();
  try {
    owner->context.setDiscardValueNames(!texts.wanted);
    compiler.set_target(owner->module);
    for (const PlannedCode* code : codes) emit(owner->module, *code, target);
    texts.lap("LLVM IR");
    return compiler.compile(owner->module, generation_of(codes), all_symbols(), texts);
  } catch (const std::bad_alloc&) {
    // The exception unwound LLVM's tables, which are not exception-safe: freeing them could crash.
    static_cast<void>(owner.release());
    throw;
  }
}

/// Compiles pieces of code on several threads: each thread takes the next few pieces from a shared
/// queue and compiles them as one module.
class ParallelCompilation {
 public:
  ParallelCompilation(std::vector<const PlannedCode*> codes, const IsaTarget& target,
                      std::size_t threads, bool lists_functions)
      : wanted_(std::move(codes)),
        target_(target),
        threads_(std::max<std::size_t>(threads, 1)),
        lists_functions_(lists_functions),
        piece_(pieces_of_module(wanted_.size(), threads_)),
        compiled_(wanted_.size()) {
    for (std::size_t i = 0; i < wanted_.size(); ++i) order_.push_back(i);
    // A module has one CodeGeneration. The largest first, so that the threads end at about the same
    // time.
    const auto rank = [&](std::size_t i) {
      const PlannedCode& code = *wanted_[i];
      return std::pair(code.generation == CodeGeneration::Full, code.kernel->expressions.size());
    };
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return rank(a) > rank(b); });
    const auto is_full = [](const PlannedCode* code) {
      return code->generation == CodeGeneration::Full;
    };
    full_ = static_cast<std::size_t>(std::count_if(wanted_.begin(), wanted_.end(), is_full));
  }

  std::vector<KernelCodePtr> run() {
    on_compile_threads(std::min(threads_, wanted_.size()), [&] { compile_some(); });
    return std::move(compiled_);
  }

  /// The times of all threads together.
  const codegen::CompileTimes& times() const { return times_; }
  const std::string& perf_map() const { return perf_map_; }

 private:
  /// The approximate number of modules per thread: few, since each module compiles its own copies
  /// of functions such as tanh; more than one, so that threads end together.
  static constexpr std::size_t kTurns = 4;
  /// Limits modules, whose code is released only as a whole.
  static constexpr std::size_t kMaxPieces = 32;

  static std::size_t pieces_of_module(std::size_t pieces, std::size_t threads) {
    if (threads == 1) return kMaxPieces;
    return std::clamp<std::size_t>(pieces / (kTurns * threads), 1, kMaxPieces);
  }

  void compile_some() {
    codegen::CompileTimes times;
    CompileTexts texts;
    texts.times = &times;
    texts.lists_functions = lists_functions_;
    ModuleCompiler compiler(target_);
    texts.lap("LLVM target");
    for (std::span<const std::size_t> numbers = take(); !numbers.empty(); numbers = take()) {
      compile_piece(compiler, numbers, texts);
    }
    const std::lock_guard lock(mutex_);
    times_.add_parts(times);
    perf_map_ += texts.perf_map;
  }

  /// Takes the pieces of the next module from the queue; none at its end.
  std::span<const std::size_t> take() {
    const std::lock_guard lock(mutex_);
    const std::size_t begin = next_;
    const std::size_t limit = begin < full_ ? full_ : order_.size();
    next_ = std::min(begin + piece_, limit);
    return {order_.data() + begin, next_ - begin};
  }

  void compile_piece(ModuleCompiler& compiler, std::span<const std::size_t> numbers,
                     CompileTexts& texts) {
    std::vector<const PlannedCode*> codes;
    for (const std::size_t number : numbers) codes.push_back(wanted_[number]);
    const std::shared_ptr<const MachineCode> module =
        compile_module(compiler, codes, target_, texts);
    for (const std::size_t number : numbers) {
      const void* address = module->address(wanted_[number]->kernel->name);
      compiled_[number] = std::make_shared<KernelCode>(
          KernelCode{module, address, module->bytes() / numbers.size()});
    }
    texts.perf_map += module->perf_map();
    texts.lap("linking");
  }

  const std::vector<const PlannedCode*> wanted_;
  const IsaTarget& target_;
  const std::size_t threads_;
  const bool lists_functions_;
  const std::size_t piece_;
  std::vector<std::size_t> order_;
  std::vector<KernelCodePtr> compiled_;
  std::size_t full_ = 0;  // pieces with CodeGeneration::Full, the first ones of order_
  std::mutex mutex_;
  std::size_t next_ = 0;
  codegen::CompileTimes times_;
  std::string perf_map_;
};

KernelFunctions functions_of(const CodePlan& plan, std::shared_ptr<ProgramCode> program) {
  KernelFunctions functions;
  program->parametric.reserve(plan.uses.size());
  for (const CodeUse& use : plan.uses) {
    const void* code = program->codes[use.code]->address;
    if (use.parameters.empty()) {
      functions.push_back({call, code});
      continue;
    }
    program->parametric.push_back({code, use.parameters});
    functions.push_back({call_with_parameters, &program->parametric.back()});
  }
  return functions;
}

/// Rows of a perf map for kernels that share code with an earlier kernel, which has another name.
std::string rows_of_shared_code(const BuiltKernels& kernels, const CodePlan& plan,
                                const ProgramCode& program, const std::vector<bool>& compiled) {
  std::string rows;
  for (const KernelId i : kernels.ids()) {
    const std::size_t number = plan.uses[i].code;
    const std::string& name = kernels[i].kernel.name;
    if (compiled[number] && plan.codes[number].kernel->name == name) continue;  // is listed
    const KernelCode& code = *program.codes[number];
    rows += code.module->perf_map_row(code.address, name);
  }
  return rows;
}

/// Compiles all distinct kernels for their texts, in one module that is not cached.
KernelFunctions compile_for_texts(const CodePlan& plan, const IsaTarget& target,
                                  std::shared_ptr<const void>& keep_alive, CompileTexts& texts) {
  KernelFunctions functions;
  on_compile_thread([&] {
    ModuleCompiler compiler(target);
    std::vector<const PlannedCode*> codes;
    for (const PlannedCode& code : plan.codes) codes.push_back(&code);
    std::shared_ptr<const MachineCode> module = compile_module(compiler, codes, target, texts);
    for (const CodeUse& use : plan.uses) {
      functions.push_back({call, module->address(plan.codes[use.code].kernel->name)});
    }
    texts.perf_map += module->perf_map();
    texts.lap("linking");
    keep_alive = std::move(module);
  });
  return functions;
}

}  // namespace

KernelFunctions compile_kernels(const BuiltKernels& kernels, const CompileOptions& options,
                                std::shared_ptr<const void>& keep_alive, CompileTexts& texts) {
  if (kernels.empty()) return {};
  const IsaTarget& target = options.target;
  set_up_llvm(target);
  texts.lap("LLVM setup");
  const ParametricCode parametric = texts.wanted ? ParametricCode::Never : options.parametric;
  const CodePlan plan = plan_codes(kernels, target, parametric, options.threads);
  texts.lap("kernel keys");
  if (texts.wanted) return compile_for_texts(plan, target, keep_alive, texts);
  std::vector<bool> compiled(plan.codes.size());
  const auto program = std::make_shared<ProgramCode>();
  std::vector<std::string> keys;
  for (const PlannedCode& code : plan.codes) keys.push_back(code.key);
  CodeCache& cache = options.cache ? *options.cache : CodeCache::instance();
  program->codes = cache.get(keys, [&](const std::vector<std::size_t>& claimed) {
    std::vector<const PlannedCode*> codes;
    for (const std::size_t number : claimed) {
      codes.push_back(&plan.codes[number]);
      compiled[number] = true;
    }
    ParallelCompilation compilation(std::move(codes), target, options.threads,
                                    texts.lists_functions);
    std::vector<KernelCodePtr> codes_of_keys = compilation.run();
    if (texts.times) texts.times->add_parts(compilation.times());
    texts.perf_map += compilation.perf_map();
    return codes_of_keys;
  });
  if (texts.lists_functions) {
    texts.perf_map += rows_of_shared_code(kernels, plan, *program, compiled);
  }
  texts.lap("code of kernels");
  if (texts.times) {
    const auto count = static_cast<std::size_t>(std::count(compiled.begin(), compiled.end(), true));
    texts.times->count("kernels compiled", count);
    texts.times->count("kernels that share code", kernels.size() - count);
  }
  keep_alive = program;
  return functions_of(plan, program);
}

}  // namespace kiln::cpu
