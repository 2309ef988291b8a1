// Type rules that several ops share, and helpers that make a Scalar of a function object.
#pragma once

#include "core/ops/op.h"

namespace kiln::ir {

/// Operands must have equal types, which is the type of the result.
std::vector<Type> same_type(Inference& in);
/// Operands must have equal types; the result is bool with their dims.
std::vector<Type> comparison(Inference& in);
/// Requires that all operands from `from` on have equal types.
void require_same_types(Inference& in, std::size_t from = 0);
/// Requires that 0 <= axis < rank.
void require_axis(Inference& in, std::int64_t axis, int rank);

namespace detail {

template <class Number, class F, int Arity>
void run_block(const Number* const* x, Number* y, std::int64_t n) {
  constexpr F f{};
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (Arity == 1) y[i] = static_cast<Number>(f(x[0][i]));
    if constexpr (Arity == 2) y[i] = static_cast<Number>(f(x[0][i], x[1][i]));
    if constexpr (Arity == 3) y[i] = static_cast<Number>(f(x[0][i], x[1][i], x[2][i]));
  }
}

}  // namespace detail

/// The meaning of an op that takes floats only. F is a default-constructible function object.
template <int Arity, class F>
constexpr Scalar scalar_floating(F) {
  return {.floating = detail::run_block<double, F, Arity>};
}
/// The meaning of an op that takes integers only.
template <int Arity, class F>
constexpr Scalar scalar_integers(F) {
  return {.signed_integer = detail::run_block<std::int64_t, F, Arity>,
          .unsigned_integer = detail::run_block<std::uint64_t, F, Arity>};
}
/// The meaning of an op that takes numbers of every kind; bools count as signed integers.
template <int Arity, class F>
constexpr Scalar scalar_all(F) {
  return {.floating = detail::run_block<double, F, Arity>,
          .signed_integer = detail::run_block<std::int64_t, F, Arity>,
          .unsigned_integer = detail::run_block<std::uint64_t, F, Arity>};
}

}  // namespace kiln::ir
