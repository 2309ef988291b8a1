// Recognises exp and divisions whose operand ranges allow fewer instructions.
#include "backends/codegen/kernel/signs.h"
#include "backends/cpu/llvm/kernel_emitter.h"
#include "core/types/at.h"

namespace kiln::cpu {
using namespace codegen;

bool KernelEmitter::divides_by_loop_invariant(const Expression& x) const {
  if (x.op != ir::Op::Div || !e_.target.has_fma) return false;
  if (x.dtype != DType::Float32 && x.dtype != DType::Float64) return false;
  return levels_.level(x.arguments[1]) < levels_.level(x.arguments[0]) && width_ > 1;
}

bool KernelEmitter::is_exp_of_nonpositive(const Expression& x) const {
  return x.op == ir::Op::Exp && e_.target.has_fma && never_positive_[at(x.arguments[0])];
}

bool KernelEmitter::is_share(int expression) const {
  const Expression& x = kernel_.expressions[at(expression)];
  if (x.kind == ExpressionKind::Apply) return is_exp_of_nonpositive(x);
  if (x.kind != ExpressionKind::Load) return false;
  const Access& access = kernel_.accesses[at(x.number)];
  if (access.dynamic >= 0 || access.when >= 0) return false;
  // The last earlier stage that writes the operand determines the element that is loaded.
  for (std::size_t s = group_; s-- > 0;) {
    for (const Store& store : kernel_.stages[s].stores) {
      if (kernel_.accesses[at(store.access)].operand != access.operand) continue;
      const Expression& stored = kernel_.expressions[at(store.value)];
      return kernel_.stages[s].stores.size() == 1 && store.access == x.number &&
             !store.accumulate && stored.kind == ExpressionKind::Apply &&
             is_exp_of_nonpositive(stored);
    }
  }
  return false;
}

bool KernelEmitter::divides_share(const Expression& x) const {
  const Expression& sum = kernel_.expressions[at(x.arguments[1])];
  return sum.kind == ExpressionKind::StageResult && is_share(x.arguments[0]) &&
         sums_shares(kernel_, kernel_.stages[at(sum.number)]);
}

}  // namespace kiln::cpu
