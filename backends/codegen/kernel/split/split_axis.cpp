// Accesses get a stride along the part axis; uses of the old index become part * length + index.
#include "backends/codegen/kernel/split/split_axis.h"

#include <utility>

namespace kiln::codegen {
namespace {

using ir::Dim;

class IndexRewriter {
 public:
  IndexRewriter(Kernel& kernel, int axis, std::int64_t length)
      : kernel_(kernel), axis_(axis), length_(length) {}

  void run() {
    for (Expression e : std::exchange(kernel_.expressions, {})) {
      for (ExpressionId& argument : e.arguments) {
        if (argument) argument = moved(argument);
      }
      const bool is_split = e.kind == ExpressionKind::AxisIndex && e.number == axis_;
      if (e.kind == ExpressionKind::AxisIndex) ++e.number;
      moved_.push_back(is_split ? index(e) : add(e));
    }
    for (Access& access : kernel_.accesses) {
      if (access.dynamic) access.dynamic = moved(access.dynamic);
      if (access.when) access.when = moved(access.when);
    }
    for (Stage& stage : kernel_.stages) {
      if (stage.value) stage.value = moved(stage.value);
      for (Store& store : stage.stores) store.value = moved(store.value);
    }
  }

 private:
  ExpressionId moved(ExpressionId expression) const { return moved_[expression]; }

  ExpressionId add(const Expression& e) { return kernel_.expressions.add(e); }

  ExpressionId apply(ir::Op op, ExpressionId left, ExpressionId right) {
    Expression e;
    e.kind = ExpressionKind::Apply;
    e.dtype = DType::Int64;
    e.op = op;
    e.arguments = {left, right};
    return add(e);
  }

  ExpressionId index(const Expression& within) {
    Expression part = within;
    part.number = 0;
    const ExpressionId number = add(part);
    if (length_ == 1) return number;
    Expression length;
    length.dtype = DType::Int64;
    length.bits = static_cast<std::uint64_t>(length_);
    const ExpressionId start = apply(ir::Op::Mul, number, add(length));
    return apply(ir::Op::Add, start, add(within));
  }

  Kernel& kernel_;
  const int axis_;
  const std::int64_t length_;
  IdVector<ExpressionId, ExpressionId> moved_;  // of each old expression, its new number
};

/// Removes the axis; later axes move up by one. REQUIRES: no AxisIndex reads it.
void drop_axis(Kernel& kernel, int axis) {
  kernel.axes.erase(kernel.axes.begin() + axis);
  for (Access& access : kernel.accesses) access.strides.erase(access.strides.begin() + axis);
  for (Expression& e : kernel.expressions) {
    if (e.kind == ExpressionKind::AxisIndex && e.number > axis) --e.number;
  }
  if (axis < kernel.outer) --kernel.outer;
}

}  // namespace

void split_axis(Kernel& kernel, int axis, std::int64_t length) {
  Dim& extent = kernel.axes[static_cast<std::size_t>(axis)];
  const Dim parts = length == 1 ? extent : Dim(extent.value() / length);
  extent = length;
  kernel.axes.insert(kernel.axes.begin(), parts);
  ++kernel.outer;
  for (Access& access : kernel.accesses) {
    const Dim stride = access.strides[static_cast<std::size_t>(axis)] * Dim(length);
    access.strides.insert(access.strides.begin(), stride);
    add_size(kernel, stride);
  }
  IndexRewriter(kernel, axis, length).run();
  if (length == 1) drop_axis(kernel, axis + 1);
}

}  // namespace kiln::codegen
