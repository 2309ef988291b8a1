// Chooses the number of vectors of a loop iteration: more of them hide latencies, and make longer
// code.
#include "backends/cpu/llvm/kernel_emitter.h"
#include "backends/cpu/llvm/kernel_work.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

using namespace codegen;

/// Kernels with more expressions use fewer vectors per iteration, to save registers.
constexpr std::size_t kManyExpressions = 48;

/// Minimum of iterations of a loop whose last iteration is several vectors under a mask.
constexpr std::int64_t kMinSteps = 16;

/// Whether evaluating the expression is one long chain of dependent instructions, as formulas emit.
bool is_long_chain(const Expression& x) {
  if (x.kind == ExpressionKind::Random) return true;
  if (x.kind != ExpressionKind::Apply) return false;
  switch (x.op) {
    case ir::Op::Exp:
    case ir::Op::Expm1:
    case ir::Op::Log:
    case ir::Op::Log1p:
    case ir::Op::Sin:
    case ir::Op::Cos:
    case ir::Op::Tanh:
    case ir::Op::Sigmoid: return is_float(x.dtype);
    default: return false;
  }
}

}  // namespace

int KernelEmitter::register_lanes() const { return e_.target.vector_bytes / widest(); }

int KernelEmitter::vectors() const {
  const bool runs = std::any_of(kernel_.stages.begin(), kernel_.stages.end(),
                                [](const Stage& s) { return s.kind == StageKind::Running; });
  if (runs) return 1;
  std::ptrdiff_t together = 0;  // accumulators of one loop
  for (const StageGroup group : groups_) {
    const auto first = kernel_.stages.begin() + static_cast<std::ptrdiff_t>(group.first);
    const auto last = kernel_.stages.begin() + static_cast<std::ptrdiff_t>(group.last);
    together = std::max(together, std::count_if(first, last, [](const Stage& stage) {
                          return stage.kind == StageKind::Reduce;
                        }));
  }
  const int lanes = e_.target.vector_bytes / widest();
  if (together == 0) return vectors_of_map(lanes);
  const bool outer = kernel_.vector_axis < kernel_.outer;
  // Short code: code generation of MobileNetV2's first step takes 145 ms, with up to four vectors
  // 195, and sums of columns hardly gain from more. Lanes that are outer points are independent:
  // their number never changes a result.
  if (outer && has_few_points(kernel_)) return 1;
  const bool many = kernel_.expressions.size() > kManyExpressions;
  int most = many || (together > 1 && !outer) ? 2 : outer ? 8 : 4;
  const int accumulators = e_.target.isa == Isa::Avx512 ? 16 : 8;  // half of the registers
  while (most > 2 && most * together > accumulators) most /= 2;
  const ir::Dim& extent = kernel_.axes[at(kernel_.vector_axis)];
  if (!extent.is_static()) return std::min(most, outer ? 2 : 4);
  while (most > 1 && extent.value() < most * lanes) most /= 2;
  return most;
}

int KernelEmitter::vectors_of_map(int lanes) const {
  const auto& expressions = kernel_.expressions;
  if (!e_.target.has_fma || !has_many_points(kernel_) || expressions.size() > kManyExpressions ||
      std::none_of(expressions.begin(), expressions.end(), is_long_chain)) {
    return 1;
  }
  const auto is_simple = [&](const Access& access) {
    const ir::Dim& stride = access.strides[at(kernel_.vector_axis)];
    return access.dynamic < 0 && access.when < 0 && (stride.is_one() || stride == ir::Dim(0));
  };
  if (!std::all_of(kernel_.accesses.begin(), kernel_.accesses.end(), is_simple)) return 1;
  const ir::Dim& extent = kernel_.axes[at(kernel_.vector_axis)];
  if (!extent.is_static()) return 1;
  int most = 4;
  const auto wastes_lanes = [&](int step) {
    return extent.value() % step != 0 && extent.value() < kMinSteps * step;
  };
  while (most > 1 && wastes_lanes(most * lanes)) most /= 2;
  return most;
}

}  // namespace kiln::cpu
