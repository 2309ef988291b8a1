// Tensors of partial results are dense, with the parts along their first axis.
#include "backends/codegen/kernel/split/partial_kernels.h"

#include "backends/codegen/access/view.h"
#include "backends/codegen/kernel/split/prune_kernel.h"
#include "backends/codegen/kernel/split/split_axis.h"
#include "core/module/read.h"
#include "core/ops/make.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Value;

/// A fresh value: no node computes it, and it compares unequal to all others.
Value partial_tensor(DType dtype, Dims dims) {
  return ir::make(ir::Op::Placeholder,
                  ir::PlaceholderAttrs{module::fresh_id(), "parts", {dtype, std::move(dims)}}, {});
}

Dims outer_axes(const Kernel& kernel) {
  return {kernel.axes.begin(), kernel.axes.begin() + kernel.outer};
}

AccessId add_access(BuiltKernel& built, const Value& tensor, std::vector<Dim> strides,
                    bool written) {
  Kernel& kernel = built.kernel;
  for (const Dim& stride : strides) add_size(kernel, stride);
  Access access;
  access.operand = kernel.operands.add(
      {text("b", kernel.operands.size(), "_parts"), tensor.dtype(), !written, written});
  access.strides = std::move(strides);
  built.operands.push_back(tensor);
  built.access_nodes.push_back(nullptr);
  return kernel.accesses.add(std::move(access));
}

ExpressionId add_load(Kernel& kernel, DType dtype, AccessId access) {
  return kernel.expressions.add({.kind = ExpressionKind::Load, .dtype = dtype, .access = access});
}

ExpressionId add_result(Kernel& kernel, DType dtype, StageId stage) {
  return kernel.expressions.add(
      {.kind = ExpressionKind::StageResult, .dtype = dtype, .stage = stage});
}

DType dtype_of(const Kernel& kernel, const Stage& stage) {
  return kernel.expressions[stage.value].dtype;
}

/// Removes the stages that run once per outer point.
void keep_inner_stages(Kernel& kernel) {
  for (Stage& stage : std::exchange(kernel.stages, {})) {
    if (stage.inner) kernel.stages.push_back(std::move(stage));
  }
}

/// The number of parts of a reduction along `axis` in parts of `length`. There are none where
/// another reduced axis of unknown size is 0: the extent of `axis` may then exceed any memory.
Dim parts_along(const Kernel& kernel, int axis, std::int64_t length) {
  const Dim& extent = kernel.axes[at(axis)];
  if (extent.is_static()) return extent.value() / length;
  Dim parts = extent;
  for (int other = kernel.outer; other < static_cast<int>(kernel.axes.size()); ++other) {
    if (other == axis || kernel.axes[at(other)].is_static()) continue;
    parts = parts * min(kernel.axes[at(other)], 1);
  }
  return parts;
}

BuiltKernel parts_kernel(const BuiltKernel& whole, int axis, std::int64_t length,
                         const std::vector<Value>& tensors) {
  BuiltKernel built = whole;
  Kernel& kernel = built.kernel;
  keep_inner_stages(kernel);
  prune(built);
  split_axis(kernel, axis, length);
  kernel.axes[0] = tensors[0].dims()[0];
  std::vector<Dim> strides = dense_strides(outer_axes(kernel));
  strides.resize(kernel.axes.size(), Dim(0));
  Stage stores;
  stores.inner = false;
  std::size_t reduction = 0;
  for (const StageId s : kernel.stages.ids()) {
    if (kernel.stages[s].kind != StageKind::Reduce) continue;
    const Value& tensor = tensors[reduction++];
    const AccessId access = add_access(built, tensor, strides, /*written=*/true);
    stores.stores.push_back({access, add_result(kernel, tensor.dtype(), s), false});
  }
  kernel.stages.push_back(std::move(stores));
  for (const Dim& extent : kernel.axes) add_size(kernel, extent);
  return built;
}

/// Replaces the reductions by reductions of the partial results; the stages that run once per outer
/// point follow them.
BuiltKernel total_kernel(const BuiltKernel& whole, const Dim& parts,
                         const std::vector<Value>& tensors) {
  BuiltKernel built = whole;
  Kernel& kernel = built.kernel;
  kernel.name += "_total";
  const Dims outer = outer_axes(kernel);
  kernel.axes = outer;
  kernel.axes.push_back(parts);
  add_size(kernel, parts);
  for (Access& access : kernel.accesses) {
    access.strides.resize(outer.size());
    access.strides.push_back(Dim(0));
  }
  std::vector<Dim> strides = dense_strides(outer);
  strides.push_back(ir::product(outer));
  IdVector<StageId, StageId> moved(kernel.stages.size());
  IdVector<StageId, Stage> stages;
  std::size_t reduction = 0;
  for (const StageId s : kernel.stages.ids()) {
    const Stage& stage = kernel.stages[s];
    if (stage.kind != StageKind::Reduce && stage.inner) continue;
    Stage kept = stage;
    if (stage.kind == StageKind::Reduce) {
      const Value& tensor = tensors[reduction++];
      const AccessId access = add_access(built, tensor, strides, /*written=*/false);
      kept.value = add_load(kernel, tensor.dtype(), access);
      kept.stores.clear();
    }
    moved[s] = stages.add(std::move(kept));
  }
  kernel.stages = std::move(stages);
  for (Expression& e : kernel.expressions) {
    if (e.kind == ExpressionKind::StageResult) e.stage = moved[e.stage];
  }
  prune(built);
  return built;
}

/// axes [columns] | [blocks]; target = sum of the blocks
BuiltKernel sum_of_blocks(const BuiltKernel& of, const Value& tensor, const Value& target,
                          const Dim& columns, const Dim& blocks) {
  BuiltKernel built;
  built.nodes = {target.node.get()};
  Kernel& kernel = built.kernel;
  kernel.comes_from = of.kernel.comes_from;
  kernel.axes = {columns, blocks};
  kernel.outer = 1;
  add_size(kernel, columns);
  const AccessId from = add_access(built, tensor, {1, columns}, /*written=*/false);
  const AccessId to = add_access(built, target, {1, 0}, /*written=*/true);
  Stage sum, store;
  sum.kind = StageKind::Reduce;
  sum.combiner = Combiner::Sum;
  sum.value = add_load(kernel, tensor.dtype(), from);
  store.inner = false;
  store.stores = {{to, add_result(kernel, tensor.dtype(), kernel.stages.add(sum)), false}};
  kernel.stages.push_back(store);
  return built;
}

}  // namespace

PartialKernels partial_kernels(const BuiltKernel& whole, int axis, std::int64_t length) {
  const Kernel& kernel = whole.kernel;
  const Dim parts = parts_along(kernel, axis, length);
  Dims dims = outer_axes(kernel);
  dims.insert(dims.begin(), parts);
  PartialKernels split;
  for (const Stage& stage : kernel.stages) {
    if (stage.kind != StageKind::Reduce) continue;
    split.tensors.push_back(partial_tensor(dtype_of(kernel, stage), dims));
  }
  split.parts = parts_kernel(whole, axis, length, split.tensors);
  split.total = total_kernel(whole, parts, split.tensors);
  return split;
}

PartialColumnSum partial_column_sum(BuiltKernel& built, OperandId operand) {
  Kernel& kernel = built.kernel;
  const Dim columns = ir::product(Dims(kernel.axes.begin() + kernel.outer, kernel.axes.end()));
  const Value target = built.operands[operand];
  PartialColumnSum sum;
  sum.tensor = partial_tensor(target.dtype(), {kernel.axes[0], columns});
  sum.total = sum_of_blocks(built, sum.tensor, target, columns, kernel.axes[0]);
  sum.total.kernel.name = text(kernel.name, "_total_", operand.number);
  built.operands[operand] = sum.tensor;
  for (Access& access : kernel.accesses) {
    if (access.operand == operand) access.strides[0] = columns;
  }
  add_size(kernel, columns);
  return sum;
}

void fill_parts(BuiltKernel& fill, const Value& tensor) {
  Kernel& kernel = fill.kernel;
  const Dims dims = tensor.dims();
  kernel.axes.insert(kernel.axes.begin(), dims[0]);
  ++kernel.outer;
  for (Access& access : kernel.accesses) {
    const bool written = kernel.operands[access.operand].written;
    access.strides.insert(access.strides.begin(), written ? dims[1] : Dim(0));
    if (written) fill.operands[access.operand] = tensor;
  }
  for (Expression& e : kernel.expressions) {
    if (e.kind == ExpressionKind::AxisIndex) ++e.number;
  }
  add_size(kernel, dims[1]);
}

}  // namespace kiln::codegen
