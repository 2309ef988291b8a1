// Matmuls as Dot nodes: every axis gets a label, contracted and batch axes share one
// (ir::DotAttrs).
#include <kiln/linalg.h>

#include "core/k/base/sparse_impl.h"
#include "core/types/at.h"

#include <algorithm>
#include <numeric>

namespace kiln {
namespace {

using ir::Dim;
using ir::Ints;
using ir::Value;

std::string both(const Value& x, const Value& y) {
  return text("(x ", x.type(), ", y ", y.type(), ")");
}

/// Throws ValueError if the sizes of two axes are known to differ.
void require_equal_sizes(const Value& x, int x_axis, const Value& y, int y_axis) {
  const Dim &a = x.dims()[at(x_axis)], &b = y.dims()[at(y_axis)];
  if (equal(a, b) != ir::Ternary::No) return;
  Call::value_error("y", text("axis ", x_axis, " of x has size ", a, " but axis ", y_axis,
                              " of y has size ", b, " ", both(x, y)));
}

Ints labels_from(std::int64_t first, int count) {
  Ints labels(static_cast<std::size_t>(count));
  std::iota(labels.begin(), labels.end(), first);
  return labels;
}

/// The labels of the result: those of x, then of y, without contracted ones and the batch of y.
Ints labels_without(const Ints& x, const Ints& y, std::int64_t contracted, std::int64_t batch) {
  Ints result;
  for (std::int64_t label : x) {
    if (label != contracted) result.push_back(label);
  }
  for (std::int64_t label : y) {
    if (label != contracted && label != batch) result.push_back(label);
  }
  return result;
}

constexpr std::int64_t kNoBatch = -1;

struct AxisPair {
  int x;
  int y;
};

AxisPair contracted_axes(const Value& x, const Value& y, const Axes& axes) {
  if (!axes.is_set()) return {x.rank() - 1, y.rank() == 2 ? 1 : y.rank() - 2};
  const std::vector<std::int64_t>& given = axes.axes();
  if (given.empty() || given.size() > 2) {
    Call::value_error("axes", text("axes (", join_text(given),
                                   ") are not one axis of each operand ", both(x, y)));
  }
  const AxisPair pair{axis_of(given.front(), x.rank(), "axes"),
                      axis_of(given.back(), y.rank(), "axes")};
  if (pair.x != 0 && pair.y != 0) return pair;
  Call::value_error("axes",
                    text("axes (", join_text(given), ") name the batch axis 0 ", both(x, y)));
}

Value dot_of_sparse(const SparseParts& x, const Operand& y) {
  const Value right = value_of(y, x.type().dtype, "y");
  const std::string types = text("(x sparse ", x.type(), ", y ", right.type(), ")");
  if (right.dtype() != x.type().dtype) {
    Call::type_error(
        "y", text("x has dtype ", x.type().dtype, " but y has dtype ", right.dtype(), " ", types));
  }
  if (right.rank() != 1 && right.rank() != 2) {
    Call::value_error(
        "y", text("y has rank ", right.rank(), ", not 1 or 2, as a sparse x requires ", types));
  }
  if (equal(x.dims[1], right.dims()[0]) == ir::Ternary::No) {
    Call::value_error("y", text("axis 1 of x has size ", x.dims[1], " but axis 0 of y has size ",
                                right.dims()[0], " ", types));
  }
  ir::Dims dims = right.dims();
  dims[0] = x.dims[1];
  return sparse_dot(x, ir::with_dims(right, dims));
}

}  // namespace

Tensor dot(const Operand& x, const Operand& y) {
  return api_call("dot", where_of(x, y), [&] {
    if (const SparseParts* parts = x.is_tensor() ? sparse_of(x.tensor()) : nullptr) {
      return wrap(dot_of_sparse(*parts, y));
    }
    const auto [a, b] = number_pair(x, y);
    if (a.rank() == 0 || b.rank() == 0) {
      const auto [left, right] = broadcast_values(a, b);
      return wrap(left * right);
    }
    const int x_axis = a.rank() - 1, y_axis = std::max(b.rank() - 2, 0);
    require_equal_sizes(a, x_axis, b, y_axis);
    const Ints x_labels = labels_from(0, a.rank());
    Ints y_labels = labels_from(a.rank(), b.rank());
    y_labels[at(y_axis)] = x_labels.back();
    const Ints result = labels_without(x_labels, y_labels, x_labels.back(), kNoBatch);
    return wrap(ir::dot(a, x_labels, b, y_labels, result));
  });
}

Tensor batch_dot(const Operand& x, const Operand& y, const BatchDotOptions& options) {
  return api_call("batch_dot", where_of(x, y), [&] {
    const auto [a, b] = number_pair(x, y);
    if (a.rank() < 2 || b.rank() < 2) {
      Call::value_error(a.rank() < 2 ? "x" : "y",
                        text("operands need a rank of 2 or more ", both(a, b)));
    }
    const AxisPair axes = contracted_axes(a, b, options.axes);
    require_equal_sizes(a, 0, b, 0);
    require_equal_sizes(a, axes.x, b, axes.y);
    const Ints x_labels = labels_from(0, a.rank());
    Ints y_labels = labels_from(a.rank(), b.rank());
    y_labels[0] = 0;
    y_labels[at(axes.y)] = axes.x;
    const Ints result = labels_without(x_labels, y_labels, axes.x, /*batch=*/0);
    const Value product = ir::dot(a, x_labels, b, y_labels, result);
    return wrap(product.rank() == 1 ? ir::reshape(product, {product.dims()[0], 1}) : product);
  });
}

Tensor transpose(const Operand& x) {
  return api_call("transpose", x.where(), [&] {
    const Value value = input_of(x);
    Ints axes = ir::all_axes(value);
    std::reverse(axes.begin(), axes.end());
    return wrap(ir::permute(value, axes));
  });
}

Tensor gather(const Operand& reference, const Operand& indices, const GatherOptions& options) {
  return api_call("gather", where_of(reference, indices), [&] {
    const Value entries = input_of(reference, "reference");
    const bool is_number =
        indices.kind() == Operand::Kind::Integer || indices.kind() == Operand::Kind::Unsigned;
    const Value index =
        is_number ? value_of(indices, DType::Int64, "indices", "") : input_of(indices, "indices");
    if (entries.rank() == 0) {
      Call::value_error("reference",
                        text("reference is a scalar (reference ", entries.type(), ")"));
    }
    if (!is_integer(index.dtype())) {
      Call::type_error("indices", text("indices are not integers (indices ", index.type(), ")"));
    }
    return wrap(ir::gather(entries, index, axis_of(options.axis, entries.rank())));
  });
}

}  // namespace kiln
