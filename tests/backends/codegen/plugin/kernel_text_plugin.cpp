// A backend whose kernels are written as C++ and compiled by the host's compiler.
#include "backends/codegen/compile.h"
#include "backends/codegen/host/host_target.h"
#include "tests/backends/codegen/host_compiler.h"

namespace kiln::test {
namespace {

class TextTarget final : public codegen::HostTarget {
 public:
  codegen::KernelFunctions compile(const codegen::BuiltKernels& built,
                                   std::shared_ptr<const void>& keep_alive,
                                   const codegen::Dumps& dumps, codegen::CompileTimes&) override {
    if (built.empty()) return {};
    std::vector<codegen::Kernel> kernels;
    for (const codegen::BuiltKernel& each : built) kernels.push_back(each.kernel);
    dumps.hand_over("c++", "", [&] { return codegen::loop_text(kernels); });
    return compile_text(kernels, keep_alive);
  }
};

std::unique_ptr<sdk::Instance> create(const sdk::Options&, const sdk::Host& host) {
  return std::make_unique<codegen::CompiledInstance>(std::make_unique<TextTarget>(), host);
}

}  // namespace

extern constexpr sdk::Plugin kTextPlugin{
    .name = "kernel_text",
    .version = KILN_VERSION,
    .build_id = "tests",
    .features = KILN_FEATURE_CONCURRENT_COMPILE,
    .create = create,
    .probe = nullptr,
};

}  // namespace kiln::test

KILN_BACKEND_ENTRY(kiln::test::kTextPlugin)
