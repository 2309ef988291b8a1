// Tests the builders: the nodes that they make, and that those with no effect make none.
#include "tests/support/catch.h"

#include "tests/core/ops_unit/build_graph.h"

using namespace kiln;
using namespace kiln::ir;

namespace {

const Dim n = Dim::of({900, "n"});

}  // namespace

TEST_CASE("builders: scalars are converted as casts convert") {
  CHECK(scalar_of<float>(scalar_constant(DType::Float32, 0.1)) == 0.1f);
  CHECK(scalar_of<std::int32_t>(scalar_constant(DType::Int32, -2.9)) == -2);
  CHECK(scalar_of<std::uint8_t>(scalar_constant(DType::UInt8, -2.9)) == 0);
  CHECK(scalar_of<std::uint8_t>(scalar_constant_int(DType::UInt8, -1)) == 255);
  CHECK(scalar_of<std::uint8_t>(scalar_constant(DType::Bool, 0.5)) == 1);
  CHECK(scalar_of<double>(scalar_constant_int(DType::Float64, 1ll << 60)) == 0x1p60);
  CHECK(scalar_constant(DType::Float32, 1).type() == Type{DType::Float32, {}});
}

TEST_CASE("builders: full broadcasts a scalar, except to a scalar") {
  const Value filled = full(DType::Float32, {n, 3}, 2);
  CHECK(filled.node->op == Op::Broadcast);
  CHECK(filled.type() == Type{DType::Float32, {n, 3}});
  CHECK(filled.node->operands[0] == scalar_constant(DType::Float32, 2));
  CHECK(full(DType::Float32, {}, 2) == scalar_constant(DType::Float32, 2));
  const Value x = argument({DType::Int16, {n}});
  CHECK(like(x, 7).type() == x.type());
  CHECK(zeros_like(x) == like(x, 0));
}

TEST_CASE("builders: operators with a number use the tensor's type") {
  const Value x = argument({DType::Float64, {n}});
  CHECK(x + 1.0 == x + like(x, 1));
  CHECK(1.0 - x == like(x, 1) - x);
  CHECK(x / 2.0 == x / like(x, 2));
  CHECK(2.0 * x == like(x, 2) * x);
  CHECK(2.0 / x == like(x, 2) / x);
  CHECK(2.0 + x == like(x, 2) + x);
  CHECK(x - 2.0 == x - like(x, 2));
  CHECK((-x).node->op == Op::Neg);
  CHECK(less(x, x).dtype() == DType::Bool);
  CHECK(less_equal_to(x, x).node->op == Op::LessEqual);
  CHECK(equal_to(x, x).node->op == Op::Equal);
}

TEST_CASE("builders: those that would change nothing return their operand") {
  const Value x = argument({DType::Float32, {n, 3}});
  CHECK(cast(x, DType::Float32) == x);
  CHECK(reduce_sum(x, {}) == x);
  CHECK(reshape(x, {n, 3}) == x);
  CHECK(permute(x, {0, 1}) == x);
  CHECK(broadcast_to(x, {n, 3}) == x);
  CHECK(slice(x, {0, 0}, {n, 3}) == x);
  CHECK(slice_axis(x, 1, 0, 3) == x);
  CHECK(pad(x, scalar_constant(DType::Float32, 0), {0, 0}, {0, 0}) == x);
  CHECK(reverse(x, {}) == x);
  CHECK(concat({x}, 0) == x);
  CHECK_FALSE(slice(x, {0, 0}, {n, 3}, {1, 2}) == x);
  CHECK_FALSE(identity(x) == x);
}

TEST_CASE("builders: reductions drop axes or keep them as ones") {
  const Value x = argument({DType::Float32, {n, 3, 4}});
  CHECK(reduce_sum(x, {2, 0, 2}).dims() == Dims{3});
  CHECK(reduce_sum(x, {2, 0}).node->as<AxesAttrs>().axes == Ints{0, 2});
  CHECK(reduce_max(x, all_axes(x)).dims().empty());
  CHECK(all_axes(x) == Ints{0, 1, 2});
}

TEST_CASE("builders: movement ops have the types that they name") {
  const Value x = argument({DType::Float32, {n, 3}});
  CHECK(permute(x, {1, 0}).dims() == Dims{3, n});
  CHECK(reshape(x, {3, n}).dims() == Dims{3, n});
  CHECK(broadcast_to(x, {5, n, 3}).node->as<BroadcastAttrs>().axes == Ints{1, 2});
  CHECK(broadcast_over(reduce_sum(x, {0}), x.dims(), {0}).dims() == x.dims());
  CHECK(broadcast_over(reduce_sum(x, {0}), x.dims(), {0}).node->as<BroadcastAttrs>().axes ==
        Ints{1});
  CHECK(slice(x, {0, 0}, {n, 3}, {2, 2}).dims() == Dims{ceil_div(n, 2), 2});
  CHECK(slice_axis(x, 1, 1, 3).dims() == Dims{n, 2});
  const Value zero = scalar_constant(DType::Float32, 0);
  CHECK(pad(x, zero, {1, 0}, {2, 0}).dims() == Dims{n + 3, 3});
  CHECK(pad(x, zero, {0, 0}, {0, 0}, {0, 2}).dims() == Dims{n, 7});
  CHECK(concat({x, x, x}, 0).dims() == Dims{3 * n, 3});
  CHECK(reverse(x, {1, 0, 1}).node->as<AxesAttrs>().axes == Ints{0, 1});
}

TEST_CASE("builders: gather and scatter_add exchange an axis for the indices' axes") {
  const Value table = argument(1, {DType::Float32, {10, 4}});
  const Value indices = argument(2, {DType::Int32, {n, 5}});
  const Value rows = gather(table, indices);
  CHECK(rows.dims() == Dims{n, 5, 4});
  CHECK(gather(table, indices, 1).dims() == Dims{10, n, 5});
  CHECK(scatter_add(indices, rows, 0, 10).type() == table.type());
}

TEST_CASE("builders: dot renumbers its labels by appearance") {
  const Value a = argument(1, {DType::Float32, {n, 3}});
  const Value b = argument(2, {DType::Float32, {3, 5}});
  const Value product = dot(a, {7, 2}, b, {2, 9}, {9, 7});
  CHECK(product.dims() == Dims{5, n});
  const auto& attrs = product.node->as<DotAttrs>();
  CHECK(attrs.lhs == Ints{0, 1});
  CHECK(attrs.rhs == Ints{1, 2});
  CHECK(attrs.result == Ints{2, 0});
  CHECK(product == dot(a, {0, 1}, b, {1, 2}, {2, 0}));
}

TEST_CASE("builders: an absent cotangent adds nothing") {
  const Value x = argument({DType::Float32, {n}});
  CHECK(add_cotangents(x, {}) == x);
  CHECK(add_cotangents({}, x) == x);
  CHECK_FALSE(add_cotangents({}, {}));
  CHECK(add_cotangents(x, x) == x + x);
}
