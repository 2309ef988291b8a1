// Type rules that several ops share, and what makes a Scalar out of one generic lambda.
#pragma once

#include "core/ops/op.h"

namespace kiln::ir {

/// All operands have one dtype and equal dims; the result has them, too.
std::vector<Type> same_type(Inference& in);
/// The same operands, a bool result.
std::vector<Type> comparison(Inference& in);
/// Checks that operands from..count-1 agree with operand `from` in dtype and dims.
void require_same_types(Inference& in, std::size_t from = 0);
/// An axis attribute lies in 0 .. rank-1.
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

/// Meaning of an op on floats alone. F is a default-constructible function object.
template <int Arity, class F>
constexpr Scalar scalar_real(F) {
  return {detail::run_block<double, F, Arity>, nullptr, nullptr};
}
/// Meaning of an op on every kind of number (and on bools as integers).
template <int Arity, class F>
constexpr Scalar scalar_all(F) {
  return {detail::run_block<double, F, Arity>, detail::run_block<std::int64_t, F, Arity>,
          detail::run_block<std::uint64_t, F, Arity>};
}

}  // namespace kiln::ir
