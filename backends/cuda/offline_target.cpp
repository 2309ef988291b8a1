// A target whose executables hand over their dumps and reject calls.
#include "backends/cuda/offline_target.h"

#include "backends/codegen/bind/memory_report.h"
#include "backends/codegen/grid/shape_kernel.h"
#include "backends/cuda/execute/attention_kernels.h"
#include "backends/cuda/execute/compile_kernels.h"
#include "backends/cuda/execute/dump_sass.h"
#include "backends/cuda/libraries/cudnn_claims.h"
#include "backends/cuda/libraries/device_claims.h"
#include "backends/cuda/libraries/matmul_claims.h"

namespace kiln::cuda {
namespace {

using namespace codegen;

constexpr GridDescription kGrid{};

sdk::Failure no_device(int architecture) {
  return {KILN_CODE_FAILED_PRECONDITION,
          "there is no device: KILN_CUDA_ARCH or the option arch is set, so programs are compiled "
          "for sm_" +
              std::to_string(architecture) + ", but cannot be called"};
}

class OfflineTarget final : public Target {
 public:
  OfflineTarget(std::shared_ptr<const api::Compiler> compiler, int architecture)
      : compiler_(std::move(compiler)), architecture_(architecture) {}

  TargetDescription description() const override { return target_of(kGrid); }
  LoopTransform loop_transform() const override { return shape_for_grid; }
  const LibraryClaims* claims() override { return &claims_; }
  std::unique_ptr<sdk::Executable> load(LoweredModule lowered, const sdk::Host& host) override;

  /// Compiles the kernels and hands over the stages from the memory plan on.
  void compile(const LoweredModule& lowered, const Dumps& dumps, const sdk::Host& host) const {
    dumps.hand_over("memory_plan", "", [&] { return print_memory(lowered.program); });
    const CompiledKernels compiled = compile_kernels(lowered.program, {kGrid, architecture_},
                                                     *compiler_, dumps, lowered.label, host);
    dump_sass(compiled.parts, *compiler_, dumps, host);
    dump_attention(lowered.program.plan, *compiler_, architecture_, dumps, host);
  }
  int architecture() const { return architecture_; }

 private:
  std::shared_ptr<const api::Compiler> compiler_;
  int architecture_;
  DeviceClaims claims_{std::make_shared<MatmulClaims>(), std::make_shared<CudnnClaims>()};
};

class OfflineExecutable final : public sdk::Executable {
 public:
  OfflineExecutable(LoweredModule lowered, OfflineTarget& target, const sdk::Host& host)
      : lowered_(std::move(lowered)),
        target_(target),
        host_(host),
        dumps_(host_, lowered_.label, &lowered_.module) {
    const ir::Graph& graph = lowered_.module.graph;
    inputs = graph.inputs.size();
    states = lowered_.module.state.size();
    outputs = graph.outputs.size();
    updates = graph.updates.size();
    target_.compile(lowered_, dumps_, host_);
    lowered_.times.lap("cuda");
    dumps_.compile_times(lowered_.times);
    dumps_.compilation(lowered_.program, lowered_.times);
  }

  void dump() const override {
    dump_lowering(lowered_, target_, dumps_);
    dumps_.program(lowered_.program);
    target_.compile(lowered_, dumps_, host_);
    dumps_.compile_times(lowered_.times);
  }

  std::unique_ptr<sdk::Event> execute(const sdk::Call&) const override {
    throw no_device(target_.architecture());
  }

 private:
  LoweredModule lowered_;
  OfflineTarget& target_;
  sdk::Host host_;
  Dumps dumps_;
};

std::unique_ptr<sdk::Executable> OfflineTarget::load(LoweredModule lowered, const sdk::Host& host) {
  return std::make_unique<OfflineExecutable>(std::move(lowered), *this, host);
}

}  // namespace

std::shared_ptr<const api::Compiler> open_offline_compiler(const CudaOptions& options,
                                                           api::Messages& messages) {
  std::shared_ptr<const api::Compiler> compiler = api::open_compiler(options.compiler, messages);
  std::string supported;
  for (const int one : compiler->architectures()) {
    if (one == options.architecture) return compiler;
    supported += " sm_" + std::to_string(one);
  }
  throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT, options.architecture_source + " is sm_" +
                                                     std::to_string(options.architecture) +
                                                     " but NVRTC " + compiler->version_text() +
                                                     " (" + compiler->path() +
                                                     ") compiles only for" + supported);
}

OfflineInstance::OfflineInstance(std::shared_ptr<const api::Compiler> compiler, int architecture,
                                 const sdk::Host& host)
    : CompiledInstance(std::make_unique<OfflineTarget>(std::move(compiler), architecture), host),
      architecture_(architecture) {}

std::unique_ptr<sdk::Buffer> OfflineInstance::allocate(std::uint32_t, sdk::Dims) {
  throw no_device(architecture_);
}

std::unique_ptr<sdk::Buffer> OfflineInstance::import_host(const void*, std::uint32_t, sdk::Dims,
                                                          std::uint32_t) {
  throw no_device(architecture_);
}

}  // namespace kiln::cuda
