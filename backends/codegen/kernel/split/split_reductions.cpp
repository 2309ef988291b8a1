// The domain of the fusion group determines the sizes of parts (fusion/reduction_parts.h).
#include "backends/codegen/kernel/split/split_reductions.h"

#include "backends/codegen/fusion/reduction_parts.h"
#include "backends/codegen/kernel/needed.h"
#include "backends/codegen/kernel/split/partial_kernels.h"
#include "backends/codegen/kernel/split/split_axis.h"

#include <kiln/error.h>

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Value;

/// Whether the kernel reduces and no inner stage uses the result of one of its reductions.
bool can_split(const Kernel& kernel) {
  bool reduces = false;
  for (const Stage& stage : kernel.stages) {
    if (stage.kind == StageKind::Running || stage.combiner == Combiner::ArgMax) return false;
    reduces = reduces || stage.kind == StageKind::Reduce;
    if (!stage.inner) continue;
    const ExpressionFlags read = needed(kernel, roots_of(kernel, stage));
    for (const ExpressionId i : read.ids()) {
      if (read[i] && kernel.expressions[i].kind == ExpressionKind::StageResult) return false;
    }
    for (const Store& store : stage.stores) {
      if (store.accumulate) return false;
    }
  }
  return reduces;
}

/// The axis of the kernel for a reduced axis of the group's domain.
int axis_of_kernel(const KernelGroup& group, int axis) {
  const std::vector<int> outer = group.axes(/*of_reduced=*/false);
  const std::vector<int> inner = group.axes(/*of_reduced=*/true);
  const auto found = std::find(inner.begin(), inner.end(), axis);
  return static_cast<int>(outer.size()) + static_cast<int>(found - inner.begin());
}

class Splitter {
 public:
  Splitter(FusionPlan& fusion_plan, KernelsOfGroups& kernels_of_groups, BuiltKernels& kernels,
           const TargetDescription& target, bool is_body)
      : fusion_plan_(fusion_plan),
        kernels_of_groups_(kernels_of_groups),
        kernels_(kernels),
        target_(target),
        is_body_(is_body) {}

  bool run() {
    bool changed = false;
    for (std::size_t i = 0; i < fusion_plan_.groups.size(); ++i) {
      if (kernels_of_groups_[i].empty()) continue;
      const bool few = split_reduction(i), columns = split_column_sums(i);
      changed = changed || few || columns;
    }
    return changed;
  }

 private:
  BuiltKernel& kernel_of(std::size_t group) { return kernels_[kernels_of_groups_[group][0]]; }

  void append(std::size_t group, BuiltKernel built) {
    kernels_of_groups_[group].push_back(kernels_.add(std::move(built)));
  }

  bool split_reduction(std::size_t i) {
    const auto& group = std::get<KernelGroup>(fusion_plan_.groups[i]);
    if (target_.divides_reductions) return false;
    if (!group.has_reduced_axes || !can_split(kernel_of(i).kernel)) return false;
    const auto parts = reduction_parts(group.domain, group.reduced, target_, is_body_);
    if (!parts) return false;
    PartialKernels split =
        partial_kernels(kernel_of(i), axis_of_kernel(group, parts->axis), parts->length);
    fusion_plan_.created_values.insert(fusion_plan_.created_values.end(), split.tensors.begin(),
                                       split.tensors.end());
    kernel_of(i) = std::move(split.parts);
    append(i, std::move(split.total));
    return true;
  }

  bool split_column_sums(std::size_t i) {
    const std::vector<OperandId> operands = column_sums(kernel_of(i).kernel);
    if (operands.empty()) return false;
    const auto rows = rows_per_block(kernel_of(i).kernel.axes[0], target_);
    if (!rows) return false;
    split_axis(kernel_of(i).kernel, 0, *rows);
    for (const OperandId operand : operands) {
      const Value target = kernel_of(i).operands[operand];
      PartialColumnSum sum = partial_column_sum(kernel_of(i), operand);
      fill_parts(fill_of(target), sum.tensor);
      fusion_plan_.created_values.push_back(sum.tensor);
      append(i, std::move(sum.total));
    }
    return true;
  }

  /// The kernel that fills the tensor: the first with it as an operand.
  BuiltKernel& fill_of(const Value& target) {
    for (const std::vector<KernelId>& kernels : kernels_of_groups_) {
      for (const KernelId kernel : kernels) {
        const IdVector<OperandId, Value>& operands = kernels_[kernel].operands;
        if (std::find(operands.begin(), operands.end(), target) != operands.end()) {
          return kernels_[kernel];
        }
      }
    }
    throw InternalError("function", "", "a column sum is not filled; please report this");
  }

  FusionPlan& fusion_plan_;
  KernelsOfGroups& kernels_of_groups_;
  BuiltKernels& kernels_;
  const TargetDescription& target_;
  const bool is_body_;
};

}  // namespace

bool split_reductions(FusionPlan& fusion_plan, KernelsOfGroups& kernels_of_groups,
                      BuiltKernels& kernels, const TargetDescription& target, bool is_body) {
  return Splitter(fusion_plan, kernels_of_groups, kernels, target, is_body).run();
}

}  // namespace kiln::codegen
