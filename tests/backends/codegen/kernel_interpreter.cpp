// Adapts KernelRun to the host's calling convention of kernels.
#include "tests/backends/codegen/kernel_interpreter.h"

#include "tests/backends/codegen/kernel_run.h"

namespace kiln::test {

using namespace codegen;

void interpret(const Kernel& kernel, const KernelArguments& arguments) {
  const PreparedKernel prepared = prepare(kernel);
  KernelRun(prepared, arguments).run();
}

KernelFunction interpreted(const Kernel& kernel, std::shared_ptr<const void>& holder) {
  auto prepared = std::make_shared<const PreparedKernel>(prepare(kernel));
  KernelFunction function;
  function.context = prepared.get();
  function.run = [](const void* context, const KernelArguments* arguments) {
    KernelRun(*static_cast<const PreparedKernel*>(context), *arguments).run();
  };
  holder = prepared;
  return function;
}

}  // namespace kiln::test
