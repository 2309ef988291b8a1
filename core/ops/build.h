// Short names for building nodes, for gradients, expansions, rewrite rules, passes and K functions.
// They never fold or simplify. Elementwise builders take operands of equal types; the overloads
// with a number broadcast it to the other operand's dims.
#pragma once

#include "core/ops/make.h"

namespace kiln::ir {

// Leaves.
/// A constant from dense bytes. REQUIRES: static dims and as many bytes as they need.
Value constant(Type type, std::vector<std::byte> bytes);
/// A scalar constant; the value is converted as by Cast.
Value scalar_constant(DType dtype, double value);
Value scalar_constant_int(DType dtype, std::int64_t value);
/// A scalar constant broadcast to `dims`.
Value full(DType dtype, const Dims& dims, double value);
/// A constant with the dtype and dims of x.
Value like(const Value& x, double value);
Value zeros_like(const Value& x);
Value iota(Type type, std::int64_t axis);
/// The value of the dim as an int64 scalar.
Value dim_size(const Dim& dim);

// Elementwise.
Value cast(const Value& x, DType dtype);
Value bitcast(const Value& x, DType dtype);
Value unary(Op op, const Value& x);
Value binary(Op op, const Value& x, const Value& y);
Value select(const Value& condition, const Value& x, const Value& y);
inline Value neg(const Value& x) { return unary(Op::Neg, x); }
inline Value logical_not(const Value& x) { return unary(Op::Not, x); }
Value equal_to(const Value& x, const Value& y);
Value less(const Value& x, const Value& y);
Value less_equal_to(const Value& x, const Value& y);
Value operator+(const Value& x, const Value& y);
Value operator-(const Value& x, const Value& y);
Value operator*(const Value& x, const Value& y);
Value operator/(const Value& x, const Value& y);
Value operator-(const Value& x);
Value operator+(const Value& x, double y);
Value operator-(const Value& x, double y);
Value operator*(const Value& x, double y);
Value operator/(const Value& x, double y);
Value operator+(double x, const Value& y);
Value operator-(double x, const Value& y);
Value operator*(double x, const Value& y);
Value operator/(double x, const Value& y);

// Reductions. `axes` may be in any order and repeat; an empty list returns x itself.
Value reduce(Op op, const Value& x, Ints axes);
Value reduce_sum(const Value& x, Ints axes);
Value reduce_max(const Value& x, Ints axes);
/// The axes 0 .. rank-1.
Ints all_axes(const Value& x);

// Movement. Builders whose node would change nothing return x itself.
Value reshape(const Value& x, const Dims& dims);
/// x with `dims`, which a guard per axis requires to equal its own. REQUIRES: same rank.
Value with_dims(const Value& x, const Dims& dims);
/// x with a guard of the condition in `attrs`; x itself if the condition always holds. Throws
/// ValueError if it never holds.
Value require(const Value& x, const RequireAttrs& attrs);
/// x with a guard per axis i that it has at least sizes[i] elements. Errors: as require().
Value fits(const Value& x, const Dims& sizes);
Value permute(const Value& x, Ints axes);
/// The inverse: permute(permute(x, axes), inverse_permutation(axes)) is x.
Ints inverse_permutation(const Ints& axes);
Value broadcast(const Value& x, const Dims& dims, Ints axes);
/// Broadcasts by NumPy's rule: trailing axes align, literal 1s stretch.
Value broadcast_to(const Value& x, const Dims& dims);
/// Broadcasts the result of reduce(x, axes) back to `dims`, those of x.
Value broadcast_over(const Value& reduced, const Dims& dims, const Ints& axes);
Value slice(const Value& x, Dims start, Dims limit, Ints step = {});
/// Elements start .. limit - 1 of one axis.
Value slice_axis(const Value& x, int axis, const Dim& start, const Dim& limit);
Value pad(const Value& x, const Value& value, Dims low, Dims high, Ints interior = {});
Value reverse(const Value& x, Ints axes);
Value concat(std::vector<Value> parts, int axis);
/// Sliding windows and their transpose.
Value window(const Value& x, WindowAttrs attrs);
Value fold(const Value& x, FoldAttrs attrs);

// The rest.
Value gather(const Value& reference, const Value& indices, int axis = 0);
Value scatter_add(const Value& indices, const Value& updates, int axis, const Dim& size);
Value scatter_sub(const Value& x, const Value& rate, const Value& indices, const Value& updates);
/// A contraction with labels as in DotAttrs, in any numbering: they are renumbered.
Value dot(const Value& lhs, const Ints& lhs_labels, const Value& rhs, const Ints& rhs_labels,
          const Ints& result_labels);
Value identity(const Value& x);
Value stop_gradient(const Value& x);
/// x, whose cotangent is multiplied by `scale`, floating-point of the same dims.
Value scale_gradient(const Value& x, const Value& scale);
Value softmax(const Value& x, int axis);
Value log_softmax(const Value& x, int axis);
/// softmax(scale q k^T + bias) v; an empty bias stands for none.
Value attention(const Value& q, const Value& k, const Value& v, const Value& scale,
                const Value& bias, const AttentionAttrs& attrs);

/// The number of elements along `axes` of x.
Dim count_along(const Value& x, const Ints& axes);
/// y divided by the number of elements along `axes` of x.
Value divided_by_count(const Value& y, const Value& x, const Ints& axes);
/// The mean over `axes`, which are dropped; NaN over no elements. REQUIRES: x is floating-point.
Value reduce_mean(const Value& x, const Ints& axes);
/// x minus its mean over `axes`.
Value deviations(const Value& x, const Ints& axes);
Value variance(const Value& x, Ints axes);

/// a + b; an empty operand stands for a zero cotangent.
Value add_cotangents(const Value& a, const Value& b);

}  // namespace kiln::ir
