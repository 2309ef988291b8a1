// The programs: every_op_program has each op, the others are small or deep.
#include "tests/core/module/programs.h"

#include "core/ir/lambda.h"
#include "core/ir/scope.h"
#include "core/module/read.h"
#include "core/ops/build.h"
#include "core/ops/lambda_builder.h"

namespace kiln::test {

using namespace ir;

Value placeholder(const char* name, Type type) {
  const std::int64_t id = module::fresh_id();
  return make(Op::Placeholder, PlaceholderAttrs{.id = id, .name = name, .type = std::move(type)},
              {});
}

Value variable(const char* name, Type type) {
  const std::int64_t id = module::fresh_id();
  return make(Op::Variable,
              VariableAttrs{.id = id, .name = name, .type = std::move(type), .state = {}}, {});
}

Value constant_of(DType dtype, Dims dims, const std::vector<std::uint64_t>& bits) {
  std::vector<std::byte> bytes;
  for (const std::uint64_t element : bits) {
    for (std::size_t i = 0; i < dtype_bytes(dtype); ++i) {
      bytes.push_back(static_cast<std::byte>(element >> (8 * i)));
    }
  }
  return constant({dtype, std::move(dims)}, std::move(bytes));
}

namespace {

Type f32(Dims dims) { return {DType::Float32, std::move(dims)}; }

/// carry' = carry + the outer loop's steps; the inner body has a scan while `depth` is left.
std::vector<Value> scan(const std::vector<Value>& operands, std::size_t depth) {
  LambdaBuilder builder({{DType::Int64, {}}, operands[0].type(), f32({2})});
  const auto& p = builder.parameters();
  Value next = p[1] + p[2];
  if (depth > 1) next = scan({next, operands[1]}, depth - 1)[0];
  const auto closed = builder.close({next, cast(next, DType::Float64)}, 1);
  ScanAttrs attrs{.body = {closed.lambda},
                  .consts = static_cast<std::int64_t>(closed.captures.size()),
                  .carry = 1,
                  .xs = 1,
                  .length = operands[1].dims()[0],
                  .reverse = depth % 2 == 0};
  std::vector<Value> all = closed.captures;
  all.insert(all.end(), operands.begin(), operands.end());
  const NodeRef node = make_node(Op::Scan, std::move(attrs), std::move(all));
  return {node->result(0), node->result(1)};
}

/// Halves x while the predicate is true; it becomes false after one step.
Value while_true(const Value& predicate, const Value& x) {
  LambdaBuilder builder({{DType::Int64, {}}, {DType::Bool, {}}, x.type()});
  const auto& p = builder.parameters();
  const auto closed = builder.close({logical_not(p[1]), p[2] * like(p[2], 0.5)}, 1);
  ScanAttrs attrs{.body = {closed.lambda}, .carry = 2, .length = INT64_MAX};
  return make_node(Op::While, std::move(attrs), {predicate, x})->result(1);
}

Value cond(const Value& predicate, const Value& x) {
  LambdaBuilder yes({x.type()}), no({x.type()});
  CondAttrs attrs{.then_branch = {yes.close({unary(Op::Exp, yes.parameters()[0])}, 1).lambda},
                  .else_branch = {no.close({neg(no.parameters()[0])}, 1).lambda}};
  return make(Op::Cond, std::move(attrs), {predicate, x});
}

/// A branch with a guard: it adds vectors of different symbolic sizes.
Value guarded_cond(const Value& x, const Value& y) {
  Trace sum_trace, none;
  const Value sum = [&] {
    const Trace::Scope tracing(sum_trace);
    return x + with_dims(y, x.dims());
  }();
  const auto closed = close_branches({sum}, sum_trace, {x}, none);
  std::vector<Value> operands{scalar_constant_int(DType::Bool, 1)};
  operands.insert(operands.end(), closed.captures.begin(), closed.captures.end());
  return make(Op::Cond, CondAttrs{{closed.then_branch}, {closed.else_branch}}, operands);
}

void add_elementwise(std::vector<Value>& out, const Value& x, const Value& y) {
  for (const OpDef& d : all_ops()) {
    if (d.lowering != Lowering::Elementwise || d.attrs != attrs_kind<NoAttrs>()) continue;
    const bool bools = d.dtypes == kBools, integers = d.dtypes == kIntegers;
    const Value a = bools ? less(x, y) : integers ? bitcast(x, DType::Int32) : x;
    const Value b = bools ? equal_to(x, y) : integers ? bitcast(y, DType::Int32) : y;
    if (d.arity == 1) out.push_back(unary(d.op, a));
    if (d.arity == 2) out.push_back(binary(d.op, a, b));
  }
  out.push_back(select(less(x, y), x, y));
  out.push_back(cast(x, DType::BFloat16));
  out.push_back(bitcast(x, DType::UInt32));
  out.push_back(scale_gradient(x, y));
}

void add_reductions(std::vector<Value>& out, const Value& x) {
  for (const Op op : {Op::Sum, Op::Prod, Op::Max, Op::Min, Op::Variance}) {
    out.push_back(reduce(op, x, {0}));
  }
  for (const Op op : {Op::ArgMax, Op::CumSum, Op::CumProd, Op::Softmax, Op::LogSoftmax}) {
    out.push_back(make(op, AxisAttrs{1}, {x}));
  }
  out.push_back(make(Op::ArgSort, SortAttrs{.axis = 1, .descending = true}, {x}));
}

void add_movement(std::vector<Value>& out, const Value& x, const Value& y) {
  const Dim n = x.dims()[0];
  out.push_back(reshape(x, {n * 2, 2}));
  out.push_back(permute(x, {1, 0}));
  out.push_back(broadcast(x, {3, n, 4}, {1, 2}));
  out.push_back(slice(x, {0, 1}, {n, 4}, {1, 2}));
  out.push_back(pad(x, scalar_constant(DType::Float32, 0.5), {1, 0}, {0, n}, {0, 1}));
  out.push_back(reverse(x, {1}));
  out.push_back(concat({x, y, x}, 0));
  const AttentionAttrs attrs{.divides = true, .causal = true};
  const Value scale = scalar_constant(DType::Float32, 2);
  const Value o = attention(x, y, y, scale, {}, attrs);
  out.push_back(o);
  out.push_back(make(Op::AttentionGradient, attrs, {x, y, y, scale, o, o.node->result(1), o}));
  const Value indices = iota({DType::Int64, {n}}, 0);
  out.push_back(gather(x, indices));
  out.push_back(scatter_add(indices, x, 0, n + 1));
  out.push_back(scatter_sub(x, scalar_constant(DType::Float32, 0.5), indices, x));
  out.push_back(dot(x, {0, 1}, y, {2, 1}, {0, 2}));
}

void add_windows(std::vector<Value>& out, const Value& x) {
  out.push_back(
      window(x, {.axes = {1}, .counts = {2}, .sizes = {2}, .strides = {2}, .dilations = {1}}));
  out.push_back(fold(out.back(), {.axes = {1}, .sizes = {4}, .strides = {2}, .dilations = {1}}));
  const Value filter = full(DType::Float32, {2, 1, 3}, 0.5);
  const ConvAttrs attrs{.role = ConvRole::Output,
                        .strides = {1},
                        .dilations = {1},
                        .low = {0},
                        .high = {1},
                        .sizes = {4},
                        .groups = 1};
  out.push_back(make(Op::Conv, attrs, {reshape(x, {x.dims()[0], 4, 1}), filter}));
  const RequireAttrs equal{
      .kind = Guard::Kind::Equal, .left = 4, .right = x.dims()[1], .message = "{left} and {right}"};
  const RequireAttrs less_equal{.kind = Guard::Kind::LessEqual,
                                .left = 2,
                                .right = x.dims()[0],
                                .message = "{left} > {right}"};
  out.push_back(make(Op::Require, equal, {x}));
  out.push_back(make(Op::Require, less_equal, {x}));
}

void add_effects(std::vector<Value>& out, const Value& x) {
  const Value position = scalar_constant_int(DType::Int64, 0);
  const RandomAttrs drawn{.type = x.type(), .seed = -3, .stream = 7};
  out.push_back(make(Op::RandomUniform, drawn, {position}));
  for (const std::int64_t id : {module::fresh_id(), module::fresh_id()}) {
    HostCallAttrs attrs{.function = "print",
                        .payload = "loss \"is\"\n\x01\xc3\xa9;",
                        .id = id,
                        .results = {x.type()}};
    out.push_back(make(Op::HostCall, std::move(attrs), {position, x}));
  }
  out.push_back(identity(x));
  out.push_back(make(
      Op::Collective,
      CollectiveAttrs{.kind = CollectiveKind::AllGather, .axis = 1, .group = 2, .ranks = 3}, {x}));
  out.push_back(stop_gradient(x));
  out.push_back(dim_size(max(floor_div(x.dims()[0] * 2 + 1, 3), 5) - mod(x.dims()[0], 4)));
}

template <class Make>
void in_scope(const Scope* scope, const Make& make) {
  const OriginScope origin({{"dir/every op.cpp", 12}, "rnn", scope}, true);
  make();
}

}  // namespace

module::Module every_op_program() {
  const Scope* named = intern_scope({"every \"op\"", {"main.cpp", 3}, nullptr});
  const OriginScope scope({{"dir/every op.cpp", 12}, "rnn", named}, true);
  const Dim n = Dim::fresh("batch size"), m = Dim::fresh("n.0"), k = Dim::fresh("n.0");
  const Value x = placeholder("x", f32({n, 4})), y = placeholder("x", f32({n, 4}));
  const Value xs = placeholder("steps", f32({m, 2})), unused = placeholder("", f32({k * 2 + m}));
  const Value w = variable("w", f32({4, 4})), v = variable("v", f32({2}));
  Graph graph{{y, x, xs, unused}, {}, {}};
  add_elementwise(graph.outputs, x, y);
  const Scope* encoder = intern_scope({"encoder", {"dir/every op.cpp", 5}});
  const Scope* attention = intern_scope({"attention", {}, encoder});
  const Scope* decoder = intern_scope({"decoder", {"b.cpp", 6}});
  in_scope(attention, [&] { add_reductions(graph.outputs, x); });
  in_scope(encoder, [&] { add_movement(graph.outputs, x, y); });
  in_scope(decoder, [&] { add_windows(graph.outputs, x); });
  in_scope(attention, [&] { add_effects(graph.outputs, x); });
  for (const Value& value : scan({v, xs}, 3)) graph.outputs.push_back(value);
  graph.outputs.push_back(cond(scalar_constant_int(DType::Bool, 1), x));
  graph.outputs.push_back(while_true(scalar_constant_int(DType::Bool, 1), x));
  graph.outputs.push_back(guarded_cond(reduce_sum(x, {1}), reduce_sum(xs, {1})));
  // Two constants of one buffer.
  const auto large = std::make_shared<const std::vector<std::byte>>(5000, std::byte{0x5a});
  for (const Type& type : {Type{DType::Float32, {1250}}, Type{DType::UInt8, {5000}}}) {
    graph.outputs.push_back(make(Op::Constant, ConstantAttrs{type, {large}}, {}));
  }
  graph.updates.push_back({w, w + w});
  std::vector<Guard> guards = collect_guards(graph.roots());
  guards.push_back({.kind = Guard::Kind::LessEqual,
                    .left = k,
                    .right = m + n,
                    .message = "add: \"x\" is too long",
                    .origin = {{"a", 1}, "f"}});
  return module::make_module(graph, std::move(guards), "every \"op\"");
}

module::Module small_program() {
  const OriginScope scope({{"train.cpp", 88}, "dot"}, true);
  const Dim n = Dim::fresh("x.0");
  const Value x = placeholder("x", f32({n, 3})), w = variable("w", f32({3, 2}));
  const Value bias = constant_of(DType::Float32, {2}, {0x3dcccccd, 0x80000000});
  const Value y = dot(x, {0, 1}, w, {1, 2}, {0, 2}) + broadcast_to(bias, {n, 2});
  const Graph graph{{x}, {y}, {{w, w * 0.5}}};
  return module::make_module(graph, {{Guard::Kind::LessEqual, 1, n, "dot: no rows", {}}}, "step");
}

module::Module scoped_program() {
  const Scope* encoder = intern_scope({"encoder", {"train.cpp", 80}, nullptr});
  const Scope* first = intern_scope({"layer 1", {"model.cpp", 7}, encoder});
  const Scope* second = intern_scope({"layer 1", {"model.cpp", 8}, encoder});
  const auto tanh_in = [](const Value& x, const Scope* scope) {
    const OriginScope origin({{"model.cpp", 3}, "tanh", scope}, true);
    return unary(Op::Tanh, x);
  };
  const Value x = placeholder("x", f32({4}));
  const Value y = tanh_in(tanh_in(tanh_in(x, first), second), nullptr);
  return module::make_module({{x}, {tanh_in(y, encoder)}, {}});
}

module::Module nested_program(std::size_t depth) {
  const Value xs = placeholder("xs", f32({Dim::fresh("t"), 2}));
  const Value start = placeholder("start", f32({2}));
  return module::make_module({{xs, start}, {scan({start, xs}, depth)[1]}, {}});
}

}  // namespace kiln::test
