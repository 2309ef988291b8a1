// Rewrites axis 0 of a kernel, its accesses and its expressions of the index.
#include "backends/codegen/kernel/build/split_blocks.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Dim;

/// Expressions of the index along axis 0 are made from those of the two axes that it became.
void rebuild_indices(Kernel& kernel, std::int64_t block) {
  std::vector<Expression> list;
  std::vector<int> moved;
  const auto add = [&](Expression e) {
    list.push_back(e);
    return static_cast<int>(list.size()) - 1;
  };
  for (Expression e : kernel.expressions) {
    for (int& argument : e.arguments) {
      if (argument >= 0) argument = moved[static_cast<std::size_t>(argument)];
    }
    const bool index = e.kind == ExpressionKind::AxisIndex;
    const bool first = index && e.number == 0;
    if (index) ++e.number;
    const int own = add(e);
    moved.push_back(own);
    if (!first) continue;
    Expression number = e, size = e, sum = e;
    number.number = 0;
    size.kind = ExpressionKind::Constant;
    size.bits = static_cast<std::uint64_t>(block);
    sum.kind = ExpressionKind::Apply;
    sum.op = ir::Op::Mul;
    sum.arguments = {add(number), add(size), -1};
    const int before = add(sum);
    sum.op = ir::Op::Add;
    sum.arguments = {before, own, -1};
    moved.back() = add(sum);
  }
  kernel.expressions = std::move(list);
  const auto move = [&](int& expression) {
    if (expression >= 0) expression = moved[static_cast<std::size_t>(expression)];
  };
  for (Access& access : kernel.accesses) {
    move(access.dynamic);
    move(access.when);
  }
  for (Stage& stage : kernel.stages) {
    move(stage.value);
    for (Store& store : stage.stores) move(store.value);
  }
}

}  // namespace

void split_blocks(Kernel& kernel, std::int64_t block, const std::vector<int>& in_blocks) {
  kernel.axes.insert(kernel.axes.begin() + 1, Dim(block));
  kernel.axes[0] = Dim(kernel.axes[0].value() / block);
  ++kernel.outer;
  if (kernel.vector_axis >= 0) ++kernel.vector_axis;
  for (std::size_t i = 0; i < kernel.accesses.size(); ++i) {
    std::vector<Dim>& strides = kernel.accesses[i].strides;
    const bool own = std::count(in_blocks.begin(), in_blocks.end(), static_cast<int>(i)) != 0;
    strides.insert(strides.begin() + 1, own ? Dim(0) : strides[0]);
    if (!own) strides[0] = strides[0] * Dim(block);
    add_size(kernel, strides[0]);
  }
  rebuild_indices(kernel, block);
}

}  // namespace kiln::codegen
