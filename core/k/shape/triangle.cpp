// tril and triu: select the elements on one side of a diagonal by their row and column.
#include <kiln/shape_ops.h>

#include "core/k/base/tensor_impl.h"

#include <algorithm>

namespace kiln {
namespace {

using ir::Value;

/// Whether element (i, j) of the last two axes has j <= i + k.
Value is_at_or_below(const Value& x, std::int64_t k) {
  if (x.rank() < 2) {
    Call::value_error("x", text("x has rank ", x.rank(), ", not 2 or more (x ", x.type(), ")"));
  }
  // No axis is longer than this, and i + k does not overflow.
  constexpr std::int64_t kBeyond = std::int64_t{1} << 62;
  const ir::Type type{DType::Int64, {x.dims().end() - 2, x.dims().end()}};
  const Value rows = ir::iota(type, 0), columns = ir::iota(type, 1);
  const Value offset = ir::broadcast_to(
      ir::scalar_constant_int(DType::Int64, std::clamp(k, -kBeyond, kBeyond)), type.dims);
  return ir::broadcast_to(ir::less_equal_to(columns, rows + offset), x.dims());
}

}  // namespace

Tensor tril(const Operand& x, const TriangleOptions& options) {
  return api_call("tril", x.where(), [&] {
    const Value value = input_of(x);
    return wrap(ir::select(is_at_or_below(value, options.k), value, ir::zeros_like(value)));
  });
}

Tensor triu(const Operand& x, const TriangleOptions& options) {
  return api_call("triu", x.where(), [&] {
    const Value value = input_of(x);
    const std::int64_t k = std::max(std::int64_t{options.k}, -INT64_MAX) - 1;
    return wrap(ir::select(is_at_or_below(value, k), ir::zeros_like(value), value));
  });
}

}  // namespace kiln
