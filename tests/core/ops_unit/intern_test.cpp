// Tests interning: equal structure is the same pointer; a difference of one bit is another node.
#include "tests/support/catch.h"

#include "core/ir/intern.h"
#include "core/ir/scope.h"
#include "tests/core/ops_unit/build_graph.h"

#include <limits>
#include <thread>

using namespace kiln;
using namespace kiln::ir;

namespace {

const Type kMatrix{DType::Float32, {2, 3}};

}  // namespace

TEST_CASE("interning: equal expressions are one node") {
  const Value x = argument(kMatrix);
  CHECK(unary(Op::Tanh, x) == unary(Op::Tanh, argument(kMatrix)));
  CHECK(x * x + 1.0 == x * x + 1.0);
  CHECK(reduce_sum(x, {1, 0}) == reduce_sum(x, {0, 1, 0}));
  CHECK(permute(x, {1, 0}) == permute(x, {1, 0}));
  CHECK_FALSE(x - x * x == x * x - x);
  CHECK_FALSE(unary(Op::Tanh, x) == unary(Op::Exp, x));
  CHECK_FALSE(reduce_sum(x, {0}) == reduce_sum(x, {1}));
  CHECK_FALSE(argument(1, kMatrix) == argument(2, kMatrix));
}

TEST_CASE("interning: constants are one node when their bits are equal") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64}) {
    INFO(dtype);
    CHECK(scalar_constant(dtype, 1.5) == scalar_constant(dtype, 1.5));
    CHECK(scalar_constant(dtype, nan) == scalar_constant(dtype, nan));
    CHECK_FALSE(scalar_constant(dtype, 0.0) == scalar_constant(dtype, -0.0));
    CHECK_FALSE(scalar_constant(dtype, 1) == scalar_constant(dtype, -1));
  }
  CHECK_FALSE(scalar_constant(DType::Float32, 0) == scalar_constant(DType::Int32, 0));
  CHECK(scalar_constant(DType::Int8, 257) == scalar_constant(DType::Int8, 127));
  CHECK(scalar_constant_int(DType::Int8, 257) == scalar_constant_int(DType::Int8, 1));
}

TEST_CASE("interning: large constants are equal by buffer alone") {
  const Type type{DType::UInt8, {static_cast<std::int64_t>(kSmallConstant) + 1}};
  const std::vector<std::byte> bytes(kSmallConstant + 1);
  CHECK_FALSE(constant(type, bytes) == constant(type, bytes));
  const auto shared = std::make_shared<const std::vector<std::byte>>(bytes);
  const ConstantAttrs attrs{type, {shared}};
  CHECK(make(Op::Constant, attrs, {}) == make(Op::Constant, attrs, {}));
  const Type small{DType::UInt8, {static_cast<std::int64_t>(kSmallConstant)}};
  const std::vector<std::byte> fewer(kSmallConstant);
  CHECK(constant(small, fewer) == constant(small, fewer));
}

TEST_CASE("interning: a node without references is freed") {
  const std::size_t before = live_node_count();
  {
    const Value x = argument(kMatrix);
    const Value y = unary(Op::Exp, x) + x;
    CHECK(live_node_count() == before + 3);
  }
  CHECK(live_node_count() == before);
}

TEST_CASE("interning: a node remembers the lines and the name scopes that built it") {
  const Value x = argument(kMatrix);
  const auto build = [&](unsigned line) {
    const OriginScope scope(Origin{{"model.cpp", line}, "exp"});
    return unary(Op::Exp, x);
  };
  const Value first = build(10), second = build(20), again = build(10);
  enter_scope(inner_scope("encoder", {"train.cpp", 5}));
  const Value inside = build(20);
  enter_scope(nullptr);
  CHECK(first == inside);
  CHECK(first == second);
  CHECK(first == again);
  const std::vector<Origin> all = origins(*first.node);
  REQUIRE(all.size() == 3);
  CHECK(all[0].where.line == 10);
  CHECK(all[1].where.line == 20);
  CHECK(std::string(all[1].function) == "exp");
  CHECK(all[2].where.line == 20);
  CHECK(scope_path(all[2].scope) == "encoder");
}

TEST_CASE("interning: threads that build the same graph share its nodes", "[concurrency]") {
  const std::size_t before = live_node_count();
  constexpr int kThreads = 8, kRounds = 200;
  std::vector<Value> results(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&results, t] {
      for (int round = 0; round < kRounds; ++round) {
        Value value = argument(kMatrix);
        for (int i = 0; i < 20; ++i) value = unary(Op::Sin, value) * 2.0;
        results[static_cast<std::size_t>(t)] = value;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Value& result : results) CHECK(result == results[0]);
  results.clear();
  CHECK(live_node_count() == before);
}
