// The sample is a loop over vectors with loads, arithmetic and a store, so that passes and the code
// generator initialise what a kernel needs.
#include "backends/cpu/llvm/jit/llvm_setup.h"

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cpu/llvm/jit/compile_thread.h"
#include "backends/cpu/llvm/jit/jit.h"
#include "core/types/no_destructor.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <mutex>
#include <vector>

namespace kiln::cpu {
namespace {

constexpr const char* kSample = "sample";

/// void sample(float* values, int64 end): values[i] = values[i] * i + values[i] * (1 + i % 8),
/// eight lanes a step. The factors are a constant in memory whose load is hoisted out of the loop,
/// which makes the code generator build its table of folded loads.
void emit_sample(llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> builder(context);
  auto* pointer = builder.getPtrTy();
  auto* integer = builder.getInt64Ty();
  auto* vector = llvm::FixedVectorType::get(builder.getFloatTy(), 8);
  auto* type = llvm::FunctionType::get(builder.getVoidTy(), {pointer, integer}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kSample, module);
  auto* entry = llvm::BasicBlock::Create(context, "entry", function);
  auto* loop = llvm::BasicBlock::Create(context, "loop", function);
  auto* end = llvm::BasicBlock::Create(context, "end", function);
  builder.SetInsertPoint(entry);
  builder.CreateBr(loop);
  builder.SetInsertPoint(loop);
  auto* i = builder.CreatePHI(integer, 2);
  auto* address = builder.CreateGEP(builder.getFloatTy(), function->getArg(0), i);
  auto* values = builder.CreateAlignedLoad(vector, address, llvm::Align(4));
  auto* factor = builder.CreateSIToFP(i, builder.getFloatTy());
  auto* product = builder.CreateFMul(values, builder.CreateVectorSplat(8, factor));
  std::vector<float> factors{1, 2, 3, 4, 5, 6, 7, 8};
  auto* constant = llvm::ConstantDataVector::get(context, llvm::ArrayRef<float>(factors));
  auto* other = builder.CreateFMul(values, constant);
  builder.CreateAlignedStore(builder.CreateFAdd(product, other), address, llvm::Align(4));
  auto* next = builder.CreateAdd(i, builder.getInt64(8));
  i->addIncoming(builder.getInt64(0), entry);
  i->addIncoming(next, loop);
  builder.CreateCondBr(builder.CreateICmpSLT(next, function->getArg(1)), loop, end);
  builder.SetInsertPoint(end);
  builder.CreateRetVoid();
}

void compile_sample(const IsaTarget& target) {
  llvm::LLVMContext context;
  llvm::Module module("setup", context);
  set_target(module, target);
  emit_sample(module);
  CompileTexts texts;
  static_cast<void>(compile(module, target, {}, texts)->address(kSample));
}

struct Setup {
  std::mutex mutex;
  bool is_done = false, has_failed = false;
};

Setup& setup() {
  static NoDestructor<Setup> instance;
  return *instance;
}

}  // namespace

void set_up_llvm(const IsaTarget& target) {
  Setup& state = setup();
  const std::lock_guard lock(state.mutex);
  if (state.is_done) return;
  if (state.has_failed) {
    throw sdk::Failure(KILN_CODE_RESOURCE_EXHAUSTED,
                       "compiling kernels: memory ran out while LLVM was initialised in this "
                       "process; restart the program");
  }
  try {
    on_compile_thread([&] { compile_sample(target); });
  } catch (const NoCompileThread&) {
    throw;
  } catch (...) {
    state.has_failed = true;
    throw;
  }
  state.is_done = true;
}

}  // namespace kiln::cpu
