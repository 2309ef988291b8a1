// The expansion of arg_sort: a scan of one stable partition per bit, the lowest bit first.
#include "core/ops/sort.h"

#include "core/ops/build.h"
#include "core/ops/infer_rules.h"
#include "core/ops/lambda_builder.h"

namespace kiln::ir {
namespace {

DType unsigned_of_size(std::size_t bytes) {
  switch (bytes) {
    case 1: return DType::UInt8;
    case 2: return DType::UInt16;
    case 4: return DType::UInt32;
    default: return DType::UInt64;
  }
}

/// `value`, wrapped to the dtype of x, in each element of a tensor with the type of x.
Value integer_like(const Value& x, std::int64_t value) {
  return broadcast_to(scalar_constant_int(x.dtype(), value), x.dims());
}

/// Unsigned integers in the order of the floats x: negative ones have all bits inverted, others the
/// bit `sign`; -0 has the bits of 0, and NaN is the largest.
Value ordered_float_bits(const Value& x, DType dtype, std::int64_t sign) {
  const Value zero = zeros_like(x);
  const Value bits = bitcast(select(equal_to(x, zero), zero, x), dtype);
  const Value highest = integer_like(bits, -1);
  const Value inverted = select(less(x, zero), highest, integer_like(bits, sign));
  return select(equal_to(x, x), binary(Op::BitXor, bits, inverted), highest);
}

/// Unsigned integers of the size of x, of any dtype, that are ordered as its elements are.
Value ordered_bits(const Value& x) {
  const DType dtype = unsigned_of_size(dtype_bytes(x.dtype()));
  const std::int64_t sign = std::int64_t{-1} << (8 * dtype_bytes(x.dtype()) - 1);
  switch (info(x.dtype()).kind) {
    case DTypeKind::Bool: return cast(x, dtype);
    case DTypeKind::Unsigned: return x;
    case DTypeKind::Float: return ordered_float_bits(x, dtype, sign);
    case DTypeKind::Signed: break;
  }
  const Value bits = bitcast(x, dtype);
  return binary(Op::BitXor, bits, integer_like(bits, sign));
}

/// Sorts rows by their lowest `bits` bits: `keys` are unsigned (rows, n); the result is int64
/// (rows, n), the indices along axis 1. Each step is a stable partition: the elements whose bit is
/// 0 move before the others.
Value sorted_indices(const Value& keys, std::int64_t bits) {
  const Type type = keys.type(), indices{DType::Int64, type.dims};
  const Dim rows = type.dims[0], n = type.dims[1];
  const LambdaBuilder builder({{DType::Int64, {}}, {type.dtype, {}}, type, indices});
  const Value mask = builder.parameters()[1], key = builder.parameters()[2];
  const Value masked = binary(Op::BitAnd, key, broadcast_to(mask, type.dims));
  const Value is_one = logical_not(equal_to(masked, zeros_like(masked)));
  const Value ones = cast(is_one, DType::Int64);
  const Value up_to = make(Op::CumSum, AxisAttrs{1}, {ones});
  const Value size = broadcast_to(dim_size(n), type.dims);
  const Value zeros = size - broadcast_over(reduce_sum(ones, {1}), type.dims, {1});
  const Value index = iota(indices, 1);
  const Value column = select(is_one, zeros + up_to - 1.0, index - up_to);
  const Value target = reshape(iota(indices, 0) * size + column, {rows * n});
  const auto moved = [&](const Value& x) {
    return reshape(scatter_add(target, reshape(x, {rows * n}), 0, rows * n), type.dims);
  };
  const Closure body =
      builder.close({mask + mask, moved(key), moved(builder.parameters()[3])}, kAfterStepNumber);
  const NodeRef scan =
      make_scan(body, {scalar_constant_int(type.dtype, 1), keys, index}, {}, bits, false);
  return {scan, 2};
}

}  // namespace

std::vector<Type> infer_arg_sort(Inference& in) {
  require_axis(in, in.as<SortAttrs>().axis, in.type(0).rank());
  return {{DType::Int64, in.type(0).dims}};
}

std::vector<Value> expand_arg_sort(const Node& node, std::span<const Value> operands) {
  const auto& attrs = node.as<SortAttrs>();
  const Value& x = operands[0];
  Ints axes = all_axes(x);
  axes.erase(axes.begin() + attrs.axis);
  axes.push_back(attrs.axis);
  Value keys = permute(ordered_bits(x), axes);
  const Dims dims = keys.dims();
  if (attrs.descending) keys = binary(Op::BitXor, keys, integer_like(keys, -1));
  const Dims rows(dims.begin(), dims.end() - 1);
  const bool is_bool = x.dtype() == DType::Bool;
  const auto bits = is_bool ? 1 : static_cast<std::int64_t>(8 * dtype_bytes(x.dtype()));
  const Value sorted = sorted_indices(reshape(keys, {product(rows), dims.back()}), bits);
  return {permute(reshape(sorted, dims), inverse_permutation(axes))};
}

}  // namespace kiln::ir
