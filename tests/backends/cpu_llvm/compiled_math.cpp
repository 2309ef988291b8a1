// The only file of these tests that includes LLVM; compiled without run-time type information.
#include "tests/backends/cpu_llvm/compiled_math.h"

#include "backends/cpu/llvm/scalar/vector_math.h"

#include <llvm/PassRegistry.h>
#include <xmmintrin.h>

namespace cpu_llvm_test {
namespace {

using namespace kiln::cpu;
using llvm::Value;

Value* emit(Math function, const Emit& e, Value* x, Value* y) {
  switch (function) {
    case Math::Exp: return emit_exp(e, x);
    case Math::Expm1: return emit_expm1(e, x);
    case Math::Log: return emit_log(e, x);
    case Math::Log1p: return emit_log1p(e, x);
    case Math::Tanh: return emit_tanh(e, x);
    case Math::Sigmoid: return emit_sigmoid(e, x);
    case Math::Erf: return emit_erf(e, x);
    case Math::Atan: return emit_atan(e, x);
    case Math::Sin: return emit_sin(e, x);
    case Math::Cos: return emit_cos(e, x);
    case Math::Pow: return emit_pow(e, x, y);
    case Math::ExpOfNonpositive: return emit_exp_of_nonpositive(e, x);
  }
  return nullptr;
}

llvm::Function* add_function(llvm::Module& module, const std::string& name, const IsaTarget& target,
                             llvm::FunctionType* type) {
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  const std::string bits = std::to_string(8 * target.vector_bytes);
  function->addFnAttr("prefer-vector-width", bits);
  function->addFnAttr("min-legal-vector-width", bits);
  function->addFnAttr("target-cpu", target.cpu);
  function->addFnAttr("denormal-fp-math", "preserve-sign,preserve-sign");
  return function;
}

/// for (i = 0; i < count; i += lanes) result[i] = f(x[i], y[i])
void emit_loop(llvm::Module& module, const IsaTarget& target, Math function, llvm::Type* vector,
               std::size_t lanes) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  llvm::Type* index = llvm::Type::getInt64Ty(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                       {pointer, pointer, pointer, index}, false);
  llvm::Function* loop = add_function(module, "loop", target, type);
  auto* entry = llvm::BasicBlock::Create(context, "entry", loop);
  auto* body = llvm::BasicBlock::Create(context, "body", loop);
  auto* end = llvm::BasicBlock::Create(context, "end", loop);
  llvm::IRBuilder<> b(entry);
  b.CreateBr(body);
  b.SetInsertPoint(body);
  llvm::PHINode* i = b.CreatePHI(index, 2);
  i->addIncoming(b.getInt64(0), entry);
  const auto at = [&](unsigned argument) {
    return b.CreateGEP(vector->getScalarType(), loop->getArg(argument), i);
  };
  const llvm::Align align(vector->getScalarSizeInBits() / 8);
  Value* x = b.CreateAlignedLoad(vector, at(0), align);
  Value* y = b.CreateAlignedLoad(vector, at(1), align);
  b.CreateAlignedStore(emit(function, Emit{b, module, target}, x, y), at(2), align);
  Value* next = b.CreateAdd(i, b.getInt64(lanes));
  i->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpULT(next, loop->getArg(3)), body, end);
  b.SetInsertPoint(end);
  b.CreateRetVoid();
}

}  // namespace

const char* name_of(Math function) {
  constexpr const char* kNames[] = {"exp", "expm1", "log", "log1p", "tanh", "sigmoid",
                                    "erf", "atan",  "sin", "cos",   "pow",  "exp of x <= 0"};
  return kNames[static_cast<int>(function)];
}

std::vector<IsaTarget> targets_here() {
  std::vector<IsaTarget> targets;
  for (int isa = 0; isa <= static_cast<int>(native_isa()); ++isa) {
    targets.push_back(target_of(static_cast<Isa>(isa)));
  }
  return targets;
}

CompiledMath::CompiledMath(Math function, bool is_double, const IsaTarget& target)
    : lanes_(static_cast<std::size_t>(target.vector_bytes) / (is_double ? 8 : 4)) {
  llvm::LLVMContext context;
  llvm::Module module("math", context);
  set_target(module, target);
  llvm::Type* element =
      is_double ? llvm::Type::getDoubleTy(context) : llvm::Type::getFloatTy(context);
  auto* vector = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_));
  emit_loop(module, target, function, vector, lanes_);
  texts_.wanted = true;
  code_ = compile(module, target, vector_math_symbols(), texts_);
  function_ = reinterpret_cast<decltype(function_)>(code_->address("loop"));
}

void CompiledMath::run_bytes(const void* x, const void* y, void* result, std::size_t count) const {
  constexpr unsigned kFlush = 0x8040;
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | kFlush);
  function_(x, y, result, count);
  _mm_setcsr(saved);
}

std::unique_ptr<MachineCode> compile_adder(const std::string& name, int number) {
  llvm::LLVMContext context;
  llvm::Module module("adder", context);
  const IsaTarget target = target_of(Isa::Baseline);
  set_target(module, target);
  llvm::Type* i32 = llvm::Type::getInt32Ty(context);
  llvm::Function* f =
      add_function(module, name, target, llvm::FunctionType::get(i32, {i32}, false));
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", f));
  b.CreateRet(b.CreateAdd(f->getArg(0), b.getInt32(static_cast<std::uint32_t>(number))));
  CompileTexts texts;
  return compile(module, target, {}, texts);
}

std::unique_ptr<MachineCode> compile_constant(const std::string& name, double number) {
  llvm::LLVMContext context;
  llvm::Module module("constant", context);
  const IsaTarget target = target_of(Isa::Baseline);
  set_target(module, target);
  llvm::Type* type = llvm::Type::getDoubleTy(context);
  llvm::Function* f = add_function(module, name, target, llvm::FunctionType::get(type, false));
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", f));
  b.CreateRet(llvm::ConstantFP::get(type, number));
  CompileTexts texts;
  return compile(module, target, {}, texts);
}

std::unique_ptr<MachineCode> compile_caller(const std::string& name, const std::string& callee,
                                            const std::vector<RuntimeSymbol>& symbols) {
  llvm::LLVMContext context;
  llvm::Module module("caller", context);
  const IsaTarget target = target_of(Isa::Baseline);
  set_target(module, target);
  llvm::Type* i32 = llvm::Type::getInt32Ty(context);
  auto* type = llvm::FunctionType::get(i32, {i32}, false);
  llvm::Function* f = add_function(module, name, target, type);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", f));
  b.CreateRet(b.CreateCall(module.getOrInsertFunction(callee, type), {f->getArg(0)}));
  CompileTexts texts;
  return compile(module, target, symbols, texts);
}

std::unique_ptr<MachineCode> compile_lacking() {
  llvm::LLVMContext context;
  llvm::Module module("lacking", context);
  const IsaTarget target = target_of(Isa::Baseline);
  set_target(module, target);
  llvm::Type* lanes = llvm::FixedVectorType::get(llvm::Type::getInt32Ty(context), 4);
  auto* type = llvm::FunctionType::get(lanes, {lanes, lanes}, false);
  llvm::Function* f = add_function(module, "hash", target, type);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", f));
  // An instruction that x86-64 does not require.
  b.CreateRet(b.CreateCall(module.getOrInsertFunction("llvm.x86.sha1msg1", type),
                           {f->getArg(0), f->getArg(1)}));
  CompileTexts texts;
  return compile(module, target, {}, texts);
}

std::unique_ptr<MachineCode> compile_without_registers() {
  llvm::LLVMContext context;
  llvm::Module module("registers", context);
  const IsaTarget target = target_of(Isa::Baseline);
  set_target(module, target);
  llvm::Type* f32 = llvm::Type::getFloatTy(context);
  llvm::Function* f =
      add_function(module, "half", target, llvm::FunctionType::get(f32, {f32}, false));
  f->addFnAttr("target-features", "-sse,-sse2");
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", f));
  b.CreateRet(f->getArg(0));
  CompileTexts texts;
  return compile(module, target, {}, texts);
}

std::unique_ptr<MachineCode> compile_invalid() {
  llvm::LLVMContext context;
  llvm::Module module("invalid", context);
  const IsaTarget target = target_of(Isa::Baseline);
  set_target(module, target);
  llvm::Type* i32 = llvm::Type::getInt32Ty(context);
  llvm::Function* f =
      add_function(module, "open", target, llvm::FunctionType::get(i32, {i32}, false));
  llvm::BasicBlock::Create(context, "entry", f);  // without a terminator
  CompileTexts texts;
  return compile(module, target, {}, texts);
}

bool llvm_has_pass(std::string_view argument) {
  return llvm::PassRegistry::getPassRegistry()->getPassInfo(llvm::StringRef(argument)) != nullptr;
}

}  // namespace cpu_llvm_test
