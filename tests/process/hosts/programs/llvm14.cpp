// A host that is linked to another LLVM. It compiles and runs code with that before, between and
// after the backend's own compilations, also in two threads at once.
#include "tests/process/hosts/programs/program.h"
#include "tests/process/hosts/sample.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/ExecutionEngine.h>
#include <llvm-c/Target.h>

#include <thread>

namespace {

/// The result of code made by the host's LLVM for (a * b) + number.
int compiled_by_host(int a, int b, int number) {
  LLVMContextRef context = LLVMContextCreate();
  LLVMModuleRef module = LLVMModuleCreateWithNameInContext("host", context);
  LLVMTypeRef type = LLVMInt32TypeInContext(context);
  LLVMTypeRef parameters[] = {type, type};
  LLVMValueRef function =
      LLVMAddFunction(module, "f", LLVMFunctionType(type, parameters, 2, /*IsVarArg=*/0));
  LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
  LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, function, "entry"));
  LLVMValueRef product =
      LLVMBuildMul(builder, LLVMGetParam(function, 0), LLVMGetParam(function, 1), "product");
  LLVMValueRef addend = LLVMConstInt(type, static_cast<unsigned long long>(number), 1);
  LLVMBuildRet(builder, LLVMBuildAdd(builder, product, addend, "sum"));
  LLVMDisposeBuilder(builder);
  char* problem = nullptr;
  expect(LLVMVerifyModule(module, LLVMReturnStatusAction, &problem) == 0, "the host's module");
  LLVMDisposeMessage(problem);
  LLVMExecutionEngineRef engine = nullptr;
  problem = nullptr;
  expect(LLVMCreateJITCompilerForModule(&engine, module, 2, &problem) == 0, "the host's compiler");
  const auto f = reinterpret_cast<int (*)(int, int)>(LLVMGetFunctionAddress(engine, "f"));
  const int result = f(a, b);
  LLVMDisposeExecutionEngine(engine);
  LLVMContextDispose(context);
  return result;
}

}  // namespace

int main() {
  LLVMLinkInMCJIT();
  expect(LLVMInitializeNativeTarget() == 0, "the host's target");
  expect(LLVMInitializeNativeAsmPrinter() == 0, "the host's printer");
  expect(compiled_by_host(6, 7, 0) == 42, "the host's code before");
  {
    const hosts_test::Sample sample("cpu");
    expect(compiled_by_host(5, 8, 2) == 42, "the host's code between");
    expect(sample.right(3, 0.125), "a call");
    std::thread host([] {
      for (int i = 0; i < 20; ++i) expect(compiled_by_host(i, 3, -i) == 2 * i, "at once");
    });
    for (int i = 0; i < 5; ++i) expect(hosts_test::works_on("cpu"), "the backend at once");
    host.join();
    LLVMShutdown();  // shuts the host's LLVM down, not the backend's
    expect(sample.right(4, 0.0625), "a call after the host's LLVM ended");
    expect(hosts_test::works_on("cpu"), "compiling after the host's LLVM ended");
  }
  return finished();
}
