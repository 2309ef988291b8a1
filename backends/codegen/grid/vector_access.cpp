// The first index out of range of a point, in the order of its expressions, is the one recorded,
// but vectors are loaded before the other values of their group. Vectors may therefore have a
// dynamic index only if every access with one is a vector or uniform over the group.
#include "backends/codegen/grid/vector_access.h"

#include "backends/codegen/grid/loop_invariants.h"
#include "backends/codegen/kernel/needed.h"
#include "core/types/at.h"

#include <algorithm>
#include <cstdlib>

namespace kiln::codegen {
namespace {

constexpr std::int64_t kVectorBytes = 16;

bool may_be_multiple(const ir::Dim& dim, int elements) {
  return !dim.is_static() || dim.value() % elements == 0;
}

/// For each expression, whether `starts` holds for it or for an expression that it depends on.
template <class Starts>
ExpressionFlags spread(const Kernel& kernel, const Starts& starts) {
  ExpressionFlags depends;
  for (const Expression& e : kernel.expressions) {
    bool found = starts(e);
    const auto add = [&](ExpressionId other) { found = found || (other && depends[other]); };
    for (const ExpressionId argument : e.arguments) add(argument);
    if (e.kind == ExpressionKind::Load) {
      add(kernel.accesses[e.access].dynamic);
      add(kernel.accesses[e.access].when);
    }
    depends.push_back(found);
  }
  return depends;
}

class Finder {
 public:
  Finder(const Kernel& kernel, int elements)
      : kernel_(kernel),
        elements_(elements),
        last_(kernel.axes.size() - 1),
        varies_(spread(kernel, [&](const Expression& e) { return starts_to_vary(e); })),
        may_fail_(spread(kernel, [&](const Expression& e) {
          return e.kind == ExpressionKind::Load && kernel.accesses[e.access].dynamic;
        })) {}

  VectorAccesses run() const {
    const bool may_reorder = elements_ == 1 || can_reorder_checks();
    VectorAccesses found;
    for (const Access& access : kernel_.accesses) {
      const bool may_fail = access.dynamic || (access.when && may_fail_[access.when]);
      found.is_vector.push_back(is_vector(access) && (may_reorder || !may_fail));
    }
    for (const ExpressionId i : varies_.ids()) {
      found.is_uniform.push_back(!varies_[i] && (may_reorder || !may_fail_[i]));
    }
    return found;
  }

 private:
  bool starts_to_vary(const Expression& e) const {
    if (elements_ == 1) return false;
    if (e.kind == ExpressionKind::AxisIndex) return at(e.number) == last_;
    return e.kind == ExpressionKind::Load &&
           kernel_.accesses[e.access].strides[last_] != ir::Dim(0);
  }

  bool varies(ExpressionId expression) const { return expression && varies_[expression]; }

  bool is_vector(const Access& access) const {
    if (elements_ == 1 || !access.strides[last_].is_one()) return false;
    if (varies(access.dynamic) || varies(access.when)) return false;
    for (std::size_t axis = 0; axis < last_; ++axis) {
      if (kernel_.axes[axis].is_one()) continue;
      if (!may_be_multiple(access.strides[axis], elements_)) return false;
    }
    return may_be_multiple(access.offset, elements_) &&
           (!access.dynamic || may_be_multiple(access.dynamic_stride, elements_));
  }

  /// Whether all dynamic accesses are vectors, or uniform loads: their
  /// index checks keep their order.
  bool can_reorder_checks() const {
    IdVector<AccessId, bool> is_uniform(kernel_.accesses.size(), false);
    for (const ExpressionId i : varies_.ids()) {
      const Expression& e = kernel_.expressions[i];
      if (e.kind == ExpressionKind::Load && !varies_[i]) is_uniform[e.access] = true;
    }
    const std::vector<AccessId> used = used_accesses(kernel_);
    return std::all_of(used.begin(), used.end(), [&](AccessId id) {
      const Access& access = kernel_.accesses[id];
      return !access.dynamic || is_uniform[id] || is_vector(access);
    });
  }

  const Kernel& kernel_;
  const int elements_;
  const std::size_t last_;
  const ExpressionFlags varies_, may_fail_;
};

bool is_contiguous(const Access& access) {
  const ir::Dim& stride = access.strides.back();
  return stride.is_static() && std::abs(stride.value()) == 1;
}

/// Whether some stage stores vectors and single elements to one operand. Vectors are stored last,
/// which would change the order of these stores.
bool mixes_stores(const Kernel& kernel, const IdVector<AccessId, bool>& is_vector) {
  const auto is_mixed = [&](const Store& a, const Store& b) {
    const OperandId first = kernel.accesses[a.access].operand;
    return first == kernel.accesses[b.access].operand && is_vector[a.access] != is_vector[b.access];
  };
  for (const Stage& stage : kernel.stages) {
    for (const Store& a : stage.stores) {
      for (const Store& b : stage.stores) {
        if (is_mixed(a, b)) return true;
      }
    }
  }
  return false;
}

}  // namespace

std::int64_t width_of(const Kernel& kernel, AccessId access) {
  const Operand& operand = kernel.operands[kernel.accesses[access].operand];
  return static_cast<std::int64_t>(dtype_bytes(operand.dtype));
}

std::vector<AccessId> used_accesses(const Kernel& kernel) {
  std::vector<AccessId> list;
  const auto add = [&](AccessId access) {
    if (std::find(list.begin(), list.end(), access) == list.end()) list.push_back(access);
  };
  for (const Stage& stage : kernel.stages) {
    const ExpressionFlags wanted = needed(kernel, roots_of(kernel, stage));
    for (const ExpressionId i : wanted.ids()) {
      const Expression& e = kernel.expressions[i];
      if (wanted[i] && e.kind == ExpressionKind::Load) add(e.access);
    }
    for (const Store& store : stage.stores) add(store.access);
  }
  return list;
}

bool has_dynamic_access(const Kernel& kernel) {
  const std::vector<AccessId> used = used_accesses(kernel);
  return std::any_of(used.begin(), used.end(),
                     [&](AccessId access) { return bool(kernel.accesses[access].dynamic); });
}

VectorAccesses vector_accesses(const Kernel& kernel, int elements) {
  return Finder(kernel, elements).run();
}

bool fits_vectors(const Kernel& kernel, int elements) {
  if (kernel.axes.empty() || kernel.outer != static_cast<int>(kernel.axes.size())) return false;
  const bool is_map = std::all_of(kernel.stages.begin(), kernel.stages.end(),
                                  [](const Stage& s) { return s.kind == StageKind::Map; });
  const bool is_one_row = kernel.axes.size() == 1;
  if (!is_map || (!is_one_row && !may_be_multiple(kernel.axes.back(), elements))) return false;
  const VectorAccesses found = vector_accesses(kernel, elements);
  if (mixes_stores(kernel, found.is_vector)) return false;
  bool has_vector = false;
  for (const AccessId access : used_accesses(kernel)) {
    if (found.is_vector[access]) {
      has_vector = true;
    } else if (is_contiguous(kernel.accesses[access])) {
      return false;
    }
  }
  return has_vector;
}

int widest_vector(const Kernel& kernel) {
  std::int64_t width = 0;
  for (const AccessId access : used_accesses(kernel)) {
    const bool is_contiguous = kernel.accesses[access].strides.back().is_one();
    if (is_contiguous) width = std::max(width, width_of(kernel, access));
  }
  return width == 0 ? 1 : static_cast<int>(kVectorBytes / width);
}

bool fits_row_vectors(const Kernel& kernel, int elements) {
  const bool is_row = static_cast<int>(kernel.axes.size()) == kernel.outer + 1;
  if (!is_row || !may_be_multiple(kernel.axes.back(), elements)) return false;
  if (has_dynamic_access(kernel)) return false;
  const VectorAccesses found = vector_accesses(kernel, elements);
  const ExpressionFlags is_invariant = loop_invariants(kernel);
  const auto is_vector = [&](AccessId id) {
    const ExpressionId when = kernel.accesses[id].when;
    return found.is_vector[id] && (!when || is_invariant[when]);
  };
  bool has_vector = false;
  for (const Stage& stage : kernel.stages) {
    if (stage.kind == StageKind::Running) return false;
    if (!stage.inner) continue;
    const ExpressionFlags wanted = needed(kernel, roots_of(kernel, stage));
    for (const ExpressionId i : wanted.ids()) {
      const Expression& e = kernel.expressions[i];
      if (!wanted[i] || e.kind != ExpressionKind::Load || is_invariant[i]) continue;
      if (!is_vector(e.access)) return false;
      has_vector = true;
    }
    for (const Store& store : stage.stores) {
      if (!is_vector(store.access)) return false;
      has_vector = true;
    }
  }
  return has_vector;
}

}  // namespace kiln::codegen
