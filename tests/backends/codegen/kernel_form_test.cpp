// Tests the text form of kernels, and the verifier on a valid kernel with one thing wrong.
#include "tests/support/catch.h"
#include "tests/backends/codegen/make_kernel.h"

#include "backends/codegen/kernel/guard_range.h"

#include <kiln/error.h>

#include <functional>

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Op;

namespace {

using Catch::Matchers::ContainsSubstring;

/// y[i, j] = x[i, j] / sum of row i; z[i] = the index of its largest element.
Kernel normalised(const ir::Dim& rows) {
  KernelMaker k("normalised", {rows, 3}, 1);
  const OperandId x = k.input(DType::Float32), y = k.output(DType::Float32);
  const OperandId z = k.output(DType::Int64);
  const ExpressionId value = k.load(k.access(x, {3, 1}));  // v0
  const StageId sum = k.reduce(Combiner::Sum, value);  // stage 0
  const ExpressionId share = k.apply(Op::Div, {value, k.result(sum)});  // v1, v2
  k.map({{k.access(y, {3, 1}, 2), share}});  // stage 1
  const StageId arg_max = k.reduce(Combiner::ArgMax, value);  // stage 2
  k.map({{k.access(z, {1, 0}), k.result(arg_max)}}, false);  // v3, stage 3
  k.number(DType::Float16, 0.5);  // v4
  k.number(DType::Int8, -3);  // v5
  return k.kernel;
}

constexpr ExpressionId v0(0), v1(1), v2(2), v3(3), v4(4), v99(99);
constexpr AccessId a1(1), a2(2), a3(3);
constexpr StageId s0(0), s1(1), s2(2), s3(3);

struct Wrong {
  const char* message;
  std::function<void(Kernel&)> change;
};

const std::vector<Wrong> kWrong = {
    {"its name is no identifier", [](Kernel& k) { k.name = "a b"; }},
    {"it has no stages", [](Kernel& k) { k.stages.clear(); }},
    {"more outer axes than axes", [](Kernel& k) { k.outer = 3; }},
    {"a size is not among its sizes", [](Kernel& k) { k.sizes.clear(); }},
    {"an access to no operand", [](Kernel& k) { k.accesses.front().operand = OperandId(3); }},
    {"a dynamic index that is no integer", [](Kernel& k) { k.accesses[a1].dynamic = v0; }},
    {"a guard that is no expression", [](Kernel& k) { k.accesses.front().when = v99; }},
    {"a guard that is no bool", [](Kernel& k) { k.accesses.front().when = v0; }},
    {"a guard comes later",
     [](Kernel& k) {
       k.accesses.front().when = k.expressions.add({ExpressionKind::Constant, DType::Bool});
     }},
    {"a stage that runs once reads what inner axes change",
     [](Kernel& k) {
       const ExpressionId x = k.expressions.add(k.expressions.front());  // x[i, j]
       Expression same{ExpressionKind::Apply, DType::Bool, Op::Equal};
       same.arguments = {x, x};
       k.accesses[a2].when = k.expressions.add(same);  // of the store to z
     }},
    {"a load from no access", [](Kernel& k) { k.expressions.front().access = a3; }},
    {"a load from an operand that is not read", [](Kernel& k) { k.operands.front().read = false; }},
    {"a load of another dtype", [](Kernel& k) { k.operands.front().dtype = DType::Float64; }},
    {"an argument comes later", [](Kernel& k) { k.expressions[v2].arguments[0] = v2; }},
    {"it cannot apply div", [](Kernel& k) { k.expressions[v2].arguments[1] = {}; }},
    {"it cannot apply sum", [](Kernel& k) { k.expressions[v2].op = Op::Sum; }},
    {"div of another dtype than int64", [](Kernel& k) { k.expressions[v1].dtype = DType::Int64; }},
    {"div of float32 that gives bool", [](Kernel& k) { k.expressions[v2].dtype = DType::Bool; }},
    {"a stage reads the result of a later one", [](Kernel& k) { k.expressions[v1].stage = s2; }},
    {"the result of a stage that combines nothing",
     [](Kernel& k) { k.expressions[v3].stage = s1; }},
    {"a result of another dtype", [](Kernel& k) { k.expressions[v3].stage = s0; }},
    {"a stage with the wrong combiner",
     [](Kernel& k) { k.stages.front().combiner = Combiner::None; }},
    {"a reduction of nothing", [](Kernel& k) { k.stages.front().value = {}; }},
    {"an accumulator of half precision", [](Kernel& k) { k.stages.front().value = v4; }},
    {"an arg_max over other than one inner axis", [](Kernel& k) { k.outer = 0; }},
    {"a stage without effect", [](Kernel& k) { k.stages[s1].stores.clear(); }},
    {"a store to an operand that is not written",
     [](Kernel& k) { k.operands[OperandId(1)].written = false; }},
    {"a store of another dtype", [](Kernel& k) { k.stages[s3].stores[0].value = v0; }},
    {"a stage that runs once reads what inner axes change",
     [](Kernel& k) { k.stages[s1].inner = false; }},
    {"a vector axis that is neither the last outer nor the last inner one",
     [](Kernel& k) { k.vector_axis = 2; }},
};

}  // namespace

TEST_CASE("verifier: each broken rule is named, with the kernel") {
  const Kernel sound = normalised(ir::Dim::fresh("rows"));
  CHECK_NOTHROW(verify(sound));
  for (const Wrong& wrong : kWrong) {
    Kernel kernel = sound;
    wrong.change(kernel);
    INFO(wrong.message);
    CHECK_THROWS_AS(verify(kernel), InternalError);
    CHECK_THROWS_WITH(verify(kernel), ContainsSubstring(wrong.message) &&
                                          ContainsSubstring("kernel " + kernel.name));
  }
}

TEST_CASE("text form: every part of a kernel is in it") {
  Kernel kernel = normalised(2);
  kernel.comes_from = "K.x";
  kernel.vector_axis = 1;
  CHECK(print(kernel) ==
        "kernel normalised(x0: float32 read, y1: float32 written, y2: int64 written)\n"
        "  # K.x\n"
        "  i0 below 2\n"
        "  i1 below 3, inner, lanes\n"
        "  v0: float32 = load a0 x0[i0*3 + i1]\n"
        "  v1: float32 = result of stage 0\n"
        "  v2: float32 = div(v0, v1)\n"
        "  v3: int64 = result of stage 2\n"
        "  v4: float16 = 0.5\n"
        "  v5: int8 = -3\n"
        "  stage 0: reduce over inner axes, sum of v0\n"
        "  stage 1: map over inner axes\n"
        "    store v2 to a1 y1[i0*3 + i1 + 2]\n"
        "  stage 2: reduce over inner axes, arg_max of v0\n"
        "  stage 3: map once\n"
        "    store v3 to a2 y2[i0]\n");
}

TEST_CASE("text form: guards of loads and of stores") {
  KernelMaker k("guarded", {4}, 1);
  const OperandId x = k.input(DType::Float32), y = k.output(DType::Float32);
  const ExpressionId low = k.apply(Op::Less, {k.axis(0), k.number(DType::Int64, 2)});
  const ExpressionId value = k.load(k.guard(k.access(x, {1}, -1), low));
  k.map({{k.guard(k.access(y, {1}), low), value}});
  CHECK(print(k.kernel) ==
        "kernel guarded(x0: float32 read, y1: float32 written)\n"
        "  i0 below 4\n"
        "  v0: int64 = i0\n"
        "  v1: int64 = 2\n"
        "  v2: bool = less(v0, v1)\n"
        "  v3: float32 = load a0 x0[i0 + -1] when v2\n"
        "  stage 0: map over inner axes\n"
        "    store v3 to a1 y1[i0] when v2\n");
}

TEST_CASE("guard: it narrows the indices at which an access touches memory") {
  KernelMaker k("narrowed", {4, 9}, 2);
  const OperandId x = k.input(DType::Float32), y = k.output(DType::Float32);
  const auto inside = [&](int axis, double shift, double limit) {
    const ExpressionId index = k.apply(Op::Add, {k.axis(axis), k.number(DType::Int64, shift)});
    return k.apply(Op::Less, {k.convert(DType::UInt64, index),
                              k.convert(DType::UInt64, k.number(DType::Int64, limit))});
  };
  const ExpressionId both = k.apply(Op::And, {inside(0, -1, 2), inside(1, -2, 5)});
  const AccessId guarded = k.guard(k.access(x, {5, 1}, -7), both), plain = k.access(y, {9, 1});
  k.map({{plain, k.load(guarded)}});
  const auto range = [&](AccessId access, int axis) {
    const IndexRange found = touched_range(k.kernel, k.kernel.accesses[access], axis);
    return std::pair(found.first, found.last);
  };
  using Range = std::pair<std::int64_t, std::int64_t>;
  CHECK(range(guarded, 0) == Range{1, 3});
  CHECK(range(guarded, 1) == Range{2, 7});
  CHECK(range(plain, 1) == Range{0, 9});
}
