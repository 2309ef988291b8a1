// Tests update_row (kiln/update.h). Expected values are by hand.
#include "tests/support/catch.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

namespace kiln::test {
namespace {

using testing::throws;
using testing::Misuse;

Array after_call(const UpdateOp& op) {
  function({}, {}, {.updates = {op}, .backend = tested_backend()})({});
  return get_value(op.variable);
}

Variable rows() { return variable({{1., 2.}, {3., 4.}}); }

const std::vector<Misuse> kUpdateRowErrors = {
    {throws<TypeError>(), [] { return update_row(of({2, 2}), 0, 1); },
     "update_row: x is not a variable (x p float32[2,2])"},
    {throws<ValueError>(), [] { return update_row(variable(Array(1.f)), 0, 1); },
     "update_row: x is a scalar (x float32[])"},
    {throws<TypeError>(), [] { return update_row(rows(), of({}), 1); },
     "update_row: index is not an integer (index float32[])"},
    {throws<TypeError>(), [] { return update_row(rows(), 0.5, 1); },
     "update_row: index 0.5 is floating point but the dtype is int64: write an integer"},
    {throws<ValueError>(), [] { return update_row(rows(), of({1}, "int32"), 1); },
     "update_row: index is not a scalar (index int32[1])"},
    {throws<TypeError>(), [] { return update_row(rows(), 0, of({2}, "float64")); },
     "update_row: value has dtype float64 but the variable has float32 (x[index] float32[2], value "
     "float64[2])"},
    {throws<ValueError>(), [] { return update_row(rows(), 0, of({3})); },
     "update_row: value does not fit the variable (x[index] float32[2], value float32[3])"},
    {throws<ValueError>(), [] { return update_row(rows(), 0, of({1, 2})); },
     "update_row: value does not fit the variable (x[index] float32[2], value float32[1,2])"},
};

}  // namespace

TEST_CASE("update_row: every dtype", "[k]") {
  for (const DType dtype : {DType::Int8, DType::Int64, DType::UInt16, DType::Float16,
                            DType::BFloat16, DType::Float32, DType::Float64}) {
    INFO(dtype);
    const Variable x = variable({{1, 2}, {3, 4}, {5, 6}}, {.dtype = dtype});
    CHECK(after_call(update_row(x, 1, constant({7, 8}, {.dtype = dtype}))) ==
          Array{{1, 2}, {7, 8}, {5, 6}}.astype(dtype));
    CHECK(after_call(update_row(x, 2, 9)) == Array{{1, 2}, {7, 8}, {9, 9}}.astype(dtype));
    CHECK(after_call(update_row(x, 0, x[2])) == Array{{9, 9}, {7, 8}, {9, 9}}.astype(dtype));
  }
  const Variable flags = variable({true, false}, {.dtype = "bool"});
  CHECK(after_call(update_row(flags, 1, true)) == Array{true, true});
}

TEST_CASE("update_row: replaces NaN and infinities exactly, and keeps the others", "[k]") {
  const Variable x = variable(f32({3, 2}, {kNaN, kInf, 1e30f, -1, kNaN, 2}));
  CHECK(difference(after_call(update_row(x, 0, 1)), f32({3, 2}, {1, 1, 1e30f, -1, kNaN, 2}), 0) ==
        "");
  CHECK(difference(after_call(update_row(x, 1, 1e-30)),
                   f32({3, 2}, {1, 1, 1e-30f, 1e-30f, kNaN, 2}), 0) == "");
  CHECK(difference(after_call(update_row(x, 1, constant(f32({2}, {kNaN, -kInf})))),
                   f32({3, 2}, {1, 1, kNaN, -kInf, kNaN, 2}), 0) == "");
}

TEST_CASE("update_row: a vector, one row, no columns, values that broadcast", "[k]") {
  const Variable vector = variable({1., 2., 3.}), one = variable({{4., 5.}});
  CHECK(after_call(update_row(vector, 2, constant(8.))) == Array{1.f, 2.f, 8.f});
  CHECK(after_call(update_row(one, 0, constant({{6., 7.}})[0])) == Array{{6.f, 7.f}});
  const Variable none_of_them = variable(none({2, 0}));
  CHECK(after_call(update_row(none_of_them, 1, 1)) == none({2, 0}));
  const Variable cube = variable(none({2, 2, 2}));
  CHECK(after_call(update_row(cube, 1, constant({1., 2.}))) ==
        f32({2, 2, 2}, {0, 0, 0, 0, 1, 2, 1, 2}));
}

TEST_CASE("update_row: an index of each call, checked there", "[k]") {
  const Variable x = variable(none({3, 2})), count = variable(Array(0), {.dtype = "int64"});
  const Tensor at = of({}, "int32"), row = of({2});
  const Function store =
      function({at, row}, {}, {.updates = {update_row(x, at, row)}, .backend = tested_backend()});
  store({Array(2), f32({2}, {1, 2})});
  store({Array(0), f32({2}, {3, 4})});
  const Array stored = f32({3, 2}, {3, 4, 0, 0, 1, 2});
  CHECK(get_value(x) == stored);
  CHECK_THROWS_AS(store({Array(3), f32({2}, {5, 6})}), ValueError);
  CHECK_THROWS_AS(store({Array(-1), f32({2}, {5, 6})}), ValueError);
  CHECK(get_value(x) == stored);
  // A ring: the row number advances with the row.
  const Function push =
      function({row}, {},
               {.updates = {update_row(x, mod(count, 3), row), update_add(count, 1)},
                .backend = tested_backend()});
  for (int i = 1; i <= 4; ++i) push({f32({2}, {1.f * i, 2.f * i})});
  CHECK(get_value(x) == f32({3, 2}, {4, 8, 2, 4, 3, 6}));
}

TEST_CASE("update_row: misuse", "[k]") { run(kUpdateRowErrors); }

}  // namespace kiln::test
