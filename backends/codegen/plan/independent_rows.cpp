// One rule for each kind of step: its number of indices per row. A step without a rule, or with
// accesses outside its row, makes the loop run as a whole.
#include "backends/codegen/plan/independent_rows.h"

#include "backends/codegen/kernel/guard_range.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Dim;

class Finder {
 public:
  Finder(const LoopStep& loop, const BuiltKernels& kernels)
      : plan_(*loop.body), kernels_(kernels), attrs_(loop.node->as<ir::ScanAttrs>()) {}

  std::optional<IndependentRows> run() {
    if (plan_.results.empty()) return std::nullopt;
    const Slot& first = plan_.slots[plan_.results[0]];
    if (first.dims.empty()) return std::nullopt;
    out_.rows = first.dims[0];
    for (const SlotId result : plan_.results) {
      if (!has_rows(result)) return std::nullopt;
    }
    mark_varying();
    for (const Step& step : plan_.steps) {
      const std::optional<std::int64_t> scale =
          std::visit([&](const auto& one) { return scale_of(one); }, step);
      if (!scale) return std::nullopt;
      out_.scales.push_back(*scale);
    }
    return out_;
  }

 private:
  bool has_rows(SlotId slot) const {
    const ir::Dims& dims = plan_.slots[slot].dims;
    return !dims.empty() && dims[0] == out_.rows;
  }

  /// Elements of a row, if static.
  std::optional<std::int64_t> row_size(SlotId slot) const {
    const ir::Dims& dims = plan_.slots[slot].dims;
    const Dim size = ir::product(ir::Dims(dims.begin() + 1, dims.end()));
    return size.is_static() ? std::optional(size.value()) : std::nullopt;
  }

  /// Marks the slots that differ between groups of rows: carries, temporaries and results.
  void mark_varying() {
    varies_.assign(plan_.slots.size(), false);
    const int first = static_cast<int>(1 + attrs_.consts);
    for (const SlotId i : plan_.slots.ids()) {
      const Slot& slot = plan_.slots[i];
      const auto* argument = std::get_if<ArgumentSlot>(&slot.kind);
      const bool carried = argument && argument->number >= first &&
                           argument->number < first + static_cast<int>(attrs_.carry);
      varies_[i] = carried || slot.is<ResultSlot>() || slot.is<TemporarySlot>();
    }
  }

  /// Indices of axis 0 per row, when the kernel computes each row from that row; 0 when the kernel
  /// depends on no row, so that every group of rows can run it completely; otherwise empty.
  std::optional<std::int64_t> scale_of(const KernelStep& step) const {
    const Kernel& kernel = kernels_[step.kernel].kernel;
    bool touches_rows = false, whole = true;
    for (const SlotId slot : step.slots) {
      if (!varies_[slot]) continue;
      touches_rows = touches_rows || has_rows(slot);
      const bool own = plan_.slots[slot].is<TemporarySlot>() && !has_rows(slot);
      whole = whole && own;
    }
    if (whole && !touches_rows) return 0;
    std::optional<std::int64_t> scale;
    for (const Access& access : kernel.accesses) {
      const SlotId slot = step.slots[access.operand];
      const bool written = kernel.operands[access.operand].written;
      if (!varies_[slot] || (!has_rows(slot) && !written)) continue;
      const std::optional<std::int64_t> own = rows_of(kernel, access, slot);
      if (!own || (scale && *scale != *own)) return std::nullopt;
      scale = own;
    }
    return scale;
  }

  /// Indices of axis 0 per row, if the access stays in its row.
  std::optional<std::int64_t> rows_of(const Kernel& kernel, const Access& access,
                                      SlotId slot) const {
    if (!has_rows(slot) || kernel.outer == 0 || access.dynamic) return std::nullopt;
    const std::optional<std::int64_t> row = row_size(slot);
    const Dim& stride = access.strides[0];
    if (!row || *row == 0 || !stride.is_static() || stride.value() <= 0) return std::nullopt;
    if (*row % stride.value() != 0) return std::nullopt;
    const std::int64_t scale = *row / stride.value();
    if (kernel.axes[0] != out_.rows * Dim(scale) || !access.offset.is_static()) return std::nullopt;
    std::int64_t first = access.offset.value();
    std::int64_t last = first + (scale - 1) * stride.value();
    for (std::size_t axis = 1; axis < kernel.axes.size(); ++axis) {
      const Dim& other = access.strides[axis];
      if (other == Dim(0)) continue;
      if (!other.is_static() || !kernel.axes[axis].is_static() || other.value() < 0) {
        return std::nullopt;
      }
      const IndexRange range = touched_range(kernel, access, static_cast<int>(axis));
      first += other.value() * range.first;
      last += other.value() * (range.last - 1);
    }
    if (first < 0 || last >= *row) return std::nullopt;
    return scale;
  }

  std::optional<std::int64_t> scale_of(const MatmulStep& step) const {
    const BatchedMatmul& form = step.form;
    const auto fits = [&](SlotId slot, const Dim& stride, const Dim& offset) {
      const std::optional<std::int64_t> row = row_size(slot);
      return has_rows(slot) && row && stride == Dim(*row) && offset == Dim(0);
    };
    const bool bias_varies = step.bias && varies_[step.bias];
    if (!form.batch.empty() || form.m.size != out_.rows || varies_[step.rhs] || bias_varies) {
      return std::nullopt;
    }
    if (!fits(step.result, form.m.result, 0)) return std::nullopt;
    if (varies_[step.lhs] && !fits(step.lhs, form.m.lhs, form.lhs_offset)) {
      return std::nullopt;
    }
    return 1;
  }

  std::optional<std::int64_t> scale_of(const CopyStep& step) const {
    return has_rows(step.from) && has_rows(step.to) && row_size(step.to)
               ? std::optional<std::int64_t>(1)
               : std::nullopt;
  }
  std::optional<std::int64_t> scale_of(const ConvolutionStep&) const { return std::nullopt; }
  std::optional<std::int64_t> scale_of(const LoopStep&) const { return std::nullopt; }
  std::optional<std::int64_t> scale_of(const BranchStep&) const { return std::nullopt; }
  std::optional<std::int64_t> scale_of(const HostCallStep&) const { return std::nullopt; }
  std::optional<std::int64_t> scale_of(const AttentionStep&) const { return std::nullopt; }
  std::optional<std::int64_t> scale_of(const RowUpdateStep&) const { return std::nullopt; }

  const Plan& plan_;
  const BuiltKernels& kernels_;
  const ir::ScanAttrs& attrs_;
  IdVector<SlotId, bool> varies_;
  IndependentRows out_;
};

}  // namespace

std::optional<IndependentRows> find_independent_rows(const LoopStep& loop,
                                                     const BuiltKernels& kernels) {
  return Finder(loop, kernels).run();
}

}  // namespace kiln::codegen
