// Short names for building nodes: used by gradients, expansions, rewrite rules, passes and the
// K functions. They never fold or simplify. Elementwise builders demand equal types, except that
// scalars made by `like` are broadcast to the other operand's dims.
#pragma once

#include "core/ops/make.h"

namespace kiln::ir {

// Leaves.
/// A constant of that type from dense bytes. REQUIRES: static dims, matching byte count.
Value constant(Type type, std::vector<std::byte> bytes);
/// A scalar constant; the value is converted as Cast does.
Value scalar_constant(DType dtype, double value);
Value scalar_constant_int(DType dtype, std::int64_t value);
/// A scalar constant broadcast to dims.
Value full(DType dtype, const Dims& dims, double value);
/// full(x's dtype, x's dims, value).
Value like(const Value& x, double value);
Value zeros_like(const Value& x);
Value iota(Type type, std::int64_t axis);
/// int64 scalar with the value of the dim.
Value dim_size(const Dim& dim);

// Elementwise.
Value cast(const Value& x, DType dtype);
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

// Reductions; `axes` are sorted and made unique. An empty list gives x itself.
Value reduce(Op op, const Value& x, Ints axes);
Value reduce_sum(const Value& x, Ints axes);
Value reduce_max(const Value& x, Ints axes);
/// The axes 0 .. rank-1.
Ints all_axes(const Value& x);

// Movement. Those that would change nothing give x itself.
Value reshape(const Value& x, const Dims& dims);
/// x with other names for its sizes: each axis is held equal by a guard. REQUIRES: same rank.
Value with_dims(const Value& x, const Dims& dims);
/// x, where the condition of `attrs` on sizes holds: ValueError when it cannot, else a guard. x
/// itself when it always does.
Value require(const Value& x, const RequireAttrs& attrs);
/// x, into each of whose axes a window over that many elements fits: as require().
Value fits(const Value& x, const Dims& sizes);
Value permute(const Value& x, Ints axes);
/// Where each of the axes is: permute(permute(x, axes), inverse_permutation(axes)) is x.
Ints inverse_permutation(const Ints& axes);
Value broadcast(const Value& x, const Dims& dims, Ints axes);
/// NumPy's rule: trailing axes align, literal 1s stretch.
Value broadcast_to(const Value& x, const Dims& dims);
/// Puts a reduced value back over `dims`: the inverse placement of reduce(..., axes).
Value broadcast_over(const Value& reduced, const Dims& dims, const Ints& axes);
Value slice(const Value& x, Dims start, Dims limit, Ints step = {});
/// start .. limit of one axis.
Value slice_axis(const Value& x, int axis, const Dim& start, const Dim& limit);
Value pad(const Value& x, const Value& value, Dims low, Dims high, Ints interior = {});
Value reverse(const Value& x, Ints axes);
Value concat(std::vector<Value> parts, int axis);
/// Overlapping windows and their transpose; without axes x itself.
Value window(const Value& x, WindowAttrs attrs);
Value fold(const Value& x, FoldAttrs attrs);

// The rest.
Value gather(const Value& reference, const Value& indices, int axis = 0);
Value scatter_add(const Value& indices, const Value& updates, int axis, const Dim& size);
Value scatter_sub(const Value& x, const Value& rate, const Value& indices, const Value& updates);
/// Labels as in DotAttrs, any numbering: they are renumbered.
Value dot(const Value& lhs, const Ints& lhs_labels, const Value& rhs, const Ints& rhs_labels,
          const Ints& result_labels);
Value identity(const Value& x);
Value stop_gradient(const Value& x);
Value softmax(const Value& x, int axis);
Value log_softmax(const Value& x, int axis);

/// y over the number of elements that `axes` of x hold.
Value divided_by_count(const Value& y, const Value& x, const Ints& axes);
/// The mean over `axes`, which are dropped; NaN over nothing. REQUIRES: a floating point x.
Value reduce_mean(const Value& x, const Ints& axes);
/// x - its mean over `axes`.
Value deviations(const Value& x, const Ints& axes);
Value variance(const Value& x, Ints axes);

/// a + b where either may be empty (an absent cotangent).
Value add_cotangents(const Value& a, const Value& b);

}  // namespace kiln::ir
