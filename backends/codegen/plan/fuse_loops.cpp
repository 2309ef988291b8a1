// Tries the division by rows first, which has more parallelism.
#include "backends/codegen/plan/fuse_loops.h"

#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Dim;

/// The product if it is static and at most `limit`.
std::optional<std::int64_t> bounded(const ir::Dims& dims, std::int64_t limit) {
  std::int64_t points = 1;
  for (const Dim& dim : dims) {
    if (!dim.is_static()) return std::nullopt;
    if (dim.value() != 0 && points > limit / dim.value()) return std::nullopt;
    points *= dim.value();
  }
  return points;
}

class Decider {
 public:
  Decider(const LoopStep& loop, const BuiltKernels& kernels, std::int64_t shared_bytes)
      : loop_(loop), plan_(*loop.body), kernels_(kernels), shared_bytes_(shared_bytes) {}

  LoopFusion run() const {
    const IndependentRows whole{.rows = 1,
                                .scales = std::vector<std::int64_t>(plan_.steps.size(), 0)};
    std::string reason = reason_of_steps();
    if (!reason.empty()) return {whole, reason};
    if (loop_.independent_rows) {
      reason = reason_of(*loop_.independent_rows);
      if (reason.empty()) return {*loop_.independent_rows, ""};
    }
    const std::string of_whole = reason_of(whole);
    return {whole, of_whole.empty() || reason.empty() ? of_whole : reason};
  }

 private:
  std::string reason_of_steps() const {
    if (loop_.node->op == ir::Op::While) return "it may end early";
    bool has_kernel = false;
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const auto* kernel = std::get_if<KernelStep>(&plan_.steps[s]);
      has_kernel = has_kernel || kernel;
      if (kernel && !kernels_[kernel->kernel].nonempty.empty()) {
        return text("step ", s, " may throw");
      }
      if (!kernel && !std::holds_alternative<CopyStep>(plan_.steps[s])) {
        return text("step ", s, " is no kernel");
      }
    }
    return has_kernel ? "" : "it has copies alone";
  }

  std::string reason_of(const IndependentRows& division) const {
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const auto* step = std::get_if<KernelStep>(&plan_.steps[s]);
      if (!step) continue;
      ir::Dims axes(kernels_[step->kernel].kernel.axes.begin(),
                    kernels_[step->kernel].kernel.axes.end());
      if (division.scales[s] != 0) axes[0] = division.scales[s];
      if (bounded(axes, kMaxRowPoints)) continue;
      return text("step ", s, " has more than ", kMaxRowPoints,
                  " points per row, or symbolic ones");
    }
    const std::optional<std::int64_t> bytes = bytes_of(division.rows);
    if (!bytes) return "sizes per row are symbolic";
    if (*bytes <= shared_bytes_) return "";
    return text("a row needs ", *bytes, " bytes of shared memory, more than ", shared_bytes_);
  }

  bool is_stacked(std::size_t carry) const {
    return std::any_of(loop_.carry_stacks.begin(), loop_.carry_stacks.end(),
                       [&](const CarryStacks& one) { return at(one.carry) == carry; });
  }

  /// Saturates at INT64_MAX; empty: not static.
  std::optional<std::int64_t> bytes_of(const Dim& rows) const {
    std::int64_t sum = 0;
    const auto add = [&](SlotId id, std::int64_t buffers) {
      const Slot& slot = plan_.slots[id];
      const std::optional<std::int64_t> elements = row_elements(slot, rows);
      if (!elements) return false;
      const auto bytes = static_cast<std::int64_t>(dtype_bytes(slot.dtype)) * buffers;
      std::int64_t own = 0;
      const bool overflows =
          __builtin_mul_overflow(*elements, bytes, &own) || __builtin_add_overflow(sum, own, &sum);
      if (overflows) sum = INT64_MAX;
      return true;
    };
    const auto carries = at(loop_.node->as<ir::ScanAttrs>().carry);
    for (std::size_t carry = 0; carry < carries; ++carry) {
      if (!is_stacked(carry) && !add(plan_.results[carry], 2)) return std::nullopt;
    }
    for (const SlotId slot : plan_.slots.ids()) {
      if (plan_.slots[slot].is<TemporarySlot>() && !add(slot, 1)) return std::nullopt;
    }
    return sum;
  }

  const LoopStep& loop_;
  const Plan& plan_;
  const BuiltKernels& kernels_;
  const std::int64_t shared_bytes_;
};

}  // namespace

bool has_rows(const Slot& slot, const Dim& rows) {
  return !slot.dims.empty() && slot.dims[0] == rows;
}

std::optional<std::int64_t> row_elements(const Slot& slot, const Dim& rows) {
  const auto begin = slot.dims.begin() + (has_rows(slot, rows) ? 1 : 0);
  return bounded(ir::Dims(begin, slot.dims.end()), INT64_MAX / 16);
}

LoopFusion decide_fusion(const LoopStep& loop, const BuiltKernels& kernels,
                         std::int64_t shared_bytes) {
  return Decider(loop, kernels, shared_bytes).run();
}

}  // namespace kiln::codegen
