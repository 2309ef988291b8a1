// Finds each decided node among the members of kernels and the library steps of the plan.
#include "backends/codegen/plan/note_claims.h"

#include "core/ops/op.h"
#include "core/types/text.h"

#include <cstddef>
#include <iterator>

namespace kiln::codegen {
namespace {

void note_step(ClaimOutcome& outcome, const LibraryStep& step, const LibraryClaims* library) {
  if (step.bias) outcome.fused.push_back("bias");
  if (step.relu) outcome.fused.push_back(print_relu(step).substr(2));
  if (!step.followed_by) return;
  const EpilogueOp op = *step.followed_by;
  const auto rejection = library->rejection_of_epilogue(*step.node, op);
  static constexpr const char* kNames[] = {"bias", "relu", "bounded relu", "tanh",
                                           "sigmoid"};  // by EpilogueOp
  static_assert(std::size(kNames) == static_cast<std::size_t>(EpilogueOp::Sigmoid) + 1);
  outcome.not_fused.push_back(text(kNames[static_cast<int>(op)], ": ",
                                   rejection.value_or("the compiler leaves it to kernels")));
}

}  // namespace

std::vector<ClaimOutcome> note_claims(const Computation& computation, const FusionPlan& fusion_plan,
                                      const KernelsOfGroups& kernels_of_groups, const Plan& plan,
                                      const LibraryClaims* library) {
  std::vector<ClaimOutcome> outcomes(computation.claims.size());
  for (std::size_t i = 0; i < outcomes.size(); ++i) outcomes[i].decision = computation.claims[i];
  for (std::size_t i = 0; i < fusion_plan.groups.size(); ++i) {
    const auto* group = std::get_if<KernelGroup>(&fusion_plan.groups[i]);
    if (!group) continue;
    for (const Member& member : group->members) {
      const auto found = computation.claim_of.find(member.node);
      if (found == computation.claim_of.end() || kernels_of_groups[i].empty()) continue;
      outcomes[found->second].kernel = kernels_of_groups[i].front();
    }
  }
  for (const Step& step : plan.steps) {
    const LibraryStep* call = library_step(step);
    if (!call) continue;
    ClaimOutcome& outcome = outcomes[computation.claim_of.at(call->node)];
    note_step(outcome, *call, library);
    const auto* matmul = std::get_if<MatmulStep>(&step);
    if (matmul && matmul->narrow_rhs) {
      outcome.fused.push_back(text("weights of ", *matmul->narrow_rhs));
    }
  }
  return outcomes;
}

}  // namespace kiln::codegen
