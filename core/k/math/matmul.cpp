// matmul as one Dot node, in which batch axes that do not broadcast share a label.
#include <kiln/linalg.h>

#include "core/k/base/tensor_impl.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln {
namespace {

using ir::Dims;
using ir::Ints;
using ir::Value;

/// Labels of a Dot: of the contracted axis, the rows of x and the columns of y; batch axis i has
/// label kFirstBatch + i.
enum Label : std::int64_t { kDepth, kRows, kColumns, kFirstBatch };

std::string types_of(const Value& x, const Value& y) {
  return text("(x ", x.type(), ", y ", y.type(), ")");
}

Dims batch_dims(const Value& x) {
  return {x.dims().begin(), x.dims().end() - std::min(x.rank(), 2)};
}

/// The contracted axis: the last of x, the second to last of y, or the only one.
void require_equal_depths(const Value& x, const Value& y) {
  const int x_axis = x.rank() - 1, y_axis = std::max(y.rank() - 2, 0);
  const ir::Dim &a = x.dims()[at(x_axis)], &b = y.dims()[at(y_axis)];
  if (equal(a, b) != ir::Ternary::No) return;
  Call::value_error("y", text("axis ", x_axis, " of x has size ", a, " but axis ", y_axis,
                              " of y has size ", b, " ", types_of(x, y)));
}

/// The batch dims of the product. Throws ValueError if those of the operands do not broadcast.
Dims common_batch(const Value& x, const Value& y) {
  const Dims a = batch_dims(x), b = batch_dims(y);
  Dims dims = a.size() >= b.size() ? a : b;
  const Dims& other = a.size() >= b.size() ? b : a;
  const std::size_t offset = dims.size() - other.size();
  for (std::size_t i = 0; i < other.size(); ++i) {
    ir::Dim& dim = dims[offset + i];
    if (dim.is_one()) {
      dim = other[i];
    } else if (!other[i].is_one() && equal(dim, other[i]) == ir::Ternary::No) {
      Call::value_error(
          "y", text("batch axes do not broadcast: sizes ", a[a.size() - other.size() + i], " and ",
                    b[b.size() - other.size() + i], " ", types_of(x, y)));
    }
  }
  return dims;
}

struct Labelled {
  Value value;
  Ints labels;
};

/// x without the batch axes of size 1 that broadcast, and the labels of its axes. `ends`: the
/// labels of its last axes.
Labelled labelled(const Value& x, const Dims& batch, const Ints& ends) {
  const Dims own = batch_dims(x);
  Dims dims;
  Ints labels;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::size_t axis = batch.size() - own.size() + i;
    if (own[i].is_one() && !batch[axis].is_one()) continue;
    dims.push_back(own[i]);
    labels.push_back(kFirstBatch + static_cast<std::int64_t>(axis));
  }
  dims.insert(dims.end(), x.dims().begin() + static_cast<std::ptrdiff_t>(own.size()),
              x.dims().end());
  labels.insert(labels.end(), ends.begin(), ends.end());
  return {ir::reshape(x, dims), labels};
}

}  // namespace

Tensor matmul(const Operand& x, const Operand& y) {
  return api_call("matmul", where_of(x, y), [&] {
    const auto [a, b] = number_pair(x, y);
    if (a.rank() == 0 || b.rank() == 0) {
      const char* argument = a.rank() == 0 ? "x" : "y";
      Call::value_error(argument, text(argument, " is a scalar ", types_of(a, b)));
    }
    require_equal_depths(a, b);
    const Dims batch = common_batch(a, b);
    const bool has_rows = a.rank() > 1, has_columns = b.rank() > 1;
    const Labelled left = labelled(a, batch, has_rows ? Ints{kRows, kDepth} : Ints{kDepth});
    const Labelled right = labelled(b, batch, has_columns ? Ints{kDepth, kColumns} : Ints{kDepth});
    Ints result;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      result.push_back(kFirstBatch + static_cast<std::int64_t>(i));
    }
    if (has_rows) result.push_back(kRows);
    if (has_columns) result.push_back(kColumns);
    return wrap(ir::dot(left.value, left.labels, right.value, right.labels, result));
  });
}

}  // namespace kiln
