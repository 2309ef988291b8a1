// Softmax needs exp(x - max) for the sum and again for the result. The stage of the sum stores it
// to the result's element, from which later stages load it: a load replaces an exponential.
#include "backends/codegen/host/loop_order/order_loops.h"
#include "backends/codegen/kernel/needed.h"

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
    for (const StageId s : kernel_.stages.ids()) {
      if (kernel_.stages[s].kind != StageKind::Reduce) continue;
      const ExpressionFlags here = needed(kernel_, {kernel_.stages[s].value});
      for (ExpressionId e = here.back_id(); e; --e) {
        const bool worth = here[e] && inner_[e] && is_expensive(kernel_.expressions[e]);
        if (worth && store_for_later(s, e)) break;
      }
    }
  }

 private:
  /// Stores expression `e` in stage `s` for later stages, if possible; returns whether it is.
  bool store_for_later(StageId s, ExpressionId e) {
    const AccessId access = is_needed_after(s, e) ? access_for(s, e) : AccessId();
    if (!access) return false;
    kernel_.operands[kernel_.accesses[access].operand].read = true;
    kernel_.stages[s].stores.push_back({access, e, false});
    Expression load;
    load.kind = ExpressionKind::Load;
    load.dtype = kernel_.expressions[e].dtype;
    load.access = access;
    inner_.push_back(true);
    replace_after(s, e, kernel_.expressions.add(load));
    return true;
  }

  bool is_needed_after(StageId s, ExpressionId e) const {
    for (const StageId later : kernel_.stages.ids_after(s)) {
      if (needed(kernel_, roots_of(kernel_, kernel_.stages[later]))[e]) return true;
    }
    return false;
  }

  /// The access of a later store with a distinct element for every point, to an operand without
  /// other accesses. That store overwrites the stored value, so no stage after it may need the
  /// value.
  AccessId access_for(StageId s, ExpressionId e) const {
    for (const StageId later : kernel_.stages.ids_after(s)) {
      if (is_needed_after(later, e)) continue;
      const Stage& stage = kernel_.stages[later];
      if (stage.kind != StageKind::Map || !stage.inner) continue;
      for (const Store& store : stage.stores) {
        const Access& access = kernel_.accesses[store.access];
        const Operand& operand = kernel_.operands[access.operand];
        const bool own = std::none_of(access.strides.begin(), access.strides.end(),
                                      [](const ir::Dim& stride) { return stride == ir::Dim(0); });
        const bool fits = own && !operand.read && !store.accumulate && !access.dynamic &&
                          !access.when && operand.dtype == kernel_.expressions[e].dtype;
        if (fits && is_written_once(access.operand)) return store.access;
      }
    }
    return {};
  }

  bool is_written_once(OperandId operand) const {
    int count = 0;
    for (const Access& access : kernel_.accesses) count += access.operand == operand;
    return count == 1;
  }

  /// Replaces `e` by `by` in later stages, with copies of the expressions between them.
  void replace_after(StageId s, ExpressionId e, ExpressionId by) {
    IdVector<ExpressionId, ExpressionId> copy;
    for (const ExpressionId i : kernel_.expressions.ids()) copy.push_back(i);
    std::vector<ExpressionId> roots;
    for (const StageId later : kernel_.stages.ids_after(s)) {
      for (const ExpressionId root : roots_of(kernel_, kernel_.stages[later]))
        roots.push_back(root);
    }
    const ExpressionFlags wanted = needed(kernel_, roots);
    copy[e] = by;
    for (ExpressionId i = e; ++i < by;) {
      Expression changed = kernel_.expressions[i];
      bool differs = false;
      for (ExpressionId& argument : changed.arguments) {
        if (!argument || copy[argument] == argument) continue;
        argument = copy[argument];
        differs = true;
      }
      if (!differs || !wanted[i]) continue;
      copy[i] = kernel_.expressions.add(changed);
      inner_.push_back(inner_[i]);
    }
    for (const StageId later : kernel_.stages.ids_after(s)) {
      Stage& stage = kernel_.stages[later];
      if (stage.value) stage.value = copy[stage.value];
      for (Store& store : stage.stores) store.value = copy[store.value];
    }
  }

  Kernel& kernel_;
  ExpressionFlags inner_;
};

}  // namespace

void reuse_stored(Kernel& kernel) { Reuse(kernel).run(); }

}  // namespace kiln::codegen
