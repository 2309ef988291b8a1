// Kernels come as explicit vector code, so that a short list of passes suffices. JITLink links the
// object with the listed symbols only: lookups never search the process.
#include "backends/cpu/llvm/jit/jit.h"

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cpu/llvm/jit/function_list.h"
#include "backends/cpu/llvm/jit/pooled_memory.h"

#include <llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/PassInfo.h>
#include <llvm/PassRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <new>

namespace kiln::cpu {
namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

[[noreturn]] void fail(const std::string& what, std::uint32_t code = KILN_CODE_INTERNAL) {
  throw sdk::Failure(
      code, "compiling kernels: " + (what.empty() ? "LLVM: an error without a description" : what));
}

/// An LLVM error as text and KILN_CODE.
struct Reported {
  std::string text;
  std::uint32_t code = KILN_CODE_INTERNAL;

  void add(llvm::Error error) {
    llvm::handleAllErrors(std::move(error), [this](const llvm::ErrorInfoBase& info) {
      text += text.empty() ? info.message() : ": " + info.message();
      if (info.convertToErrorCode() == std::errc::not_enough_memory) {
        code = KILN_CODE_RESOURCE_EXHAUSTED;
      }
    });
  }
};

void check(llvm::Error error) {
  if (!error) return;
  Reported reported;
  reported.add(std::move(error));
  fail(reported.text, reported.code);
}
template <class Value>
Value checked(llvm::Expected<Value> value) {
  if (!value) check(value.takeError());
  return std::move(*value);
}

std::unique_ptr<llvm::TargetMachine> machine_of(const IsaTarget& target) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    // Shared by all passes; otherwise the first of them would create it, on any thread.
    llvm::vfs::getRealFileSystem();
  });
  std::string error;
  const llvm::Triple triple(kTriple);
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found) fail(error);
  llvm::TargetOptions options;
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
      triple, target.cpu, target.has_avx512_bf16 ? "+avx512bf16" : "", options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, /*JIT=*/true));
}

/// Cleans up after the emitter: kernels are explicit vector code already.
class Passes {
 public:
  explicit Passes(llvm::TargetMachine& machine) {
    llvm::PassBuilder builder(&machine);
    builder.registerModuleAnalyses(modules_);
    builder.registerCGSCCAnalyses(graphs_);
    builder.registerFunctionAnalyses(functions_);
    builder.registerLoopAnalyses(loops_);
    builder.crossRegisterProxies(loops_, functions_, graphs_, modules_);
    passes_.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    passes_.addPass(llvm::EarlyCSEPass());
    passes_.addPass(llvm::SimplifyCFGPass());
    passes_.addPass(llvm::InstCombinePass());
    passes_.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                          /*UseMemorySSA=*/true));
  }

  void run(llvm::Module& module) {
    for (llvm::Function& function : module) {
      if (!function.isDeclaration()) passes_.run(function, functions_);
    }
    loops_.clear();
    functions_.clear();
    graphs_.clear();
    modules_.clear();
  }

 private:
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager graphs_;
  llvm::ModuleAnalysisManager modules_;
  llvm::FunctionPassManager passes_;
};

/// None of these changes a result. Loop strength reduction and its analyses take 30% of the time of
/// code generation, the others together 7% (MobileNetV2's first step). Without loop strength
/// reduction no benchmark's kernels with few points are slower; with many points, bn_relu_train
/// takes 4% more time. The machine scheduler takes 6%; lstm_step takes 3% more time without it.
constexpr std::array<std::string_view, 8> kLeftOut{"loop-reduce", "canon-freeze",
                                                   // Copies and live ranges.
                                                   "machine-cp", "lrshrink",
                                                   // Choices between equivalent instructions.
                                                   "x86-execution-domain-fix", "break-false-deps",
                                                   "x86-fixup-inst-tuning",
                                                   "x86-fixup-vector-constants"};

/// A pass manager that drops passes_left_out() unless it takes all.
class CodeGenerationPasses final : public llvm::legacy::PassManagerBase {
 public:
  explicit CodeGenerationPasses(CodeGeneration generation)
      : is_quick_(generation == CodeGeneration::Quick) {}

  /// Takes ownership of the pass.
  void add(llvm::Pass* pass) override {
    if (is_quick_ && is_left_out(*pass)) {
      delete pass;
    } else {
      passes_.add(pass);
    }
  }
  void run(llvm::Module& module) { passes_.run(module); }

 private:
  static bool is_left_out(const llvm::Pass& pass) {
    const llvm::PassInfo* info =
        llvm::PassRegistry::getPassRegistry()->getPassInfo(pass.getPassID());
    if (info == nullptr) return false;
    const std::string_view argument = info->getPassArgument();
    return std::find(kLeftOut.begin(), kLeftOut.end(), argument) != kLeftOut.end();
  }

  const bool is_quick_;
  llvm::legacy::PassManager passes_;
};

std::unique_ptr<llvm::MemoryBuffer> emit(llvm::Module& module, llvm::TargetMachine& machine,
                                         CodeGeneration generation, llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  CodeGenerationPasses passes(generation);
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type)) fail("no code generator");
  passes.run(module);
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes),
                                                         /*RequiresNullTerminator=*/false);
}

/// Collects errors that LLVM reports to a diagnostic handler; by default LLVM would exit the
/// process.
class ScopedDiagnosticHandler {
 public:
  explicit ScopedDiagnosticHandler(llvm::LLVMContext& context) : context_(context) {
    context.setDiagnosticHandlerCallBack(keep, &errors_);
  }
  ~ScopedDiagnosticHandler() { context_.setDiagnosticHandlerCallBack(nullptr); }
  ScopedDiagnosticHandler(const ScopedDiagnosticHandler&) = delete;
  ScopedDiagnosticHandler& operator=(const ScopedDiagnosticHandler&) = delete;

  void check() const {
    if (!errors_.empty()) fail(errors_);
  }

 private:
  static void keep(const llvm::DiagnosticInfo* info, void* errors) {
    if (info->getSeverity() != llvm::DS_Error) return;
    llvm::raw_string_ostream stream(*static_cast<std::string*>(errors));
    llvm::DiagnosticPrinterRawOStream printer(stream);
    if (!stream.str().empty()) stream << "; ";
    info->print(printer);
  }

  llvm::LLVMContext& context_;
  std::string errors_;
};

std::string text_of(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

/// Memory of a module in addition to its object: partly filled pages, and tables of the session.
/// 1,000 programs with two modules of about 3 KiB each took 40 MiB.
constexpr std::size_t kBytesBesideObject = std::size_t{16} << 10;

/// A linker session for one module.
struct Link {
  Link()
      : session(checked(llvm::orc::SelfExecutorProcessControl::Create(
            nullptr, std::make_unique<llvm::orc::InPlaceTaskDispatcher>(),
            std::make_unique<PooledMemory>()))),
        library(session.createBareJITDylib("kernels")),
        layer(session) {
    // Receives the details of a failed lookup, which LLVM would print otherwise.
    session.setErrorReporter([this](llvm::Error error) {
      const std::lock_guard lock(mutex);
      details.add(std::move(error));
    });
  }

  std::mutex mutex;
  Reported details;
  llvm::orc::ExecutionSession session;
  llvm::orc::JITDylib& library;
  llvm::orc::ObjectLinkingLayer layer;
};

class LinkedCode final : public MachineCode {
 public:
  LinkedCode() : link_(std::make_unique<Link>()) {}
  /// Leaks the session where there is no memory to end it.
  ~LinkedCode() override {
    try {
      if (auto error = link_->session.endSession()) llvm::consumeError(std::move(error));
    } catch (const std::bad_alloc&) {
      static_cast<void>(link_.release());
    }
  }

  void add(const std::vector<RuntimeSymbol>& symbols) {
    llvm::orc::SymbolMap map;
    for (const RuntimeSymbol& symbol : symbols) {
      map[link_->session.intern(symbol.name)] = {llvm::orc::ExecutorAddr::fromPtr(symbol.address),
                                                 llvm::JITSymbolFlags::Exported};
    }
    check(link_->library.define(llvm::orc::absoluteSymbols(std::move(map))));
  }
  void add(std::unique_ptr<llvm::MemoryBuffer> object) {
    bytes_ = object->getBufferSize() + kBytesBesideObject;
    check(link_->layer.add(link_->library, std::move(object)));
  }

  void* address(const std::string& name) const override {
    auto symbol = link_->session.lookup({&link_->library}, name);
    if (!symbol) {
      Reported reported;
      reported.add(symbol.takeError());
      const std::lock_guard lock(link_->mutex);
      const Reported& details = link_->details;
      if (!details.text.empty()) reported.text += ": " + details.text;
      const bool no_memory = reported.code == KILN_CODE_RESOURCE_EXHAUSTED ||
                             details.code == KILN_CODE_RESOURCE_EXHAUSTED;
      fail("function " + name + ": " + reported.text,
           no_memory ? KILN_CODE_RESOURCE_EXHAUSTED : KILN_CODE_INTERNAL);
    }
    return symbol->getAddress().toPtr<void*>();
  }
  std::size_t bytes() const override { return bytes_; }
  /// REQUIRES: called before the object is added.
  void list_functions() {
    functions_ = std::make_shared<FunctionList>();
    link_->layer.addPlugin(functions_);
  }
  std::string perf_map() const override { return functions_ ? functions_->rows() : ""; }
  std::string perf_map_row(const void* address, const std::string& name) const override {
    return functions_ ? functions_->row_of(address, name) : "";
  }

 private:
  std::size_t bytes_ = 0;
  std::shared_ptr<FunctionList> functions_;  // null: functions are not listed
  std::unique_ptr<Link> link_;
};

}  // namespace

std::span<const std::string_view> passes_left_out() { return kLeftOut; }

struct ModuleCompiler::Parts {
  explicit Parts(const IsaTarget& target) : machine(machine_of(target)), passes(*machine) {}

  std::unique_ptr<llvm::TargetMachine> machine;
  Passes passes;
};

ModuleCompiler::ModuleCompiler(const IsaTarget& target) : parts_(std::make_unique<Parts>(target)) {}
ModuleCompiler::~ModuleCompiler() = default;

void ModuleCompiler::set_target(llvm::Module& module) const {
  module.setTargetTriple(parts_->machine->getTargetTriple());
  module.setDataLayout(parts_->machine->createDataLayout());
}

std::unique_ptr<MachineCode> ModuleCompiler::compile(llvm::Module& module,
                                                     CodeGeneration generation,
                                                     const std::vector<RuntimeSymbol>& symbols,
                                                     CompileTexts& texts) {
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream)) fail(problem);
  const ScopedDiagnosticHandler diagnostics(module.getContext());
  llvm::TargetMachine& machine = *parts_->machine;
  texts.lap("LLVM verifier");
  if (texts.wanted) {
    texts.ir = text_of(module);
    texts.lap("dumped texts");
  }
  parts_->passes.run(module);
  texts.lap("LLVM passes");
  if (texts.wanted) {
    texts.optimized_ir = text_of(module);
    const auto copy = llvm::CloneModule(module);
    const auto assembly = emit(*copy, machine, generation, llvm::CodeGenFileType::AssemblyFile);
    texts.assembly = assembly->getBuffer().str();
    texts.lap("dumped texts");
  }
  auto object = emit(module, machine, generation, llvm::CodeGenFileType::ObjectFile);
  diagnostics.check();
  auto code = std::make_unique<LinkedCode>();
  if (texts.lists_functions) code->list_functions();
  code->add(symbols);
  code->add(std::move(object));
  texts.lap("code generation");
  return code;
}

std::unique_ptr<MachineCode> compile(llvm::Module& module, const IsaTarget& target,
                                     const std::vector<RuntimeSymbol>& symbols,
                                     CompileTexts& texts) {
  return ModuleCompiler(target).compile(module, CodeGeneration::Full, symbols, texts);
}

void set_target(llvm::Module& module, const IsaTarget& target) {
  ModuleCompiler(target).set_target(module);
}

}  // namespace kiln::cpu
