// The claims of a program name its libraries: cuDNN is opened by the first claim of the process.
#include "backends/cuda/execute/machine_text.h"

#include "core/types/text.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

/// Whether a library computes nodes of the op.
bool is_taken(const codegen::Program& program, ir::Op op) {
  return std::ranges::any_of(program.claims, [&](const codegen::ClaimOutcome& outcome) {
    return outcome.decision.taken_by != nullptr && outcome.decision.taken_by->op == op;
  });
}

}  // namespace

std::string machine_text(const Device& device, const DeviceLibraries& libraries,
                         const codegen::Program& program) {
  std::string out = text("sm_", device.identity().compute_capability, " nvrtc ",
                         libraries.compiler.version_text());
  if (is_taken(program, ir::Op::Dot)) out += " cublaslt " + libraries.matmuls->version_text();
  if (is_taken(program, ir::Op::Conv)) {
    out += " cudnn " + libraries.convolutions.library()->version_text();
  }
  if (libraries.communicators != nullptr) {
    out += " nccl " + libraries.communicators->library()->version_text();
  }
  const EngineOptions& options = libraries.convolutions.options();
  if (options.tf32) out += " tf32";
  if (!options.deterministic) out += " nondeterministic";
  return out;
}

}  // namespace kiln::cuda
