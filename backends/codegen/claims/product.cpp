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

/// Libraries take no operand whose elements are met from the last to the first.
bool runs_backwards(const Tensor& tensor, const Dims& dims) {
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis].is_one()) continue;
    if (ir::less_equal(0, tensor.strides[axis]) != ir::Answer::Yes) return true;
  }
  return false;
}

bool has_neighbours(const Dim& stride, const ProductAxis& axis) {
  return axis.size.is_one() || stride.is_one();
}

}  // namespace

std::optional<ProductForm> product_form(const ir::Node& dot, const SizeNames& names,
                                        const Storage& storage, const bool (&as_view)[2],
                                        std::string* reason) {
  const auto refused = [&](std::string why) -> std::optional<ProductForm> {
    if (reason) *reason = std::move(why);
    return std::nullopt;
  };
  const auto& attrs = dot.as<ir::DotAttrs>();
  const Ints* labels[2] = {&attrs.lhs, &attrs.rhs};
  Tensor operands[2];
  ProductForm form;
  ir::Value held[2];
  bool is_view[2] = {false, false};
  for (std::size_t i = 0; i < 2; ++i) {
    const ir::Value& operand = dot.operands[i];
    const Dims dims = names(operand.dims());
    held[i] = operand;
    operands[i] = dense(*labels[i], dims);
    if (!as_view[i]) continue;
    const View view = trace(operand, identity_map(dims), names, storage);
    const auto tensor = viewed(*labels[i], view, dims, names);
    if (!tensor) return refused(text("operand ", i, " repeats elements"));
    if (runs_backwards(*tensor, dims)) return refused(text("operand ", i, " runs backwards"));
    operands[i] = *tensor;
    held[i] = view.source;
    is_view[i] = view.source != operand;
  }
  const Tensor result = dense(attrs.result, names(dot.types[0].dims));

  const auto axis_of = [&](std::int64_t label, const Dim& size) {
    return ProductAxis{size, operands[0].stride(label), operands[1].stride(label),
                       result.stride(label)};
  };
  for (std::size_t side = 0; side < 2; ++side) {
    const Dims dims = names(dot.operands[side].dims());
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const std::int64_t label = (*labels[side])[i];
      const bool other = operands[1 - side].has(label), kept = result.has(label);
      if (side == 1 && other) continue;
      const ProductAxis axis = axis_of(label, dims[i]);
      if (other && kept) {
        if (form.batch.empty() || !merge(form.batch.back(), axis)) form.batch.push_back(axis);
        continue;
      }
      ProductAxis& own = other ? form.depth : side == 0 ? form.rows : form.columns;
      if (merge(own, axis)) continue;
      if (other) return refused("the axes that are summed do not lie together as one");
      form.batch.push_back(own);  // an axis that does not merge is a loop around the product
      own = axis;
    }
  }
  form.lhs_offset = operands[0].offset;
  form.rhs_offset = operands[1].offset;
  form.lhs = held[0];
  form.rhs = held[1];
  form.lhs_is_view = is_view[0];
  form.rhs_is_view = is_view[1];
  if (!has_neighbours(form.columns.result, form.columns)) {
    std::swap(form.rows, form.columns);
    std::swap(form.lhs_offset, form.rhs_offset);
    std::swap(form.lhs, form.rhs);
    std::swap(form.lhs_is_view, form.rhs_is_view);
    for (ProductAxis* axis : {&form.rows, &form.columns, &form.depth}) {
      std::swap(axis->lhs, axis->rhs);
    }
    for (ProductAxis& axis : form.batch) std::swap(axis.lhs, axis.rhs);
    form.swapped = true;
  }
  if (!has_neighbours(form.columns.result, form.columns)) {
    return refused("the result has neither rows nor columns without gaps");
  }
  for (const bool left : {true, false}) {
    const ProductAxis& outer = left ? form.rows : form.columns;
    const bool packed =
        has_neighbours(left ? form.depth.lhs : form.depth.rhs, form.depth) ||
        has_neighbours(left ? outer.lhs : outer.rhs, outer);
    if (packed) continue;
    return refused(text("operand ", left == form.swapped ? 1 : 0,
                        " has neither rows nor columns without gaps"));
  }
  return form;
}

}  // namespace kiln::codegen
