// Tests which roundings of float16 and bfloat16 are dropped, and which stay.
#include "tests/support/catch.h"
#include "tests/backends/codegen/make_kernel.h"
#include "tests/support/has.h"

#include "backends/codegen/kernel/drop_roundings.h"

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Op;
using kiln::testing::has;

namespace {

/// Rows of x, and x - 2, of which the tests store something.
struct Rows {
  explicit Rows(DType dtype = DType::BFloat16) : half(dtype) {}

  DType half;
  KernelMaker k{"rows", {4, 10}, 1};
  ExpressionId x = k.load(k.access(k.input(half), {10, 1}));
  ExpressionId shifted = k.apply(Op::Sub, {x, k.number(half, 2)});

  void store(ExpressionId value) {
    const DType dtype = k.kernel.expressions[value].dtype;
    k.map({{k.access(k.output(dtype), {10, 1}), value}});
  }
  /// Whether x - 2 is an expression of float32 afterwards.
  bool drops() {
    verify(k.kernel);
    const std::string before = print(k.kernel);
    const bool changed = drop_roundings(k.kernel);
    verify(k.kernel);
    INFO(before << "\n" << print(k.kernel));
    CHECK(changed == (print(k.kernel) != before));
    return has(print(k.kernel), "float32 = sub(");
  }
};

}  // namespace

TEST_CASE("dropped roundings: of a chain of arithmetic") {
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    Rows rows(dtype);
    const ExpressionId negative = rows.k.apply(Op::Neg, {rows.shifted});
    const ExpressionId larger = rows.k.apply(Op::Maximum, {negative, rows.k.number(dtype, 0.5)});
    rows.store(rows.k.apply(Op::Mul, {rows.k.apply(Op::Tanh, {larger}), rows.x}));
    CHECK(rows.drops());
    const Kernel& kernel = rows.k.kernel;
    int narrow = 0;
    for (const Expression& e : kernel.expressions) {
      if (e.dtype == dtype && e.kind == ExpressionKind::Convert) ++narrow;
      if (e.kind == ExpressionKind::Apply) CHECK(e.dtype == DType::Float32);
    }
    CHECK(narrow == 1);
    CHECK_FALSE(drop_roundings(rows.k.kernel));
  }
}

TEST_CASE("dropped roundings: none of what is stored, and its readers read it rounded") {
  Rows rows;
  rows.store(rows.shifted);
  rows.store(rows.k.apply(Op::Exp, {rows.shifted}));
  CHECK_FALSE(rows.drops());
}

TEST_CASE("dropped roundings: none before comparisons, casts and ops that are not continuous") {
  Rows compared;
  const ExpressionId is_less = compared.k.apply(Op::Less, {compared.shifted, compared.x});
  compared.store(compared.k.apply(Op::Select, {is_less, compared.shifted, compared.x}));
  CHECK_FALSE(compared.drops());
  for (const Op op : {Op::Floor, Op::Round, Op::Sign, Op::Sqrt, Op::Log}) {
    INFO(ir::def(op).name);
    Rows rows;
    rows.store(rows.k.apply(op, {rows.shifted}));
    CHECK_FALSE(rows.drops());
  }
  for (const DType dtype : {DType::Float32, DType::Float64, DType::Int32, DType::Float16}) {
    INFO(dtype_name(dtype));
    Rows rows;
    rows.store(rows.k.convert(dtype, rows.shifted));
    CHECK_FALSE(rows.drops());
  }
  Rows bits;
  bits.store(bits.k.bitcast(DType::Int16, bits.shifted));
  CHECK_FALSE(bits.drops());
}

TEST_CASE("dropped roundings: of values of a select, whose condition is rounded") {
  Rows rows;
  const ExpressionId third = rows.k.apply(Op::Mul, {rows.x, rows.k.number(rows.half, 1. / 3)});
  const ExpressionId is_less = rows.k.apply(Op::Less, {third, rows.x});
  const ExpressionId selected = rows.k.apply(Op::Select, {is_less, rows.shifted, third});
  rows.store(rows.k.apply(Op::Add, {selected, selected}));
  CHECK(rows.drops());
  CHECK(has(print(rows.k.kernel), "bfloat16 = mul("));
}

TEST_CASE("dropped roundings: of the terms of sums, not of maxima") {
  for (const Op op : {Op::Add, Op::Mul}) {
    Rows rows;
    const ExpressionId term = rows.k.convert(DType::Float32, rows.shifted);
    rows.store(rows.k.apply(op, {term, rows.k.number(DType::Float32, 3)}));
    CHECK(rows.drops() == (op == Op::Add));
  }
  for (const Combiner combiner : {Combiner::Sum, Combiner::Max}) {
    Rows rows;
    const StageId stage = rows.k.reduce(combiner, rows.k.convert(DType::Float32, rows.shifted));
    const AccessId to = rows.k.access(rows.k.output(DType::Float32), {1, 0});
    rows.k.map({{to, rows.k.result(stage)}}, /*inner=*/false);
    CHECK(rows.drops() == (combiner == Combiner::Sum));
  }
  Rows both;  // the term is stored, too
  const ExpressionId term = both.k.convert(DType::Float32, both.shifted);
  const StageId stage = both.k.reduce(Combiner::Sum, term);
  const AccessId to = both.k.access(both.k.output(DType::Float32), {1, 0});
  both.store(term);
  both.k.map({{to, both.k.result(stage)}}, /*inner=*/false);
  CHECK_FALSE(both.drops());
}

TEST_CASE("dropped roundings: guards and dynamic indices stay those of the same expressions") {
  Rows rows;
  KernelMaker& k = rows.k;
  const ExpressionId row = k.load(k.access(k.input(DType::Int64), {1, 0}));
  const OperandId table = k.input(rows.half);
  const ExpressionId gathered = k.load(k.access_at(table, {0, 1}, row, 10, 4));
  const ExpressionId product = k.apply(Op::Mul, {rows.shifted, gathered});
  const ExpressionId inside = k.apply(Op::Less, {row, k.number(DType::Int64, 3)});
  const AccessId to = k.guard(k.access(k.output(rows.half), {10, 1}), inside);
  k.map({{to, k.apply(Op::Exp, {product})}});
  CHECK(rows.drops());
  for (const Access& access : k.kernel.accesses) {
    if (access.dynamic) CHECK(k.kernel.expressions[access.dynamic].kind == ExpressionKind::Load);
    if (access.when) CHECK(k.kernel.expressions[access.when].op == Op::Less);
  }
}
