// Which sums, and the kernel's form of them.
#include "backends/codegen/fusion/column_sums.h"

#include "core/module/read.h"
#include "core/ops/build.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Dim;

/// Of a block, so that the sums of blocks are little work.
constexpr std::int64_t kFewestRows = 8;

/// A reduction of fewer elements is not worth parts.
constexpr std::int64_t kManyElements = 1 << 16;

}  // namespace

std::int64_t block_for(const Unit& unit, const Points& points, const TargetDescription& target) {
  if (unit.kind != UnitKind::Kernel || unit.closed || !unit.split) return 0;
  if (unit.domain != points.domain) return 0;
  for (std::size_t i = 0; i < unit.domain.size(); ++i) {
    if (unit.reduced[i] == points.reduced[i]) return 0;
  }
  const Dim& first = unit.domain[static_cast<std::size_t>(unit.axes(/*of_reduced=*/false)[0])];
  if (!first.is_static()) return 0;
  const std::int64_t size = first.value();
  const std::int64_t blocks = target.most_row_blocks();
  std::int64_t block = std::max(kFewestRows, (size + blocks - 1) / blocks);
  while (block < size && size % block != 0) ++block;
  return block < size ? block : 0;
}

bool worth_parts(const ir::Node& reduction, const SizeNames& names,
                 const TargetDescription& target) {
  const auto* attrs = std::get_if<ir::AxesAttrs>(&reduction.attrs);
  const ir::OpDef& d = def(reduction.op);
  if (!attrs || d.lowering != ir::Lowering::Reduce || d.combiner == ir::Combiner::ArgMax) {
    return false;
  }
  const ir::Ints& axes = attrs->axes;
  if (axes.size() < 2 || axes[0] != 0) return false;
  const ir::Dims dims = names(reduction.operands[0].dims());
  const std::int64_t most = std::max(kManyElements, target.busy_points() + 1);
  std::int64_t reduced = 1, kept = 1;  // as far as they matter
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const bool is_reduced =
        std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) != axes.end();
    if (!is_reduced && !dims[i].is_static()) return false;
    const std::int64_t size = dims[i].is_static() ? dims[i].value() : most;
    std::int64_t& count = is_reduced ? reduced : kept;
    count = std::min(count * std::min(size, most), most);
  }
  const bool many_rows = !dims[0].is_static() || dims[0].value() >= kFewestRows;
  return many_rows && kept <= target.busy_points() && reduced * kept >= kManyElements;
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

}  // namespace kiln::codegen
