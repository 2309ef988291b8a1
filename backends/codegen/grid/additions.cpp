// Distinct indices give distinct elements if the strides and extents of an access are those of a
// dense tensor or of a slice of one.
#include "backends/codegen/grid/additions.h"

#include "backends/codegen/kernel/needed.h"
#include "core/types/at.h"

#include <algorithm>
#include <numeric>

namespace kiln::codegen {
namespace {

/// A digit of a mixed-radix number: its weight and its radix.
struct Digit {
  ir::Dim stride, extent;
};

void add_digit(std::vector<Digit>& digits, const ir::Dim& stride, const ir::Dim& extent) {
  if (stride == ir::Dim(0) || extent.is_one()) return;
  const bool is_negative = stride.is_static() && stride.value() < 0;
  digits.push_back({is_negative ? -stride : stride, extent});
}

std::vector<Digit> digits_of(const Kernel& kernel, const Access& access, int begin) {
  std::vector<Digit> digits;
  for (std::size_t axis = kernel.axes.size(); axis-- > at(begin);) {
    add_digit(digits, access.strides[axis], kernel.axes[axis]);
  }
  return digits;
}

/// Whether the digit can follow lower digits whose sums are below `span`.
bool follows(const Digit& digit, const ir::Dim& span) {
  if (digit.stride == span) return true;
  return digit.stride.is_static() && span.is_static() && digit.stride.value() >= span.value();
}

bool is_less(const Digit& a, const Digit& b) {
  if (!a.stride.is_static() || !b.stride.is_static()) return a.stride.is_static();
  return a.stride.value() < b.stride.value();
}

/// Whether sums of the digits are mixed-radix numbers: equal sums have equal digits.
bool are_disjoint(std::vector<Digit> digits) {
  std::stable_sort(digits.begin(), digits.end(), is_less);
  while (digits.size() > 1) {
    const ir::Dim span = digits[0].stride * digits[0].extent;
    digits.erase(digits.begin());
    const auto next = std::find_if(digits.begin(), digits.end(),
                                   [&](const Digit& digit) { return follows(digit, span); });
    if (next == digits.end()) return false;
    std::iter_swap(digits.begin(), next);
  }
  return true;
}

/// Whether points with distinct indices along axes with nonzero strides access distinct elements
/// for all values of the dynamic index.
bool is_disjoint_at_any_index(const Kernel& kernel, const Access& access) {
  std::vector<Digit> digits = digits_of(kernel, access, 0);
  if (access.dynamic) add_digit(digits, access.dynamic_stride, access.dynamic_limit);
  return are_disjoint(std::move(digits));
}

std::vector<int> parallel_axes(const Kernel& kernel, AccessId id) {
  const Access& access = kernel.accesses[id];
  std::vector<int> axes;
  if (is_only_access(kernel, id) && is_disjoint_at_any_index(kernel, access)) {
    for (int axis = 0; axis < kernel.outer; ++axis) {
      if (access.strides[at(axis)] != ir::Dim(0)) axes.push_back(axis);
    }
  }
  // Distinct indices along axis 0 access one element only if the stride is 0 (see Store).
  const bool is_shared = !access.dynamic && access.strides[0] == ir::Dim(0);
  const bool has_first = !axes.empty() && axes[0] == 0;
  if (!is_shared && !has_first) axes.insert(axes.begin(), 0);
  return axes;
}

}  // namespace

bool adds_to_memory(const Kernel& kernel) {
  const auto adds = [](const Store& store) { return store.accumulate; };
  return std::any_of(kernel.stages.begin(), kernel.stages.end(), [&](const Stage& stage) {
    return std::any_of(stage.stores.begin(), stage.stores.end(), adds);
  });
}

bool is_only_access(const Kernel& kernel, AccessId id) {
  const OperandId operand = kernel.accesses[id].operand;
  const auto is_other = [&](AccessId access) {
    return access != id && kernel.accesses[access].operand == operand;
  };
  return std::none_of(kernel.stages.begin(), kernel.stages.end(), [&](const Stage& stage) {
    const ExpressionFlags wanted = needed(kernel, roots_of(kernel, stage));
    for (const ExpressionId i : wanted.ids()) {
      const Expression& e = kernel.expressions[i];
      if (wanted[i] && e.kind == ExpressionKind::Load && is_other(e.access)) return true;
    }
    return std::any_of(stage.stores.begin(), stage.stores.end(),
                       [&](const Store& store) { return is_other(store.access); });
  });
}

bool is_injective(const Kernel& kernel, const Access& access, int begin) {
  return are_disjoint(digits_of(kernel, access, begin));
}

std::vector<int> parallel_axes(const Kernel& kernel) {
  std::vector<int> axes(at(kernel.outer));
  std::iota(axes.begin(), axes.end(), 0);
  if (kernel.outer == 0) return axes;
  for (const Stage& stage : kernel.stages) {
    for (const Store& store : stage.stores) {
      if (!store.accumulate) continue;
      const std::vector<int> own = parallel_axes(kernel, store.access);
      std::erase_if(axes,
                    [&](int axis) { return std::find(own.begin(), own.end(), axis) == own.end(); });
    }
  }
  return axes;
}

}  // namespace kiln::codegen
