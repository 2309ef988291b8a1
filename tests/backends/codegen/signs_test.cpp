// Tests which expressions are known to be never positive, and similar ones that are not.
#include "tests/support/catch.h"
#include "tests/backends/codegen/make_kernel.h"

#include "backends/codegen/kernel/signs.h"

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Op;

namespace {

/// Rows of x and y, of which the tests build expressions.
struct Rows {
  KernelMaker k{"rows", {4, 10}, 1};
  ExpressionId x = k.load(k.access(k.input(DType::Float32), {10, 1}));
  ExpressionId y = k.load(k.access(k.input(DType::Float32), {10, 1}));

  bool is_never_positive(ExpressionId expression) const {
    return never_positive(k.kernel)[expression];
  }
};

}  // namespace

TEST_CASE("signs: a value less its upper bound is never positive") {
  Rows rows;
  KernelMaker& k = rows.k;
  const ExpressionId row_maximum = k.result(k.reduce(Combiner::Max, rows.x));
  const ExpressionId larger = k.apply(Op::Maximum, {rows.y, rows.x});
  const ExpressionId largest = k.apply(Op::Maximum, {larger, k.number(DType::Float32, 2)});
  const ExpressionId of_both = k.result(k.reduce(Combiner::Max, larger));
  for (const ExpressionId bound : {row_maximum, larger, largest, of_both, rows.x}) {
    CHECK(rows.is_never_positive(k.apply(Op::Sub, {rows.x, bound})));
    CHECK(rows.is_never_positive(k.apply(Op::Neg, {k.apply(Op::Sub, {bound, rows.x})})));
  }
}

TEST_CASE("signs: a value less anything else may be positive") {
  Rows rows;
  KernelMaker& k = rows.k;
  const ExpressionId row_maximum = k.result(k.reduce(Combiner::Max, rows.x));
  const ExpressionId row_minimum = k.result(k.reduce(Combiner::Min, rows.x));
  const ExpressionId row_sum = k.result(k.reduce(Combiner::Sum, rows.x));
  const ExpressionId smaller = k.apply(Op::Minimum, {rows.x, rows.y});
  for (const ExpressionId other : {row_minimum, row_sum, smaller, rows.y}) {
    CHECK_FALSE(rows.is_never_positive(k.apply(Op::Sub, {rows.x, other})));
  }
  CHECK_FALSE(rows.is_never_positive(k.apply(Op::Sub, {rows.y, row_maximum})));
  CHECK_FALSE(rows.is_never_positive(k.apply(Op::Sub, {row_maximum, rows.x})));
}

TEST_CASE("signs: magnitudes, products and constants") {
  Rows rows;
  KernelMaker& k = rows.k;
  const ExpressionId square = k.apply(Op::Mul, {rows.x, rows.x});
  const ExpressionId size = k.apply(Op::Abs, {rows.x});
  const ExpressionId negated = k.apply(Op::Neg, {rows.x});
  const ExpressionId minus_two = k.number(DType::Float32, -2), half = k.number(DType::Float32, 0.5);
  const ExpressionId zero = k.number(DType::Float32, 0);
  const ExpressionId is_below = k.apply(Op::LessEqual, {rows.x, zero});
  for (const ExpressionId never :
       {k.apply(Op::Neg, {square}), k.apply(Op::Neg, {size}), minus_two, zero,
        k.apply(Op::Mul, {minus_two, square}), k.apply(Op::Mul, {k.apply(Op::Neg, {size}), half}),
        k.apply(Op::Select, {is_below, rows.x, negated})}) {
    CHECK(rows.is_never_positive(never));
  }
  const ExpressionId is_small = k.apply(Op::LessEqual, {rows.x, half});
  for (const ExpressionId perhaps :
       {rows.x, square, size, negated, half, k.apply(Op::Mul, {rows.x, rows.y}),
        k.apply(Op::Mul, {minus_two, minus_two}), k.apply(Op::Mul, {minus_two, rows.x}),
        k.apply(Op::Select, {is_below, negated, rows.x}),
        k.apply(Op::Select, {is_small, rows.x, negated}),
        k.apply(Op::Select, {is_below, rows.y, k.apply(Op::Neg, {rows.y})})}) {
    CHECK_FALSE(rows.is_never_positive(perhaps));
  }
}

TEST_CASE("signs: nothing is known of integers, which wrap") {
  KernelMaker k("integers", {4}, 1);
  const ExpressionId x = k.load(k.access(k.input(DType::Int32), {1}));
  const ExpressionId negated = k.apply(Op::Neg, {k.apply(Op::Abs, {x})});
  CHECK_FALSE(never_positive(k.kernel)[negated]);
}

TEST_CASE("signs: sums of exp(x - max x), and similar sums") {
  Rows rows;
  KernelMaker& k = rows.k;
  const StageId maximum = k.reduce(Combiner::Max, rows.x);
  const auto exp_of_difference = [&](ExpressionId x, StageId stage) {
    return k.apply(Op::Exp, {k.apply(Op::Sub, {x, k.result(stage)})});
  };
  const ExpressionId share = exp_of_difference(rows.x, maximum);
  const auto known = [&](Combiner combiner, ExpressionId value) {
    return sums_shares(k.kernel, k.kernel.stages[k.reduce(combiner, value)]);
  };
  CHECK(known(Combiner::Sum, share));
  CHECK_FALSE(known(Combiner::Prod, share));
  CHECK_FALSE(known(Combiner::Sum, rows.x));
  CHECK_FALSE(known(Combiner::Sum, exp_of_difference(rows.y, maximum)));
  CHECK_FALSE(known(Combiner::Sum, exp_of_difference(rows.x, k.reduce(Combiner::Min, rows.x))));
  const ExpressionId minus_size = k.apply(Op::Neg, {k.apply(Op::Abs, {rows.x})});
  CHECK_FALSE(known(Combiner::Sum, k.apply(Op::Exp, {minus_size})));
}
