// Sorting labels and merging the axes of each sort.
#include "backends/codegen/claims/product.h"

#include "core/ops/op.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;

struct Tensor {
  const Ints* labels = nullptr;
  Dims strides;
  Dim offset = 0;

  bool has(std::int64_t label) const {
    return std::find(labels->begin(), labels->end(), label) != labels->end();
  }
  Dim stride(std::int64_t label) const {
    const auto found = std::find(labels->begin(), labels->end(), label);
    return found == labels->end() ? Dim(0)
                                  : strides[static_cast<std::size_t>(found - labels->begin())];
  }
};

Tensor dense(const Ints& labels, const Dims& dims) { return {&labels, dense_strides(dims), 0}; }

/// The operand as a view of `source`; empty when a dim is repeated or elements lie in windows.
std::optional<Tensor> viewed(const Ints& labels, const View& view, const Dims& dims,
                             const SizeNames& names) {
  const Dims held = dense_strides(names(view.source.dims()));
  Tensor tensor{&labels, Dims(dims.size(), Dim(0)), 0};
  const IndexMap here = identity_map(dims);
  for (std::size_t i = 0; i < view.map.size(); ++i) {
    tensor.offset = tensor.offset + view.map[i].offset * held[i];
    if (!view.map[i].more.empty()) return std::nullopt;  // windows overlap
    if (view.map[i].axis < 0) continue;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      if (here[axis].axis != view.map[i].axis) continue;
      tensor.strides[axis] = tensor.strides[axis] + held[i] * Dim(view.map[i].step);
    }
  }
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (here[axis].axis >= 0 && tensor.strides[axis] == Dim(0)) return std::nullopt;
  }
  return tensor;
}

/// Puts `inner` behind the axis when every tensor runs through both as one.
bool merge(ProductAxis& axis, const ProductAxis& inner) {
  if (axis.size.is_one()) {
    axis = inner;
    return true;
  }
  if (inner.size.is_one()) return true;
  const bool one = axis.lhs == inner.lhs * inner.size && axis.rhs == inner.rhs * inner.size &&
                   axis.result == inner.result * inner.size;
  if (!one) return false;
  axis = {axis.size * inner.size, inner.lhs, inner.rhs, inner.result};
  return true;
}

/// Libraries take no operand with a negative stride, or with one whose sign is unknown.
bool runs_backwards(const Tensor& tensor, const Dims& dims) {
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis].is_one()) continue;
    if (ir::less_equal(0, tensor.strides[axis]) != ir::Answer::Yes) return true;
  }
  return false;
}

bool is_contiguous(const Dim& stride, const ProductAxis& axis) {
  return axis.size.is_one() || stride.is_one();
}

/// Both operands and the result of a Dot, by labels.
struct DotTensors {
  Tensor operands[2], result;
  Dims dims[2];
};

/// Puts each label of the Dot among the axes of `form`. Gives whether the summed axes are one.
bool sort_axes(const DotTensors& dot, ProductForm& form) {
  for (std::size_t side = 0; side < 2; ++side) {
    const Tensor& own = dot.operands[side];
    for (std::size_t i = 0; i < dot.dims[side].size(); ++i) {
      const std::int64_t label = (*own.labels)[i];
      const bool shared = dot.operands[1 - side].has(label), kept = dot.result.has(label);
      if (side == 1 && shared) continue;
      const ProductAxis axis{dot.dims[side][i], dot.operands[0].stride(label),
                             dot.operands[1].stride(label), dot.result.stride(label)};
      if (shared && kept) {
        if (form.batch.empty() || !merge(form.batch.back(), axis)) form.batch.push_back(axis);
        continue;
      }
      ProductAxis& sorted = shared ? form.depth : side == 0 ? form.rows : form.columns;
      if (merge(sorted, axis)) continue;
      if (shared) return false;
      form.batch.push_back(sorted);  // an axis that does not merge is a loop around the product
      sorted = axis;
    }
  }
  return true;
}

/// The transposed product: (rhs^T lhs^T)^T.
void swap_operands(ProductForm& form) {
  std::swap(form.rows, form.columns);
  std::swap(form.lhs_offset, form.rhs_offset);
  std::swap(form.lhs, form.rhs);
  std::swap(form.lhs_is_view, form.rhs_is_view);
  for (ProductAxis* axis : {&form.rows, &form.columns, &form.depth})
    std::swap(axis->lhs, axis->rhs);
  for (ProductAxis& axis : form.batch) std::swap(axis.lhs, axis.rhs);
  form.swapped = !form.swapped;
}

/// The reason why a library cannot read or write one of the matrices; empty: there is none.
std::string reason_of_gaps(const ProductForm& form) {
  if (!is_contiguous(form.columns.result, form.columns)) {
    return "the result has neither rows nor columns without gaps";
  }
  const bool lhs =
      is_contiguous(form.depth.lhs, form.depth) || is_contiguous(form.rows.lhs, form.rows);
  const bool rhs =
      is_contiguous(form.depth.rhs, form.depth) || is_contiguous(form.columns.rhs, form.columns);
  if (lhs && rhs) return "";
  return text("operand ", lhs != form.swapped ? 1 : 0,
              " has neither rows nor columns without gaps");
}

}  // namespace

std::optional<ProductForm> product_form(const ir::Node& dot, const SizeNames& names,
                                        const Storage& storage, const bool (&as_view)[2],
                                        std::string* reason) {
  const auto rejected = [&](std::string why) -> std::optional<ProductForm> {
    if (reason) *reason = std::move(why);
    return std::nullopt;
  };
  const auto& attrs = dot.as<ir::DotAttrs>();
  const Ints* labels[2] = {&attrs.lhs, &attrs.rhs};
  DotTensors tensors;
  ir::Value sources[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const ir::Value& operand = dot.operands[i];
    const Dims& dims = tensors.dims[i] = names(operand.dims());
    sources[i] = operand;
    tensors.operands[i] = dense(*labels[i], dims);
    if (!as_view[i]) continue;
    const View view = trace(operand, identity_map(dims), names, storage);
    const auto tensor = viewed(*labels[i], view, dims, names);
    if (!tensor) return rejected(text("operand ", i, " repeats elements"));
    if (runs_backwards(*tensor, dims)) return rejected(text("operand ", i, " runs backwards"));
    tensors.operands[i] = *tensor;
    sources[i] = view.source;
  }
  tensors.result = dense(attrs.result, names(dot.types[0].dims));

  ProductForm form;
  if (!sort_axes(tensors, form)) {
    return rejected("the axes that are summed do not lie together as one");
  }
  form.lhs_offset = tensors.operands[0].offset;
  form.rhs_offset = tensors.operands[1].offset;
  form.lhs = sources[0];
  form.rhs = sources[1];
  form.lhs_is_view = sources[0] != dot.operands[0];
  form.rhs_is_view = sources[1] != dot.operands[1];
  if (!is_contiguous(form.columns.result, form.columns)) swap_operands(form);
  if (std::string gaps = reason_of_gaps(form); !gaps.empty()) return rejected(std::move(gaps));
  return form;
}

}  // namespace kiln::codegen
