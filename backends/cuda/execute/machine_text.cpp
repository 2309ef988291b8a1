// The claims of a program name its libraries: cuDNN is opened by the first claim of the process.
#include "backends/cuda/execute/machine_text.h"

#include "core/ops/halves.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

bool is_of_cudnn(const ir::Node& node) {
  if (node.op == ir::Op::Conv) return true;
  const bool is_attention = node.op == ir::Op::Attention || node.op == ir::Op::AttentionGradient;
  return is_attention && ir::is_half(node.operands[0].dtype());
}

bool is_of_cublaslt(const ir::Node& node) { return node.op == ir::Op::Dot; }

/// Whether a library computes a node of this kind.
bool is_taken(const codegen::Program& program, bool (&is_kind)(const ir::Node&)) {
  return std::ranges::any_of(program.claims, [&](const codegen::ClaimOutcome& outcome) {
    return outcome.decision.taken_by != nullptr && is_kind(*outcome.decision.node);
  });
}

}  // namespace

std::string machine_text(const Device& device, const DeviceLibraries& libraries,
                         const codegen::Program& program) {
  std::string out = text("sm_", device.identity().compute_capability, " nvrtc ",
                         libraries.compiler.version_text());
  if (is_taken(program, is_of_cublaslt)) out += " cublaslt " + libraries.matmuls->version_text();
  if (is_taken(program, is_of_cudnn)) {
    out += " cudnn " + libraries.cudnn.library()->version_text();
  }
  if (libraries.communicators != nullptr) {
    out += " nccl " + libraries.communicators->library()->version_text();
  }
  const EngineOptions& options = libraries.cudnn.options();
  if (options.tf32) out += " tf32";
  if (!options.deterministic) out += " nondeterministic";
  return out;
}

}  // namespace kiln::cuda
