// One overload for each kind of step.
#include "backends/codegen/plan/step_title.h"

#include "backends/codegen/inspect/source.h"
#include "core/types/text.h"

namespace kiln::codegen {
namespace {

StepTitle title(const char* kind, const ir::Node& node) {
  const char* const function = node.origin.function;
  return {*function == '\0' ? kind : text(kind, " ", function), source_of(node)};
}

StepTitle title_of(const Program& program, const KernelStep& step) {
  const Kernel& kernel = program.kernels[step.kernel].kernel;
  return {kernel.name, kernel.comes_from};
}
StepTitle title_of(const Program&, const MatmulStep& step) { return title("matmul", *step.node); }
StepTitle title_of(const Program&, const ConvolutionStep& step) {
  return title("convolution", *step.node);
}
StepTitle title_of(const Program&, const LoopStep& step) { return title("loop", *step.node); }
StepTitle title_of(const Program&, const BranchStep& step) { return title("branch", *step.node); }
StepTitle title_of(const Program&, const HostCallStep& step) {
  return title("host call", *step.node);
}
StepTitle title_of(const Program&, const RowUpdateStep& step) {
  return title("row update", *step.updates.front().node);
}
StepTitle title_of(const Program&, const AttentionStep& step) {
  return title("attention", *step.node);
}
StepTitle title_of(const Program&, const CopyStep&) { return {"copy", ""}; }

}  // namespace

StepTitle title_of(const Program& program, const Step& step) {
  return std::visit([&](const auto& one) { return title_of(program, one); }, step);
}

}  // namespace kiln::codegen
