// Matches the only store to a temporary, if it widens all elements of a weight in order.
#include "backends/codegen/plan/read_narrow_weights.h"

#include "backends/codegen/plan/step_effects.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

class WeightReader {
 public:
  WeightReader(Plan& plan, const BuiltKernels& kernels, const std::vector<bool>& unchanged,
               const LibraryClaims* library)
      : plan_(plan),
        kernels_(kernels),
        unchanged_(unchanged),
        library_(library),
        weights_(plan.slots.size()),
        stores_(plan.slots.size(), 0) {}

  bool run() {
    for (const Step& step : plan_.steps) {
      if (const auto* kernel = std::get_if<KernelStep>(&step)) note_weights(*kernel);
    }
    for (const Step& step : plan_.steps) {
      if (!std::holds_alternative<KernelStep>(step)) note_other_writes(step);
    }
    bool changed = false;
    for (Step& step : plan_.steps) {
      auto* matmul = std::get_if<MatmulStep>(&step);
      if (matmul && read_weight(*matmul)) changed = true;
    }
    if (changed) drop_unread_copies();
    return changed;
  }

 private:
  bool is_weight(SlotId slot) const {
    const auto* argument = std::get_if<ArgumentSlot>(&plan_.slots[slot].kind);
    if (!argument || unchanged_.empty()) return false;
    return unchanged_[at(argument->number)];
  }

  static bool is_dense(const Kernel& kernel, const Access& access) {
    return !access.dynamic && !access.when && access.offset == ir::Dim(0) &&
           access.strides == dense_strides(kernel.axes);
  }

  static bool is_at_every_point(const Kernel& kernel, const Stage& stage) {
    return stage.inner || at(kernel.outer) == kernel.axes.size();
  }

  /// The float16 or bfloat16 operand whose elements `store` widens to float32, in
  /// order; none: it stores other values.
  static OperandId widened_operand(const Kernel& kernel, const Store& store) {
    if (!store.value || store.accumulate) return {};
    const Expression& value = kernel.expressions[store.value];
    if (!is_dense(kernel, kernel.accesses[store.access])) return {};
    if (value.kind != ExpressionKind::Convert || value.dtype != DType::Float32) return {};
    const Expression& source = kernel.expressions[value.arguments[0]];
    if (source.kind != ExpressionKind::Load) return {};
    const Access& load = kernel.accesses[source.access];
    const DType dtype = kernel.operands[load.operand].dtype;
    const bool is_narrow = dtype == DType::Float16 || dtype == DType::BFloat16;
    return is_narrow && is_dense(kernel, load) ? load.operand : OperandId();
  }

  void note_weights(const KernelStep& step) {
    const Kernel& kernel = kernels_[step.kernel].kernel;
    for (const Stage& stage : kernel.stages) {
      for (const Store& store : stage.stores) {
        const SlotId copy = step.slots[kernel.accesses[store.access].operand];
        const bool is_only = ++stores_[copy] == 1;
        OperandId operand;
        if (is_at_every_point(kernel, stage)) operand = widened_operand(kernel, store);
        const bool is_copy = is_only && operand && is_weight(step.slots[operand]);
        weights_[copy] = is_copy ? step.slots[operand] : SlotId();
      }
    }
  }

  /// Slots that another step writes are no copies.
  void note_other_writes(const Step& step) {
    for (const SlotId slot : effects_of(step, kernels_).written) weights_[slot] = {};
  }

  bool read_weight(MatmulStep& matmul) const {
    const SlotId weight = weights_[matmul.rhs];
    if (!weight || !matmul.form.batch.empty()) return false;
    const DType dtype = plan_.slots[weight].dtype;
    if (library_->rejection_of_narrow_rhs(*matmul.node, dtype)) return false;
    matmul.rhs = weight;
    matmul.narrow_rhs = dtype;
    return true;
  }

  void drop_unread_copies() {
    IdVector<SlotId, bool> is_read(plan_.slots.size(), false);
    std::vector<StepEffects> effects;
    for (const Step& step : plan_.steps) {
      effects.push_back(effects_of(step, kernels_));
      for (const SlotId slot : effects.back().read) is_read[slot] = true;
    }
    std::size_t next = 0;
    std::erase_if(plan_.steps, [&](const Step&) {
      const std::vector<SlotId>& written = effects[next++].written;
      return !written.empty() && std::all_of(written.begin(), written.end(), [&](SlotId slot) {
        const bool is_temporary = plan_.slots[slot].is<TemporarySlot>();
        return is_temporary && weights_[slot] && !is_read[slot];
      });
    });
  }

  Plan& plan_;
  const BuiltKernels& kernels_;
  const std::vector<bool>& unchanged_;
  const LibraryClaims* library_;
  // Of each slot:
  IdVector<SlotId, SlotId> weights_;  // the weight whose widened copy it is, or none
  IdVector<SlotId, int> stores_;   // of all kernels to it
};

}  // namespace

bool read_narrow_weights(Plan& plan, const BuiltKernels& kernels,
                         const std::vector<bool>& unchanged, const LibraryClaims* library) {
  return WeightReader(plan, kernels, unchanged, library).run();
}

}  // namespace kiln::codegen
