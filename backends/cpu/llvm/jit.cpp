// A short list of passes, code generation to an object in memory, and JITLink to place it.
#include "backends/cpu/llvm/jit.h"

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cpu/llvm/pooled_memory.h"

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

#include <mutex>
#include <new>

namespace kiln::cpu {
namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

[[noreturn]] void fail(const std::string& what, std::uint32_t code = KILN_CODE_INTERNAL) {
  throw sdk::Failure(code, "compiling kernels: " + what);
}

/// An error's text, and the code of a failure that it caused.
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
    // Shared by all passes and otherwise made by the first of them, on whatever thread that is.
    llvm::vfs::getRealFileSystem();
  });
  std::string error;
  const llvm::Triple triple(kTriple);
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found) fail(error);
  llvm::TargetOptions options;
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
      triple, target.cpu, "", options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      llvm::CodeGenOptLevel::Default, /*JIT=*/true));
}

/// Kernels come as explicit vector code; what is left is cleaning up after the emitter.
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

std::unique_ptr<llvm::MemoryBuffer> emit(llvm::Module& module, llvm::TargetMachine& machine,
                                         llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type)) fail("no code generator");
  passes.run(module);
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes),
                                                         /*RequiresNullTerminator=*/false);
}

/// Errors that LLVM reports, not throws or returns; unheard, they would end the process.
class Diagnostics {
 public:
  explicit Diagnostics(llvm::LLVMContext& context) : context_(context) {
    context.setDiagnosticHandlerCallBack(keep, &errors_);
  }
  ~Diagnostics() { context_.setDiagnosticHandlerCallBack(nullptr); }
  Diagnostics(const Diagnostics&) = delete;
  Diagnostics& operator=(const Diagnostics&) = delete;

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

/// Memory of a module beside its object: its pages are not full, and the session has tables. 1,000
/// programs with two modules of about 3 KiB each took 40 MiB.
constexpr std::size_t kBytesBesideObject = std::size_t{16} << 10;

/// A session of the linker with what belongs to it.
struct Link {
  Link()
      : session(checked(llvm::orc::SelfExecutorProcessControl::Create(
            nullptr, std::make_unique<llvm::orc::InPlaceTaskDispatcher>(),
            std::make_unique<PooledMemory>()))),
        library(session.createBareJITDylib("kernels")),
        layer(session) {
    // The details of a failed lookup come this way, and would be printed.
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
  /// Where there is no memory to end the session with, it stays.
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

 private:
  std::size_t bytes_ = 0;
  std::unique_ptr<Link> link_;
};

}  // namespace

struct ModuleCompiler::Parts {
  explicit Parts(const IsaTarget& target) : machine(machine_of(target)), passes(*machine) {}

  std::unique_ptr<llvm::TargetMachine> machine;
  Passes passes;
};

ModuleCompiler::ModuleCompiler(const IsaTarget& target)
    : parts_(std::make_unique<Parts>(target)) {}
ModuleCompiler::~ModuleCompiler() = default;

void ModuleCompiler::set_target(llvm::Module& module) const {
  module.setTargetTriple(parts_->machine->getTargetTriple());
  module.setDataLayout(parts_->machine->createDataLayout());
}

std::unique_ptr<MachineCode> ModuleCompiler::compile(llvm::Module& module,
                                                     const std::vector<RuntimeSymbol>& symbols,
                                                     CompileTexts& texts) {
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream)) fail(problem);
  const Diagnostics diagnostics(module.getContext());
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
    const auto assembly = emit(*copy, machine, llvm::CodeGenFileType::AssemblyFile);
    texts.assembly = assembly->getBuffer().str();
    texts.lap("dumped texts");
  }
  auto object = emit(module, machine, llvm::CodeGenFileType::ObjectFile);
  diagnostics.check();
  auto code = std::make_unique<LinkedCode>();
  code->add(symbols);
  code->add(std::move(object));
  texts.lap("code generation");
  return code;
}

std::unique_ptr<MachineCode> compile(llvm::Module& module, const IsaTarget& target,
                                     const std::vector<RuntimeSymbol>& symbols,
                                     CompileTexts& texts) {
  return ModuleCompiler(target).compile(module, symbols, texts);
}

void set_target(llvm::Module& module, const IsaTarget& target) {
  ModuleCompiler(target).set_target(module);
}

}  // namespace kiln::cpu
