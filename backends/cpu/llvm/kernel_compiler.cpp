// Code that nobody has compiled yet is compiled in modules of a few kernels, on several threads.
// A function's code depends neither on the others of its module nor on the thread.
#include "backends/cpu/llvm/kernel_compiler.h"

#include "backends/cpu/llvm/compile_thread.h"
#include "backends/cpu/llvm/emit_kernel.h"
#include "backends/cpu/llvm/emit_scalar.h"
#include "backends/cpu/llvm/llvm_setup.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <span>

namespace kiln::cpu {
namespace {

using codegen::BuiltKernel;
using codegen::KernelFunction;

using Code = void (*)(const codegen::KernelArguments*);

void call(const void* code, const codegen::KernelArguments* arguments) {
  reinterpret_cast<Code>(const_cast<void*>(code))(arguments);
}

/// Code with the numbers that it reads.
struct NumberedFunction {
  const void* code;
  std::vector<std::int64_t> numbers;
};

void call_with_numbers(const void* context, const codegen::KernelArguments* arguments) {
  const auto& function = *static_cast<const NumberedFunction*>(context);
  codegen::KernelArguments changed = *arguments;
  changed.sizes = function.numbers.data();
  call(function.code, &changed);
}

/// All that the functions of a program need.
struct ProgramCode {
  std::vector<KernelCodePtr> codes;
  std::vector<NumberedFunction> numbered;  // never moved once functions point at them
};

std::vector<RuntimeSymbol> all_symbols() {
  std::vector<RuntimeSymbol> symbols = scalar_symbols();
  for (const RuntimeSymbol& symbol : kernel_symbols()) symbols.push_back(symbol);
  return symbols;
}

/// A module with its context.
struct Unit {
  llvm::LLVMContext context;
  llvm::Module module{"kernels", context};
};

void emit(llvm::Module& module, const PlannedCode& code, const IsaTarget& target) {
  if (!code.reads_numbers) return emit_kernel(module, *code.kernel, target);
  static_cast<void>(emit_kernel_of_numbers(module, *code.kernel, target));
}

/// Compiles pieces of code as one module.
std::unique_ptr<MachineCode> compile_module(ModuleCompiler& compiler,
                                            const std::vector<const PlannedCode*>& codes,
                                            const IsaTarget& target, CompileTexts& texts) {
  auto unit = std::make_unique<Unit>();
  try {
    unit->context.setDiscardValueNames(!texts.wanted);
    compiler.set_target(unit->module);
    for (const PlannedCode* code : codes) emit(unit->module, *code, target);
    texts.lap("LLVM IR");
    return compiler.compile(unit->module, all_symbols(), texts);
  } catch (const std::bad_alloc&) {
    // It passed through tables of LLVM that are not made for it and could not be freed now.
    static_cast<void>(unit.release());
    throw;
  }
}

/// Pieces of code that several threads compile: each takes the next few that none has begun, which
/// become one module.
class ParallelCompilation {
 public:
  ParallelCompilation(std::vector<const PlannedCode*> codes, const IsaTarget& target,
                      std::size_t threads)
      : wanted_(std::move(codes)), target_(target), threads_(std::max<std::size_t>(threads, 1)),
        piece_(pieces_of_module(wanted_.size(), threads_)),
        made_(wanted_.size()) {
    for (std::size_t i = 0; i < wanted_.size(); ++i) order_.push_back(i);
    // Long ones first, so that the threads end at about the same time.
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return wanted_[a]->kernel->expressions.size() > wanted_[b]->kernel->expressions.size();
    });
  }

  std::vector<KernelCodePtr> run() {
    on_compile_threads(std::min(threads_, wanted_.size()), [&] { compile_some(); });
    return std::move(made_);
  }

  /// Of all threads together.
  const codegen::CompileTimes& times() const { return times_; }

 private:
  /// Modules for each of several threads, about: few, since each compiles functions of its own
  /// such as tanh; more than one, so that threads end together.
  static constexpr std::size_t kTurns = 4;
  /// A module's code is released as a whole.
  static constexpr std::size_t kMaxPieces = 32;

  static std::size_t pieces_of_module(std::size_t pieces, std::size_t threads) {
    if (threads == 1) return kMaxPieces;
    return std::clamp<std::size_t>(pieces / (kTurns * threads), 1, kMaxPieces);
  }

  void compile_some() {
    codegen::CompileTimes times;
    CompileTexts texts;
    texts.times = &times;
    ModuleCompiler compiler(target_);
    texts.lap("LLVM target");
    for (std::size_t begin = next_.fetch_add(piece_); begin < order_.size();
         begin = next_.fetch_add(piece_)) {
      const std::size_t end = std::min(begin + piece_, order_.size());
      compile_piece(compiler, {order_.data() + begin, end - begin}, texts);
    }
    const std::lock_guard lock(mutex_);
    times_.add_parts(times);
  }

  void compile_piece(ModuleCompiler& compiler, std::span<const std::size_t> numbers,
                     CompileTexts& texts) {
    std::vector<const PlannedCode*> codes;
    for (const std::size_t number : numbers) codes.push_back(wanted_[number]);
    const std::shared_ptr<const MachineCode> module =
        compile_module(compiler, codes, target_, texts);
    for (const std::size_t number : numbers) {
      const void* address = module->address(wanted_[number]->kernel->name);
      made_[number] = std::make_shared<KernelCode>(
          KernelCode{module, address, module->bytes() / numbers.size()});
    }
    texts.lap("linking");
  }

  const std::vector<const PlannedCode*> wanted_;
  const IsaTarget& target_;
  const std::size_t threads_, piece_;
  std::vector<std::size_t> order_;
  std::vector<KernelCodePtr> made_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  codegen::CompileTimes times_;
};

std::vector<KernelFunction> functions_of(const CodePlan& plan,
                                         std::shared_ptr<ProgramCode> program) {
  std::vector<KernelFunction> functions;
  program->numbered.reserve(plan.uses.size());
  for (const CodeUse& use : plan.uses) {
    const void* code = program->codes[use.code]->address;
    if (use.numbers.empty()) {
      functions.push_back({call, code});
      continue;
    }
    program->numbered.push_back({code, use.numbers});
    functions.push_back({call_with_numbers, &program->numbered.back()});
  }
  return functions;
}

/// Texts of all kernels, each as if it were the only one: nothing is shared.
std::vector<KernelFunction> compile_for_texts(const CodePlan& plan, const IsaTarget& target,
                                              std::shared_ptr<const void>& keep_alive,
                                              CompileTexts& texts) {
  std::vector<KernelFunction> functions;
  on_compile_thread([&] {
    ModuleCompiler compiler(target);
    std::vector<const PlannedCode*> codes;
    for (const PlannedCode& code : plan.codes) codes.push_back(&code);
    std::shared_ptr<const MachineCode> module = compile_module(compiler, codes, target, texts);
    for (const CodeUse& use : plan.uses) {
      functions.push_back({call, module->address(plan.codes[use.code].kernel->name)});
    }
    texts.lap("linking");
    keep_alive = std::move(module);
  });
  return functions;
}

}  // namespace

std::vector<KernelFunction> compile_kernels(const std::vector<BuiltKernel>& kernels,
                                            const CompileOptions& options,
                                            std::shared_ptr<const void>& keep_alive,
                                            CompileTexts& texts) {
  if (kernels.empty()) return {};
  const IsaTarget& target = options.target;
  set_up_llvm(target);
  texts.lap("LLVM setup");
  const NumberReading reading = texts.wanted ? NumberReading::Never : options.reading;
  const CodePlan plan = plan_codes(kernels, target, reading, options.threads);
  texts.lap("kernel keys");
  if (texts.wanted) return compile_for_texts(plan, target, keep_alive, texts);
  std::size_t compiled = 0;
  const auto program = std::make_shared<ProgramCode>();
  std::vector<std::string> keys;
  for (const PlannedCode& code : plan.codes) keys.push_back(code.key);
  CodeCache& cache = options.cache ? *options.cache : CodeCache::instance();
  program->codes = cache.get(keys, [&](const std::vector<std::size_t>& claimed) {
    std::vector<const PlannedCode*> codes;
    for (const std::size_t number : claimed) codes.push_back(&plan.codes[number]);
    ParallelCompilation compilation(std::move(codes), target, options.threads);
    std::vector<KernelCodePtr> made = compilation.run();
    compiled += made.size();
    if (texts.times) texts.times->add_parts(compilation.times());
    return made;
  });
  texts.lap("code of kernels");
  if (texts.times) {
    texts.times->count("kernels compiled", compiled);
    texts.times->count("kernels that share code", kernels.size() - compiled);
  }
  keep_alive = program;
  return functions_of(plan, program);
}

}  // namespace kiln::cpu
