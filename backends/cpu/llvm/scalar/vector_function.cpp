// Functions are named by operation and type, and have the attributes of their caller.
#include "backends/cpu/llvm/scalar/vector_function.h"

namespace kiln::cpu {
namespace {

using llvm::Value;

std::string name_for(const char* name, llvm::Type* type) {
  std::string result = name;
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    result += "_" + std::to_string(vector->getNumElements());
  }
  return result + (type->getScalarType()->isDoubleTy() ? "_double" : "_float");
}

}  // namespace

llvm::Function* add_function(const Emit& e, const std::string& name, llvm::FunctionType* type) {
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, e.module);
  const llvm::Function* caller = e.b.GetInsertBlock()->getParent();
  for (const char* attribute : {"prefer-vector-width", "min-legal-vector-width", "target-cpu",
                                "denormal-fp-math", "denormal-fp-math-f32"}) {
    if (caller->hasFnAttribute(attribute)) {
      function->addFnAttr(caller->getFnAttribute(attribute));
    }
  }
  function->setDoesNotThrow();
  return function;
}

Value* call_vector_function(const Emit& e, const char* name, llvm::ArrayRef<Value*> arguments,
                            void (*emit_body)(const Emit& inside, llvm::ArrayRef<Value*> x)) {
  llvm::Type* type = arguments[0]->getType();
  const std::string full_name = name_for(name, type);
  llvm::Function* function = e.module.getFunction(full_name);
  if (!function) {
    const std::vector<llvm::Type*> parameters(arguments.size(), type);
    function = add_function(e, full_name, llvm::FunctionType::get(type, parameters, false));
    function->setDoesNotAccessMemory();
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(e.b.getContext(), "entry", function));
    std::vector<Value*> inside;
    for (llvm::Argument& argument : function->args()) inside.push_back(&argument);
    emit_body(Emit{b, e.module, e.target}, inside);
  }
  return e.b.CreateCall(function, arguments);
}

}  // namespace kiln::cpu
