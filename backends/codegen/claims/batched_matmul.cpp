// Classifies the labels, then merges the axes of each class.
#include "backends/codegen/claims/batched_matmul.h"

#include "backends/codegen/access/bounded_product.h"
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

/// The operand as a strided view of its source; empty when elements are repeated (a broadcast, or
/// overlapping windows).
std::optional<Tensor> viewed(const Ints& labels, const View& view, const Dims& dims,
                             const SizeNames& names) {
  const Dims strides = dense_strides(names(view.source.dims()));
  Tensor tensor{&labels, Dims(dims.size(), Dim(0)), 0};
  const AccessMap here = identity_map(dims);
  for (std::size_t i = 0; i < view.map.size(); ++i) {
    tensor.offset = tensor.offset + bounded_distance(view.map[i].offset, strides[i]);
    if (!view.map[i].more.empty()) return std::nullopt;  // windows overlap
    if (view.map[i].axis < 0) continue;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      if (here[axis].axis != view.map[i].axis) continue;
      tensor.strides[axis] = tensor.strides[axis] + bounded_distance(strides[i], view.map[i].step);
    }
  }
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (here[axis].axis >= 0 && tensor.strides[axis] == Dim(0)) return std::nullopt;
  }
  return tensor;
}

/// Collapses `axis` and the next inner axis when they are one strided axis in every tensor.
bool merge(MatmulAxis& axis, const MatmulAxis& inner) {
  if (axis.size.is_one()) {
    axis = inner;
    return true;
  }
  if (inner.size.is_one()) return true;
  const auto follows = [&](const Dim& outer_stride, const Dim& stride) {
    return bounded_product(stride, inner.size) == outer_stride;
  };
  const auto size = bounded_product(axis.size, inner.size);
  const bool collapses = size && follows(axis.lhs, inner.lhs) && follows(axis.rhs, inner.rhs) &&
                         follows(axis.result, inner.result);
  if (!collapses) return false;
  axis = {*size, inner.lhs, inner.rhs, inner.result};
  return true;
}

/// Whether a stride is negative or of unknown sign: libraries take no such operand.
bool has_negative_stride(const Tensor& tensor, const Dims& dims) {
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis].is_one()) continue;
    if (ir::less_equal(0, tensor.strides[axis]) != ir::Ternary::Yes) return true;
  }
  return false;
}

bool is_contiguous(const Dim& stride, const MatmulAxis& axis) {
  return axis.size.is_one() || stride.is_one();
}

/// Both operands and the result of a Dot, by labels.
struct DotTensors {
  Tensor operands[2], result;
  Dims dims[2];
};

/// Adds each label of the Dot to M, N, K or batch of `form`. Returns whether the axes of K merged
/// into one. An axis of M or N that does not merge becomes a batch axis: a loop around the matmul.
bool classify_axes(const DotTensors& dot, BatchedMatmul& form) {
  for (std::size_t side = 0; side < 2; ++side) {
    const Tensor& own = dot.operands[side];
    for (std::size_t i = 0; i < dot.dims[side].size(); ++i) {
      const std::int64_t label = (*own.labels)[i];
      const bool shared = dot.operands[1 - side].has(label), kept = dot.result.has(label);
      if (side == 1 && shared) continue;
      const MatmulAxis axis{dot.dims[side][i], dot.operands[0].stride(label),
                            dot.operands[1].stride(label), dot.result.stride(label)};
      if (shared && kept) {
        if (form.batch.empty() || !merge(form.batch.back(), axis)) form.batch.push_back(axis);
        continue;
      }
      MatmulAxis& merged = shared ? form.k : side == 0 ? form.m : form.n;
      if (merge(merged, axis)) continue;
      if (shared) return false;
      form.batch.push_back(merged);
      merged = axis;
    }
  }
  return true;
}

/// Computes the transposed matmul instead: result^T = rhs^T lhs^T.
void swap_operands(BatchedMatmul& form) {
  std::swap(form.m, form.n);
  std::swap(form.lhs_offset, form.rhs_offset);
  std::swap(form.lhs, form.rhs);
  std::swap(form.lhs_is_view, form.rhs_is_view);
  for (MatmulAxis* axis : {&form.m, &form.n, &form.k}) std::swap(axis->lhs, axis->rhs);
  for (MatmulAxis& axis : form.batch) std::swap(axis.lhs, axis.rhs);
  form.swapped = !form.swapped;
}

/// Libraries need every matrix contiguous along one of its axes, the result along n. Returns the
/// reason of a rejection; empty when all are.
std::string stride_rejection(const BatchedMatmul& form) {
  if (!is_contiguous(form.n.result, form.n)) {
    return "the result has neither contiguous rows nor contiguous columns";
  }
  const bool lhs = is_contiguous(form.k.lhs, form.k) || is_contiguous(form.m.lhs, form.m);
  const bool rhs = is_contiguous(form.k.rhs, form.k) || is_contiguous(form.n.rhs, form.n);
  if (lhs && rhs) return "";
  return text("operand ", lhs != form.swapped ? 1 : 0,
              " has neither contiguous rows nor contiguous columns");
}

}  // namespace

std::optional<BatchedMatmul> batched_matmul(const ir::Node& dot, const SizeNames& names,
                                            const Storage& storage, const bool (&as_view)[2],
                                            std::string* reason) {
  const auto rejected = [&](std::string why) -> std::optional<BatchedMatmul> {
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
    if (has_negative_stride(*tensor, dims)) {
      return rejected(text("operand ", i, " has a negative stride"));
    }
    tensors.operands[i] = *tensor;
    sources[i] = view.source;
  }
  tensors.result = dense(attrs.result, names(dot.types[0].dims));

  BatchedMatmul form;
  if (!classify_axes(tensors, form)) {
    return rejected("the contracted axes do not merge into one");
  }
  form.lhs_offset = tensors.operands[0].offset;
  form.rhs_offset = tensors.operands[1].offset;
  form.lhs = sources[0];
  form.rhs = sources[1];
  form.lhs_is_view = sources[0] != dot.operands[0];
  form.rhs_is_view = sources[1] != dot.operands[1];
  if (!is_contiguous(form.n.result, form.n)) swap_operands(form);
  if (std::string why = stride_rejection(form); !why.empty()) return rejected(std::move(why));
  return form;
}

}  // namespace kiln::codegen
