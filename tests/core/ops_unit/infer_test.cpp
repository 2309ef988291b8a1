// Tests type rules of leaves and elementwise ops: results, the text of errors, and the guards that
// unknown sizes leave.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"

#include "tests/core/ops_unit/build_graph.h"

using namespace kiln;
using namespace kiln::ir;
using kiln::testing::error_text;

namespace {

const Dim n = Dim::of({901, "n"}), m = Dim::of({902, "m"});
const DType kF32 = DType::Float32;

std::vector<Guard> guards_of(const Value& value) {
  const std::vector<Value> roots{value};
  return collect_guards(roots);
}

}  // namespace

TEST_CASE("type rules: every elementwise op rejects the dtypes that it does not list") {
  for (const OpDef& d : all_ops()) {
    if (!has_scalar_meaning(d) || d.op == Op::Select) continue;
    for (int i = 0; i < kDTypeCount; ++i) {
      const auto dtype = static_cast<DType>(i);
      const std::string shown = std::string(dtype_name(dtype)) + "[2]";
      const Value x = argument({dtype, {2}});
      const std::vector<Value> operands(static_cast<std::size_t>(d.arity), x);
      INFO(d.name << " of " << shown);
      if (d.dtypes & dtype_bit(dtype)) {
        const Value y = make(d.op, NoAttrs{}, operands);
        CHECK(y.dims() == Dims{2});
        CHECK((y.dtype() == dtype || y.dtype() == DType::Bool));
        continue;
      }
      const std::string list = d.arity == 1 ? "x " + shown : "x " + shown + ", y " + shown;
      CHECK(error_text<TypeError>([&] { make(d.op, NoAttrs{}, operands); }) ==
            std::string(d.name) + ": " + std::string(d.name) + " does not take " +
                std::string(dtype_name(dtype)) + " (" + list + ")");
    }
  }
}

TEST_CASE("type rules: elementwise operands agree in dtype, rank and sizes") {
  const Value x = argument({kF32, {2, 3}});
  CHECK(error_text<TypeError>([&] { x + argument({DType::Float64, {2, 3}}); }) ==
        "add: operands have different dtypes float32 and float64 "
        "(x float32[2,3], y float64[2,3])");
  CHECK(error_text<ValueError>([&] { x* argument({kF32, {3}}); }) ==
        "mul: operands have different ranks 2 and 1 (x float32[2,3], y float32[3])");
  CHECK(error_text<ValueError>([&] { less(x, argument({kF32, {2, 4}})); }) ==
        "less: sizes 3 and 4 of axis 1 differ (x float32[2,3], y float32[2,4])");
  CHECK(error_text<ValueError>([&] { argument({kF32, {n}}) - argument({kF32, {n + 1}}); }) ==
        "sub: sizes n and n+1 of axis 0 differ (x float32[n], y float32[n+1])");
}

TEST_CASE("type rules: select takes a bool condition of the operands' shape") {
  const Value x = argument({DType::Int8, {2}});
  CHECK(select(argument({DType::Bool, {2}}), x, x).type() == x.type());
  CHECK(error_text<TypeError>([&] { select(x, x, x); }) ==
        "select: select does not take int8 (condition int8[2], x int8[2], y int8[2])");
  CHECK(error_text<ValueError>([&] { select(argument({DType::Bool, {}}), x, x); }) ==
        "select: the condition has another rank (condition bool[], x int8[2], y int8[2])");
  CHECK(error_text<ValueError>([&] { select(argument({DType::Bool, {3}}), x, x); }) ==
        "select: the condition has another shape (condition bool[3], x int8[2], y int8[2])");
  const Value y = argument({DType::Int16, {2}});
  CHECK(error_text<TypeError>([&] { select(argument({DType::Bool, {2}}), x, y); }) ==
        "select: operands have different dtypes int8 and int16 "
        "(condition bool[2], x int8[2], y int16[2])");
}

TEST_CASE("type rules: sizes that cannot be compared leave one guard") {
  const Value sum = argument({kF32, {n, 3}}) + argument({kF32, {m, 3}});
  const std::vector<Guard> guards = guards_of(unary(Op::Exp, sum) + sum);
  REQUIRE(guards.size() == 1);
  CHECK(guards[0].kind == Guard::Kind::Equal);
  CHECK(guards[0].left == n);
  CHECK(guards[0].right == m);
  CHECK(guards[0].message ==
        "add: sizes n and m of axis 0 differ (x float32[n,3], y float32[m,3])");
  CHECK(guards_of(argument({kF32, {n}}) + argument({kF32, {n}})).empty());
}

TEST_CASE("type rules: errors and guards name the function and the line of the user") {
  const OriginScope scope(Origin{{"model.cpp", 12}, "batch_dot"});
  const Value x = argument({kF32, {2}}), y = argument({kF32, {3}});
  try {
    x + y;
    FAIL("no error");
  } catch (const ValueError& error) {
    CHECK(error.function() == "batch_dot");
    CHECK(error.where().line == 12);
    CHECK(std::string(error.what()) ==
          "batch_dot: sizes 2 and 3 of axis 0 differ (float32[2], float32[3]) "
          "[model.cpp:12]");
  }
  const std::vector<Guard> guards = guards_of(argument({kF32, {n}}) + argument({kF32, {m}}));
  REQUIRE(guards.size() == 1);
  CHECK(guards[0].origin.where.line == 12);
  CHECK(guards[0].message.substr(0, 11) == "batch_dot: ");
}

TEST_CASE("type rules: constants hold exactly their bytes") {
  CHECK(constant({kF32, {2, 0}}, {}).type() == Type{kF32, {2, 0}});
  CHECK(error_text<ValueError>([] { constant({kF32, {2}}, std::vector<std::byte>(7)); }) ==
        "constant: a constant float32[2] has 7 bytes");
  CHECK(error_text<ValueError>([] { constant({kF32, {n}}, {}); }) ==
        "constant: size n is not static");
  CHECK(error_text<ValueError>([] { constant({kF32, {-1}}, {}); }) ==
        "constant: size -1 is negative");
  CHECK(error_text<ValueError>([] { make(Op::Constant, ConstantAttrs{{kF32, {1}}, {}}, {}); }) ==
        "constant: a constant float32[1] has 0 bytes");
}

TEST_CASE("type rules: leaves reject types that no value has") {
  CHECK(error_text<ValueError>([] { argument({kF32, {-2}}); }) ==
        "placeholder: size -2 is negative");
  const VariableAttrs unsized{.id = 1, .name = "w", .type = {kF32, {n}}, .state = {}};
  CHECK(error_text<ValueError>([&] { make(Op::Variable, unsized, {}); }) ==
        "variable: size n is not static");
  CHECK(error_text<ValueError>([] { iota({kF32, {3}}, 1); }) ==
        "iota: axis 1 is out of range for rank 1");
  CHECK(error_text<TypeError>([] { iota({DType::Bool, {3}}, 0); }) ==
        "iota: bool is not supported");
  const Value position = scalar_constant_int(DType::Int64, 0);
  const auto random = [](const Type& type, const Value& at) {
    return make(Op::RandomUniform, RandomAttrs{.type = type, .seed = 1, .stream = 2}, {at});
  };
  CHECK(random({DType::Float16, {n}}, position).dims() == Dims{n});
  CHECK(error_text<TypeError>([&] { random({DType::Int32, {3}}, position); }) ==
        "random_uniform: int32 is not supported (position int64[])");
  CHECK(error_text<TypeError>([&] { random({kF32, {3}}, scalar_constant(kF32, 0)); }) ==
        "random_uniform: position is not an int64 scalar (position float32[])");
  CHECK(dim_size(n * 2).type() == Type{DType::Int64, {}});
}

TEST_CASE("type rules: a bitcast is between numbers of the same size") {
  const Value x = argument({kF32, {2, n}});
  CHECK(bitcast(x, DType::UInt32).type() == Type{DType::UInt32, {2, n}});
  CHECK(bitcast(argument({DType::BFloat16, {}}), DType::Float16).type() ==
        Type{DType::Float16, {}});
  CHECK(error_text<TypeError>([&] { bitcast(x, DType::Int64); }) ==
        "bitcast: the bits of float32 are no int64 (x float32[2,n])");
  CHECK(error_text<TypeError>([&] { bitcast(argument({DType::Int8, {}}), DType::Bool); }) ==
        "bitcast: the bits of int8 are no bool (x int8[])");
  CHECK(error_text<TypeError>([&] { bitcast(argument({DType::Bool, {}}), DType::Int8); }) ==
        "bitcast: bitcast does not take bool (x bool[])");
}

TEST_CASE("type rules: arg_sort has the dims of its operand and an axis of it") {
  const Value x = argument({DType::Float16, {2, n}});
  CHECK(make(Op::ArgSort, SortAttrs{1, false}, {x}).type() == Type{DType::Int64, {2, n}});
  CHECK(error_text<ValueError>([&] { make(Op::ArgSort, SortAttrs{2, true}, {x}); }) ==
        "arg_sort: axis 2 is out of range for rank 2 (x float16[2,n])");
}

TEST_CASE("type rules: a while has carries alone, of which the first is a bool scalar") {
  const auto of = [](Type first, std::int64_t results, bool reverse) {
    const std::vector<Value> start{argument(first), argument({kF32, {n}})};
    const LambdaBuilder body({{DType::Int64, {}}, first, {kF32, {n}}});
    const auto& p = body.parameters();
    std::vector<Value> next{p[1], p[2], p[2]};
    next.resize(static_cast<std::size_t>(results));
    const auto closed = body.close(next, kAfterStepNumber);
    const ScanAttrs attrs{
        .body = {closed.lambda}, .carry = 2, .length = INT64_MAX, .reverse = reverse};
    return make_node(Op::While, attrs, start);
  };
  CHECK(of({DType::Bool, {}}, 2, false)->types[1] == Type{kF32, {n}});
  CHECK(error_text<TypeError>([&] { of({DType::Bool, {1}}, 2, false); }) ==
        "while: carry 0 of a while is bool[1] but should be bool[] (bool[1], float32[n])");
  CHECK(error_text<ValueError>([&] { of({DType::Bool, {}}, 3, false); }) ==
        "while: the body of a while gives 3 results for 2 carries (bool[], float32[n])");
  CHECK(error_text<ValueError>([&] { of({DType::Bool, {}}, 2, true); }) ==
        "while: a while has xs or runs backwards (bool[], float32[n])");
}

TEST_CASE("type rules: a size that may be negative is guarded") {
  const std::vector<Guard> guards = guards_of(iota({kF32, {n - 4}}, 0));
  REQUIRE(guards.size() == 1);
  CHECK(guards[0].kind == Guard::Kind::LessEqual);
  CHECK(guards[0].right == n - 4);
  CHECK(guards_of(iota({kF32, {n}}, 0)).empty());
}

TEST_CASE("type rules: a node of the wrong form is an internal error") {
  const Value x = argument({kF32, {2}});
  CHECK(error_text<InternalError>([&] { make(Op::Exp, NoAttrs{}, {x, x}); }) ==
        "make_node: exp takes 1 operands, got 2");
  CHECK(error_text<InternalError>([&] { make(Op::Exp, CastAttrs{}, {x}); }) ==
        "make_node: exp has attributes of another op");
  CHECK(error_text<InternalError>([&] { make(Op::Exp, NoAttrs{}, {Value{}}); }) ==
        "make_node: exp has an empty operand");
}

TEST_CASE("type rules: attention has the batch and queries of q, and the depth of v") {
  const Value q = argument({kF32, {2, n, 4}}), k = argument({kF32, {2, 5, 4}});
  const Value v = argument({kF32, {2, 5, 3}}), scale = argument({kF32, {}});
  const auto of = [&](std::vector<Value> operands) {
    return make_node(Op::Attention, AttentionAttrs{}, std::move(operands));
  };
  const NodeRef node = of({q, k, v, scale, argument({kF32, {1, n, 1}})});
  CHECK(node->types[0] == Type{kF32, {2, n, 3}});
  CHECK(node->types[1] == Type{kF32, {2, n}});
  const DType half = DType::Float16;
  const Value h = argument({half, {2, 3}});
  CHECK(of({h, h, h, argument({half, {}})})->types[1] == Type{kF32, {2}});
  const auto error = [&](std::vector<Value> operands) {
    return error_text<ValueError>([&] { of(std::move(operands)); });
  };
  const auto begins = [](const std::string& text, const std::string& start) {
    INFO(text);
    CHECK(text.substr(0, start.size()) == start);
  };
  begins(error({q, k, v}), "attention: q, k, v, scale and bias are 3 operands");
  begins(error({q, argument({kF32, {5, 4}}), v, scale}), "attention: k has rank 2, q has rank 3");
  begins(error({q, argument({kF32, {3, 5, 4}}), v, scale}),
         "attention: axis 0 of q has size 2 but axis 0 of k has size 3");
  begins(error({q, k, argument({kF32, {2, 6, 3}}), scale}),
         "attention: axis 1 of k has size 5 but axis 1 of v has size 6");
  begins(error({q, k, v, argument({kF32, {1}})}), "attention: scale is not a scalar");
  begins(error({q, k, v, scale, argument({kF32, {2, n, 4}})}),
         "attention: axis 2 of bias has size 4, that of the scores 5");
  const Value o = node->result(0), lse = node->result(1);
  const auto gradient = [&](std::vector<Value> operands) {
    return make_node(Op::AttentionGradient, AttentionAttrs{}, std::move(operands));
  };
  CHECK(gradient({q, k, v, scale, o, lse, o})->types.size() == 3);
  CHECK(gradient({q, k, v, scale, argument({kF32, {1, 1, 5}}), o, lse, o})->types[3] ==
        Type{kF32, {1, 1, 5}});
  begins(error_text<TypeError>([&] { gradient({q, k, v, scale, o, o, o}); }),
         "attention_gradient: operand 5 is float32[2,n,3] but should be float32[2,n]");
}
