// Counts the points of a kernel's loads, stores and expressions by the axes that they depend on.
#include "backends/codegen/bind/step_cost.h"

#include "backends/codegen/kernel/needed.h"
#include "backends/codegen/plan/step_effects.h"
#include "core/ops/op.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using AxisSet = std::uint64_t;  // a bit for each axis; those from number 63 on share the last

AxisSet axis_bit(std::size_t axis) { return AxisSet{1} << std::min<std::size_t>(axis, 63); }

AxisSet first_axes(int count) { return count < 64 ? axis_bit(at(count)) - 1 : ~AxisSet{0}; }

class KernelCost {
 public:
  KernelCost(const Kernel& kernel, std::span<const std::int64_t> sizes,
             std::optional<std::int64_t> range)
      : kernel_(kernel), needed_(kernel.expressions.size(), false) {
    for (const ir::Dim& axis : kernel.axes) {
      extents_.push_back(axis.is_static()
                             ? static_cast<double>(axis.value())
                             : static_cast<double>(sizes[at(size_argument(kernel, axis))]));
    }
    if (range && kernel.outer > 0) extents_[0] = static_cast<double>(*range);
    for (const Expression& one : kernel.expressions) axes_.push_back(axes_of(one));
    for (const Stage& stage : kernel.stages) {
      const ExpressionFlags of_stage = needed(kernel, roots_of(kernel, stage));
      for (const ExpressionId i : needed_.ids()) needed_[i] = needed_[i] || of_stage[i];
    }
  }

  double operations() const {
    double sum = 0;
    for (const ExpressionId i : needed_.ids()) {
      if (needed_[i] && is_arithmetic(kernel_.expressions[i])) sum += points(axes_[i]);
    }
    for (const Stage& stage : kernel_.stages) {
      const bool combines = stage.value && is_float(kernel_.expressions[stage.value].dtype);
      if (combines) sum += points(~AxisSet{0});
    }
    return sum;
  }

  /// The elements of the operand that the kernel writes, or reads: not those that it wrote itself.
  double elements(OperandId operand, bool written) const {
    IdVector<AccessId, bool> used(kernel_.accesses.size(), false);
    for (const Stage& stage : kernel_.stages) {
      for (const Store& store : stage.stores) {
        if (written || store.accumulate) used[store.access] = true;
      }
    }
    const bool is_input = !kernel_.operands[operand].written;
    for (const ExpressionId i : needed_.ids()) {
      const Expression& one = kernel_.expressions[i];
      const bool is_load = needed_[i] && one.kind == ExpressionKind::Load;
      if (is_input && is_load) used[one.access] = !written;
    }
    double sum = 0;
    for (const AccessId i : used.ids()) {
      const Access& access = kernel_.accesses[i];
      if (used[i] && access.operand == operand) sum += points(axes_of(access));
    }
    return sum;
  }

 private:
  static bool is_arithmetic(const Expression& one) {
    return one.kind == ExpressionKind::Apply && is_float(one.dtype) && one.op != ir::Op::Select &&
           one.op != ir::Op::Identity;
  }

  double points(AxisSet axes) const {
    double product = 1;
    for (std::size_t i = 0; i < extents_.size(); ++i) {
      if ((axes & axis_bit(i)) != 0) product *= extents_[i];
    }
    return product;
  }

  AxisSet axes_of(ExpressionId expression) const { return !expression ? 0 : axes_[expression]; }

  AxisSet axes_of(const Access& access) const {
    AxisSet axes = axes_of(access.dynamic);
    for (std::size_t i = 0; i < access.strides.size(); ++i) {
      const ir::Dim& stride = access.strides[i];
      if (!stride.is_static() || stride.value() != 0) axes |= axis_bit(i);
    }
    return axes;
  }

  AxisSet axes_of(const Expression& one) const {
    AxisSet axes = 0;
    for (const ExpressionId argument : one.arguments) axes |= axes_of(argument);
    switch (one.kind) {
      case ExpressionKind::AxisIndex: return axis_bit(at(one.number));
      case ExpressionKind::Load: {
        const Access& access = kernel_.accesses[one.access];
        return axes_of(access) | axes_of(access.when);
      }
      case ExpressionKind::StageResult: {
        const bool runs = kernel_.stages[one.stage].kind == StageKind::Running;
        return runs ? ~AxisSet{0} : first_axes(kernel_.outer);
      }
      default: return axes;
    }
  }

  const Kernel& kernel_;
  std::vector<double> extents_;
  IdVector<ExpressionId, AxisSet> axes_;  // that each expression depends on
  ExpressionFlags needed_;
};

double bytes_of(const SlotSizes& slots, SlotId slot) {
  return static_cast<double>(slots.bytes[slot]);
}

double value_of(const EvaluateDim& evaluate, const ir::Dim& dim) {
  return static_cast<double>(evaluate(dim));
}

double elements_of(const ir::Dims& dims, const EvaluateDim& evaluate) {
  double product = 1;
  for (const ir::Dim& dim : dims) product *= value_of(evaluate, dim);
  return product;
}

}  // namespace

StepCost matmul_cost(double count, const MatmulStep& step, double m, double n, double k) {
  const auto bytes = static_cast<double>(dtype_bytes(step.dtype));
  const auto rhs_bytes = static_cast<double>(dtype_bytes(step.rhs_dtype()));
  return {.bytes = count * (bytes * (m * k + m * n) + rhs_bytes * k * n),
          .operations = 2 * count * m * n * k};
}

StepCost matmul_cost(const MatmulStep& step, const EvaluateDim& evaluate) {
  double count = 1;
  for (const MatmulAxis& axis : step.form.batch) count *= value_of(evaluate, axis.size);
  return matmul_cost(count, step, value_of(evaluate, step.form.m.size),
                     value_of(evaluate, step.form.n.size), value_of(evaluate, step.form.k.size));
}

StepCost convolution_cost(const ConvolutionStep& step, const EvaluateDim& evaluate) {
  const ir::Node& node = *step.node;
  double elements[3] = {};  // by role: input, filter, output
  double filters = 1;  // of all groups
  std::size_t next = 0;
  for (std::size_t role = 0; role < 3; ++role) {
    const bool is_result = static_cast<ir::ConvRole>(role) == node.as<ir::ConvAttrs>().role;
    const ir::Dims& dims = is_result ? node.types[0].dims : node.operands[next++].dims();
    elements[role] = elements_of(dims, evaluate);
    if (role == 1) filters = std::max(1.0, value_of(evaluate, dims.back()));
  }
  const auto bytes = static_cast<double>(dtype_bytes(step.dtype));
  return {.bytes = bytes * (elements[0] + elements[1] + elements[2]),
          .operations = 2 * elements[2] * elements[1] / filters};
}

StepCost attention_cost(const AttentionStep& step, const SlotSizes& slots,
                        const EvaluateDim& evaluate) {
  const double keys = value_of(evaluate, step.node->operands[1].dims().end()[-2]);
  const ir::Dims &q = step.node->operands[0].dims(), &v = step.node->operands[2].dims();
  const double scores = elements_of({q.begin(), q.end() - 1}, evaluate) * keys;
  const double d = value_of(evaluate, q.back()), e = value_of(evaluate, v.back());
  const bool is_gradient = step.node->op == ir::Op::AttentionGradient;
  StepCost cost{.bytes = 0, .operations = 2 * scores * (is_gradient ? 3 * d + 2 * e : d + e)};
  for (const std::vector<SlotId>* list : {&step.operands, &step.results}) {
    for (const SlotId slot : *list) {
      if (slot) cost.bytes += bytes_of(slots, slot);
    }
  }
  return cost;
}

StepCost kernel_cost(const Kernel& kernel, const KernelStep& step,
                     std::span<const std::int64_t> sizes, const SlotSizes& slots,
                     std::optional<std::int64_t> range) {
  const KernelCost counted(kernel, sizes, range);
  StepCost cost{.bytes = 0, .operations = counted.operations()};
  for (const OperandId i : kernel.operands.ids()) {
    const Operand& operand = kernel.operands[i];
    const auto element = static_cast<double>(dtype_bytes(operand.dtype));
    for (const bool written : {false, true}) {
      const double elements = counted.elements(i, written);
      cost.bytes += std::min(elements * element, bytes_of(slots, step.slots[i]));
    }
  }
  return cost;
}

StepCost other_cost(const Step& step, const SlotSizes& slots) {
  StepCost cost;
  if (const auto* rows = std::get_if<RowUpdateStep>(&step)) {
    for (const RowUpdate& one : rows->updates) {
      const double updates = bytes_of(slots, one.updates);
      const auto element = static_cast<double>(dtype_bytes(one.node->types[0].dtype));
      cost.bytes += 3 * updates + bytes_of(slots, one.indices);  // rows are read and written, too
      cost.operations += 2 * updates / element;
    }
  } else if (const auto* copy = std::get_if<CopyStep>(&step)) {
    cost.bytes = 2 * bytes_of(slots, copy->to);
  } else if (const auto* call = std::get_if<HostCallStep>(&step)) {
    for (const SlotId slot : call->operands) cost.bytes += bytes_of(slots, slot);
    for (const SlotId slot : call->results) cost.bytes += bytes_of(slots, slot);
  }
  return cost;
}

}  // namespace kiln::codegen
