// Chooses the lanes of an iteration: more vectors hide latencies, and make longer code.
#include "backends/cpu/schedule/decisions.h"
#include "backends/cpu/schedule/kernel_work.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

using namespace codegen;

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
    case ir::Op::Sigmoid:
    case ir::Op::Erf:
    case ir::Op::Atan: return is_float(x.dtype);
    default: return false;
  }
}

bool has_many_expressions(const ScheduleInput& in) {
  return static_cast<std::int64_t>(in.kernel.expressions.size()) > in.cpu.tuning.many_expressions;
}

/// The vectors of a kernel without reductions. An elementary function is a long chain of dependent
/// instructions: an iteration of four vectors runs more chains at once.
int vectors_of_map(const ScheduleInput& in, int lanes) {
  const Kernel& kernel = in.kernel;
  if (!in.cpu.has_fma || !has_many_points(kernel) || has_many_expressions(in) ||
      std::none_of(kernel.expressions.begin(), kernel.expressions.end(), is_long_chain)) {
    return 1;
  }
  const auto is_simple = [&](const Access& access) {
    const ir::Dim& stride = access.strides[at(kernel.vector_axis)];
    return !access.dynamic && !access.when && (stride.is_one() || stride == ir::Dim(0));
  };
  if (!std::all_of(kernel.accesses.begin(), kernel.accesses.end(), is_simple)) return 1;
  const ir::Dim& extent = kernel.axes[at(kernel.vector_axis)];
  if (!extent.is_static()) return 1;
  int most = 4;
  const auto wastes_lanes = [&](int step) {
    return extent.value() % step != 0 && extent.value() < in.cpu.tuning.min_steps * step;
  };
  while (most > 1 && wastes_lanes(most * lanes)) most /= 2;
  return most;
}

/// The maximum of Reduce stages, each with its accumulators, that share a loop.
std::ptrdiff_t reductions_of_a_loop(const ScheduleInput& in) {
  std::ptrdiff_t most = 0;
  for (const StageGroup group : in.groups) {
    std::ptrdiff_t count = 0;
    for (const StageId s : group) count += in.kernel.stages[s].kind == StageKind::Reduce;
    most = std::max(most, count);
  }
  return most;
}

}  // namespace

bool is_map(const Kernel& kernel, StageGroup group) {
  for (const StageId s : group) {
    if (kernel.stages[s].kind != StageKind::Map) return false;
  }
  return true;
}

bool in_order(const Kernel& kernel) {
  const int axis = kernel.vector_axis;
  const bool lanes_are_inner = axis >= kernel.outer;
  const auto follows = [&](const Stage& stage, const Store& store) {
    const Access& access = kernel.accesses[store.access];
    if (lanes_are_inner && store.accumulate && access.dynamic) return true;
    if (lanes_are_inner && !stage.inner) return false;
    return !access.dynamic && access.strides[at(axis)] == ir::Dim(0);
  };
  return std::any_of(kernel.stages.begin(), kernel.stages.end(), [&](const Stage& stage) {
    return std::any_of(stage.stores.begin(), stage.stores.end(),
                       [&](const Store& store) { return follows(stage, store); });
  });
}

int register_lanes(const Kernel& kernel, const CpuDescription& cpu) {
  const bool wide = std::any_of(kernel.expressions.begin(), kernel.expressions.end(),
                                [](const Expression& x) { return x.dtype == DType::Float64; });
  return cpu.vector_bytes / (wide ? 8 : 4);
}

int choose_vectors(const ScheduleInput& in) {
  const Kernel& kernel = in.kernel;
  const bool runs = std::any_of(kernel.stages.begin(), kernel.stages.end(),
                                [](const Stage& s) { return s.kind == StageKind::Running; });
  if (runs) return 1;
  const std::ptrdiff_t together = reductions_of_a_loop(in);
  const int lanes = register_lanes(kernel, in.cpu);
  if (together == 0) return vectors_of_map(in, lanes);
  const bool outer = kernel.vector_axis < kernel.outer;
  // Sums of columns hardly gain from more. Lanes that are outer points are independent: their
  // number never changes a result.
  if (outer && has_few_points(kernel)) return 1;
  int most = has_many_expressions(in) || (together > 1 && !outer) ? 2 : outer ? 8 : 4;
  const int accumulators = in.cpu.vector_registers / 2;
  while (most > 2 && most * together > accumulators) most /= 2;
  const ir::Dim& extent = kernel.axes[at(kernel.vector_axis)];
  if (!extent.is_static()) return std::min(most, outer ? 2 : 4);
  while (most > 1 && extent.value() < most * lanes) most /= 2;
  return most;
}

}  // namespace kiln::cpu
