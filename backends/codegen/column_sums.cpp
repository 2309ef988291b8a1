// Which sums, and the kernel's form of them.
#include "backends/codegen/column_sums.h"

#include "core/module/read.h"
#include "core/ops/build.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Dim;

/// So many blocks at most, of so many rows at least: the sums of blocks are to be little work.
constexpr std::int64_t kMostBlocks = 64, kFewestRows = 8;

/// A reduction to more numbers than this runs on several threads as it is; one of fewer than so
/// many numbers is not worth more of them.
constexpr std::int64_t kFewNumbers = 512, kManyNumbers = 1 << 16;

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
  for (Access& access : kernel.accesses) move(access.dynamic);
  for (Stage& stage : kernel.stages) {
    move(stage.value);
    for (Store& store : stage.stores) move(store.value);
  }
}

}  // namespace

std::int64_t block_for(const Unit& unit, const Points& points) {
  if (unit.kind != UnitKind::Kernel || unit.closed || !unit.split) return 0;
  if (unit.domain != points.domain) return 0;
  for (std::size_t i = 0; i < unit.domain.size(); ++i) {
    if (unit.reduced[i] == points.reduced[i]) return 0;
  }
  const Dim& first = unit.domain[static_cast<std::size_t>(unit.axes(/*of_reduced=*/false)[0])];
  if (!first.is_static()) return 0;
  const std::int64_t size = first.value();
  std::int64_t block = std::max(kFewestRows, (size + kMostBlocks - 1) / kMostBlocks);
  while (block < size && size % block != 0) ++block;
  return block < size ? block : 0;
}

bool worth_parts(const ir::Node& reduction, const SizeNames& names) {
  const auto* attrs = std::get_if<ir::AxesAttrs>(&reduction.attrs);
  const ir::OpDef& d = def(reduction.op);
  if (!attrs || d.lowering != ir::Lowering::Reduce || d.combiner == ir::Combiner::ArgMax) {
    return false;
  }
  const ir::Ints& axes = attrs->axes;
  if (axes.size() < 2 || axes[0] != 0) return false;
  const ir::Dims dims = names(reduction.operands[0].dims());
  std::int64_t reduced = 1, kept = 1;  // as far as they matter
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const bool is_reduced =
        std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) != axes.end();
    if (!is_reduced && !dims[i].is_static()) return false;
    const std::int64_t size = dims[i].is_static() ? dims[i].value() : kManyNumbers;
    std::int64_t& count = is_reduced ? reduced : kept;
    count = std::min(count * std::min(size, kManyNumbers), kManyNumbers);
  }
  const bool many_rows = !dims[0].is_static() || dims[0].value() >= kFewestRows;
  return many_rows && kept <= kFewNumbers && reduced * kept >= kManyNumbers;
}

ColumnSum column_sum(const ir::Node& sum, const Unit& unit, std::int64_t block,
                     const SizeNames& names) {
  const ir::OriginScope origin(sum.origin, /*replace=*/true);
  const std::vector<int> outer = unit.axes(/*of_reduced=*/false);
  const std::vector<int> inner = unit.axes(/*of_reduced=*/true);
  const ir::Dims& kept = sum.types[0].dims;
  ir::Dims dims{unit.domain[static_cast<std::size_t>(outer[0])].value() / block};
  dims.insert(dims.end(), kept.begin(), kept.end());
  ColumnSum made;
  // No other node may be this one, whose memory two units write.
  made.blocks = ir::make(
      ir::Op::Placeholder,
      ir::PlaceholderAttrs{module::fresh_id(), "sums", {sum.types[0].dtype, std::move(dims)}}, {});
  made.total = ir::reduce_sum(made.blocks, {0});
  made.to.push_back({outer[0], 1, 0});
  for (AxisMap entry : identity_map(names(kept))) {
    if (entry.axis >= 0) entry.axis = inner[static_cast<std::size_t>(entry.axis)];
    made.to.push_back(entry);
  }
  return made;
}

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
