// A backend whose kernels are interpreted: fusion, kernels, plans and runs without an emitter. It
// interprets what their readable form says, which must be all of their meaning.
#include "backends/codegen/compile.h"
#include "backends/codegen/host/host_target.h"
#include "tests/backends/codegen/kernel_interpreter.h"
#include "tests/backends/codegen/parse_kernel.h"

namespace kiln::test {
namespace {

class InterpretedTarget final : public codegen::HostTarget {
 public:
  codegen::KernelFunctions compile(const codegen::BuiltKernels& kernels,
                                   std::shared_ptr<const void>& keep_alive, const codegen::Dumps&,
                                   codegen::CompileTimes&) override {
    auto holders =
        std::make_shared<IdVector<codegen::KernelId, std::shared_ptr<const void>>>(kernels.size());
    codegen::KernelFunctions functions;
    for (const codegen::KernelId i : kernels.ids()) {
      functions.push_back(interpreted(parse_kernel(print(kernels[i].kernel)), (*holders)[i]));
    }
    keep_alive = holders;
    return functions;
  }
};

std::unique_ptr<sdk::Instance> create(const sdk::Options&, const sdk::Host& host) {
  return std::make_unique<codegen::CompiledInstance>(std::make_unique<InterpretedTarget>(), host);
}

}  // namespace

extern constexpr sdk::Plugin kInterpreterPlugin{
    .name = "kernel_interpreter",
    .version = KILN_VERSION,
    .build_id = "tests",
    .features = KILN_FEATURE_CONCURRENT_COMPILE,
    .create = create,
    .probe = nullptr,
};

}  // namespace kiln::test

KILN_BACKEND_ENTRY(kiln::test::kInterpreterPlugin)
