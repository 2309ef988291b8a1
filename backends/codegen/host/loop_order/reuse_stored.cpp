// Softmax needs exp(x - max) for the sum and again for the result. The stage of the sum stores it
// to the result's element, from which later stages load it: a load replaces an exponential.
#include "backends/codegen/host/loop_order/order_loops.h"
#include "backends/codegen/kernel/needed.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

bool is_expensive(const Expression& e) {
  return e.kind == ExpressionKind::Apply && ir::def(e.op).expensive;
}

class Reuse {
 public:
  explicit Reuse(Kernel& kernel) : kernel_(kernel), inner_(depends_on_inner(kernel)) {}

  void run() {
    for (std::size_t s = 0; s + 1 < kernel_.stages.size(); ++s) {
      if (kernel_.stages[s].kind != StageKind::Reduce) continue;
      const std::vector<bool> here = needed(kernel_, {kernel_.stages[s].value});
      for (int e = static_cast<int>(here.size()) - 1; e >= 0; --e) {
        const bool worth = here[at(e)] && inner_[at(e)] && is_expensive(kernel_.expressions[at(e)]);
        if (worth && store_for_later(s, e)) break;
      }
    }
  }

 private:
  /// Stores expression `e` in stage `s` for later stages, if possible; returns whether it is.
  bool store_for_later(std::size_t s, int e) {
    const int access = is_needed_after(s, e) ? access_for(s, e) : -1;
    if (access < 0) return false;
    kernel_.operands[at(kernel_.accesses[at(access)].operand)].read = true;
    kernel_.stages[s].stores.push_back({access, e, false});
    Expression load;
    load.kind = ExpressionKind::Load;
    load.dtype = kernel_.expressions[at(e)].dtype;
    load.number = access;
    kernel_.expressions.push_back(load);
    inner_.push_back(true);
    replace_after(s, e, static_cast<int>(kernel_.expressions.size()) - 1);
    return true;
  }

  bool is_needed_after(std::size_t s, int e) const {
    return std::any_of(kernel_.stages.begin() + static_cast<std::ptrdiff_t>(s) + 1,
                       kernel_.stages.end(), [&](const Stage& stage) -> bool {
                         return needed(kernel_, roots_of(kernel_, stage))[at(e)];
                       });
  }

  /// The access of a later store with a distinct element for every point, to an operand without
  /// other accesses. That store overwrites the stored value, so no stage after it may need the
  /// value. -1: none.
  int access_for(std::size_t s, int e) const {
    for (std::size_t later = s + 1; later < kernel_.stages.size(); ++later) {
      if (is_needed_after(later, e)) continue;
      const Stage& stage = kernel_.stages[later];
      if (stage.kind != StageKind::Map || !stage.inner) continue;
      for (const Store& store : stage.stores) {
        const Access& access = kernel_.accesses[at(store.access)];
        const Operand& operand = kernel_.operands[at(access.operand)];
        const bool own = std::none_of(access.strides.begin(), access.strides.end(),
                                      [](const ir::Dim& stride) { return stride == ir::Dim(0); });
        const bool fits = own && !operand.read && !store.accumulate && access.dynamic < 0 &&
                          access.when < 0 && operand.dtype == kernel_.expressions[at(e)].dtype;
        if (fits && is_written_once(access.operand)) return store.access;
      }
    }
    return -1;
  }

  bool is_written_once(int operand) const {
    int count = 0;
    for (const Access& access : kernel_.accesses) count += access.operand == operand;
    return count == 1;
  }

  /// Replaces `e` by `by` in later stages, with copies of the expressions between them.
  void replace_after(std::size_t s, int e, int by) {
    std::vector<int> copy(kernel_.expressions.size());
    for (std::size_t i = 0; i < copy.size(); ++i) copy[i] = static_cast<int>(i);
    std::vector<int> roots;
    for (std::size_t later = s + 1; later < kernel_.stages.size(); ++later) {
      for (const int root : roots_of(kernel_, kernel_.stages[later])) roots.push_back(root);
    }
    const std::vector<bool> wanted = needed(kernel_, roots);
    copy[at(e)] = by;
    for (std::size_t i = at(e) + 1; i < at(by); ++i) {
      Expression changed = kernel_.expressions[i];
      bool differs = false;
      for (int& argument : changed.arguments) {
        if (argument < 0 || copy[at(argument)] == argument) continue;
        argument = copy[at(argument)];
        differs = true;
      }
      if (!differs || !wanted[i]) continue;
      copy[i] = static_cast<int>(kernel_.expressions.size());
      kernel_.expressions.push_back(changed);
      inner_.push_back(inner_[i]);
    }
    for (std::size_t later = s + 1; later < kernel_.stages.size(); ++later) {
      Stage& stage = kernel_.stages[later];
      if (stage.value >= 0) stage.value = copy[at(stage.value)];
      for (Store& store : stage.stores) store.value = copy[at(store.value)];
    }
  }

  Kernel& kernel_;
  std::vector<bool> inner_;
};

}  // namespace

void reuse_stored(Kernel& kernel) { Reuse(kernel).run(); }

}  // namespace kiln::codegen
