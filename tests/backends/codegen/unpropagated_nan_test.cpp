// Tests which maxima need not propagate NaN: those of softmax and log-softmax, and similar kernels
// in which a NaN or the sign of a zero would be lost.
#include "tests/support/catch.h"
#include "tests/backends/codegen/make_kernel.h"

#include "backends/codegen/kernel/unpropagated_nan.h"

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Op;

namespace {

/// Rows of x with their maximum, and the sum of exp(x - maximum). Stage 0 is the maximum.
struct Rows {
  KernelMaker k{"rows", {4, 10}, 1};
  ExpressionId x = k.load(k.access(k.input(kF32), {10, 1}));
  AccessId to = k.access(k.output(kF32, /*read=*/true), {10, 1});
  ExpressionId maximum = k.result(k.reduce(Combiner::Max, x));
  ExpressionId shifted = k.apply(Op::Sub, {x, maximum});
  ExpressionId share = k.apply(Op::Exp, {shifted});
  ExpressionId sum;

  explicit Rows(bool stores_share = false) {
    std::vector<Store> stores;
    if (stores_share) stores.push_back({to, share});
    sum = k.result(k.reduce(Combiner::Sum, share, stores));
  }

  /// Whether the maximum may drop NaN when these values are stored, each over the one before it.
  bool drops_nan(const std::vector<ExpressionId>& stored) {
    for (const ExpressionId value : stored) k.map({{to, value}});
    return need_not_propagate_nan(k.kernel).front();
  }
};

}  // namespace

TEST_CASE("unpropagated NaN: softmax and log-softmax") {
  Rows quotient;
  CHECK(quotient.drops_nan({quotient.k.apply(Op::Div, {quotient.share, quotient.sum})}));
  Rows product;
  const ExpressionId reciprocal =
      product.k.apply(Op::Div, {product.k.number(kF32, 1), product.sum});
  CHECK(product.drops_nan({product.k.apply(Op::Mul, {product.share, reciprocal})}));
  Rows logarithm;
  const ExpressionId log = logarithm.k.apply(Op::Log, {logarithm.sum});
  CHECK(logarithm.drops_nan({logarithm.k.apply(Op::Sub, {logarithm.shifted, log})}));
  Rows input;
  CHECK(input.drops_nan({input.x}));
  Rows stored(/*stores_share=*/true);
  const ExpressionId loaded = stored.k.load(stored.to);
  CHECK(stored.drops_nan({stored.k.apply(Op::Div, {loaded, stored.sum})}));
}

TEST_CASE("unpropagated NaN: values that do not depend on the sum") {
  Rows share;
  CHECK_FALSE(share.drops_nan({share.share}));
  Rows maximum;
  CHECK_FALSE(maximum.drops_nan({maximum.maximum}));
  Rows shifted;
  CHECK_FALSE(shifted.drops_nan({shifted.shifted}));
  Rows limited;  // a comparison with NaN is false
  const ExpressionId below = limited.k.apply(Op::Less, {limited.sum, limited.share});
  CHECK_FALSE(limited.drops_nan(
      {limited.k.apply(Op::Select, {below, limited.share, limited.k.number(kF32, 0)})}));
  Rows stored(/*stores_share=*/true);
  CHECK_FALSE(stored.drops_nan({}));
  Rows loaded(/*stores_share=*/true);
  CHECK_FALSE(loaded.drops_nan({loaded.k.load(loaded.to)}));
}

TEST_CASE("unpropagated NaN: other stages and addresses that depend on the maximum") {
  Rows product;
  product.k.reduce(Combiner::Prod, product.share);
  CHECK_FALSE(product.drops_nan({}));
  Rows guarded;
  const ExpressionId is_high =
      guarded.k.apply(Op::Less, {guarded.k.number(kF32, 0), guarded.maximum});
  guarded.k.guard(guarded.to, is_high);
  CHECK_FALSE(guarded.drops_nan({guarded.k.apply(Op::Div, {guarded.share, guarded.sum})}));
}

TEST_CASE("unpropagated NaN: uses in which the sign of a zero would be lost") {
  Rows scaled;  // -0 - +0 is -0, +0 - -0 is +0
  CHECK_FALSE(scaled.drops_nan({scaled.k.apply(Op::Mul, {scaled.shifted, scaled.sum})}));
  Rows added;
  CHECK_FALSE(added.drops_nan({added.k.apply(Op::Mul, {added.maximum, added.sum})}));
  Rows less_sum;
  CHECK_FALSE(less_sum.drops_nan({less_sum.k.apply(Op::Sub, {less_sum.shifted, less_sum.sum})}));
}

TEST_CASE("unpropagated NaN: another operand, which may exceed a maximum that ignores NaN") {
  Rows other;
  const ExpressionId y = other.k.load(other.k.access(other.k.input(kF32), {10, 1}));
  const ExpressionId share = other.k.apply(Op::Exp, {other.k.apply(Op::Sub, {y, other.maximum})});
  CHECK_FALSE(other.drops_nan({other.k.apply(Op::Div, {share, other.sum})}));
}

TEST_CASE("unpropagated NaN: kernels without the sum") {
  KernelMaker k("maxima", {4, 10}, 1);
  const ExpressionId x = k.load(k.access(k.input(kF32), {10, 1}));
  const ExpressionId y = k.load(k.access(k.input(kF32), {10, 1}));
  const ExpressionId maximum = k.result(k.reduce(Combiner::Max, x));
  const ExpressionId minimum = k.result(k.reduce(Combiner::Min, x));
  const ExpressionId of_y = k.apply(Op::Exp, {k.apply(Op::Sub, {y, maximum})});
  k.reduce(Combiner::Sum, of_y);
  k.reduce(Combiner::Sum, k.apply(Op::Exp, {k.apply(Op::Sub, {x, minimum})}));
  CHECK(need_not_propagate_nan(k.kernel) == IdVector<StageId, bool>{false, false, false, false});
}
