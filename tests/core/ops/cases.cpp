// The table: a row per op. A missing one fails the build.
#include "tests/core/ops/attention_loops.h"
#include "tests/core/ops/case.h"

#include "core/ir/lambda.h"
#include "core/ops/build.h"
#include "core/ops/lambda_builder.h"
#include "core/ops/table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

namespace kiln::test {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;
using Doubles = std::vector<double>;
using Lists = std::vector<Doubles>;
using Values = std::vector<Value>;

constexpr DType kWide = DType::Float64;

Type f64(ir::Dims dims) { return {kWide, std::move(dims)}; }

template <Op kOp>
Values unary(const Values& x) {
  return {ir::unary(kOp, x[0])};
}
template <Op kOp>
Values binary(const Values& x) {
  return {ir::binary(kOp, x[0], x[1])};
}
template <Op kOp>
Values reduce_rows(const Values& x) {
  return {ir::make(kOp, ir::AxesAttrs{{1}}, {x[0]})};
}
template <Op kOp>
Values along_rows(const Values& x) {
  return {ir::make(kOp, ir::AxisAttrs{1}, {x[0]})};
}

template <class F>
Doubles map1(const Lists& x, F f) {
  Doubles y;
  for (double a : x[0]) y.push_back(f(a));
  return y;
}
template <class F>
Doubles map2(const Lists& x, F f) {
  Doubles y;
  for (std::size_t i = 0; i < x[0].size(); ++i) y.push_back(f(x[0][i], x[1][i]));
  return y;
}
/// Rows of three of a [2,3] operand.
template <class F>
Doubles rows(const Lists& x, F f) {
  Doubles y;
  for (std::size_t r = 0; r < 2; ++r) {
    const Doubles row(x[0].begin() + static_cast<long>(3 * r),
                      x[0].begin() + static_cast<long>(3 * r + 3));
    for (double value : f(row)) y.push_back(value);
  }
  return y;
}

#define MAP1(expression) [](const Lists& x) { return map1(x, [](double a) { return expression; }); }
#define MAP2(expression) \
  [](const Lists& x) { return map2(x, [](double a, double b) { return double(expression); }); }
#define ROWS(...) \
  [](const Lists& x) { return rows(x, [](const Doubles& r) { return Doubles(__VA_ARGS__); }); }

Doubles running(const Doubles& row, bool multiply) {
  Doubles y;
  double total = multiply ? 1 : 0;
  for (double value : row) y.push_back(total = multiply ? total * value : total + value);
  return y;
}
Doubles softmax(const Doubles& row) {
  double total = 0;
  for (double value : row) total += std::exp(value);
  Doubles y;
  for (double value : row) y.push_back(std::exp(value) / total);
  return y;
}
Doubles log_of(Doubles row) {
  for (double& value : row) value = std::log(value);
  return row;
}

/// The sum of 2 / sqrt(pi) (-1)^n x^(2n + 1) / (n! (2n + 1)). REQUIRES: |x| <= 2.
double erf_series(double x) {
  double power = x, sum = x;
  for (int n = 1; n < 40; ++n) {
    power *= -x * x / n;
    sum += power / (2 * n + 1);
  }
  return 1.1283791670955126 * sum;
}

double variance(const Doubles& row) {
  const double mean = std::accumulate(row.begin(), row.end(), 0.0) / double(row.size());
  double total = 0;
  for (double value : row) total += (value - mean) * (value - mean);
  return total / double(row.size());
}

Value as_index(const Value& x) {
  // Floats to the whole numbers 0 .. 2.
  return ir::cast(ir::unary(Op::Floor, ir::unary(Op::Abs, x)), DType::Int64);
}

/// Eight times x, toward zero.
Value as_integer(const Value& x) { return ir::cast(x * 8.0, DType::Int64); }
template <Op kOp>
Values of_integers(const Values& x) {
  return {ir::binary(kOp, as_integer(x[0]), as_integer(x[1]))};
}
#define BITS(op) MAP2(static_cast<std::int64_t>(a * 8) op static_cast<std::int64_t>(b * 8))

/// x with the other sign.
Values bitcast_case(const Values& x) {
  const Value bits = ir::bitcast(x[0], DType::Int64);
  const Value sign = ir::scalar_constant_int(DType::Int64, INT64_MIN);
  const Value flipped = ir::binary(Op::BitXor, bits, ir::broadcast_to(sign, bits.dims()));
  return {ir::bitcast(flipped, kWide)};
}

/// The angle whose tangent is x, by bisection. REQUIRES: it is between -1.5 and 1.5.
double angle_of(double x) {
  double low = -1.5, high = 1.5;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::tan(middle) < x ? low : high) = middle;
  }
  return low;
}

Doubles descending_order(const Doubles& row) {
  Doubles order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](double i, double j) {
    return row[static_cast<std::size_t>(i)] > row[static_cast<std::size_t>(j)];
  });
  return order;
}

/// c' = tanh(c) * x[t] + w; y = c' c'
Values scan_case(const Values& x) {
  const ir::LambdaBuilder body({{DType::Int64, {}}, f64({2}), f64({2})});
  const Value c = body.parameters()[1], input = body.parameters()[2];
  const Value next = ir::unary(Op::Tanh, c) * input + x[2];
  const auto closed = body.close({next, next * next}, 1);
  const ir::ScanAttrs attrs{.body = {closed.lambda}, .consts = 1, .carry = 1, .xs = 1, .length = 3};
  const ir::NodeRef scan = ir::make_node(Op::Scan, attrs, {closed.captures[0], x[0], x[1]});
  return {{scan, 1}, {scan, 0}};
}
Doubles scan_formula(const Lists& x) {
  Doubles c = x[0], y;
  for (std::size_t t = 0; t < 3; ++t) {
    for (std::size_t i = 0; i < 2; ++i) c[i] = std::tanh(c[i]) * x[1][2 * t + i] + x[2][i];
    for (double value : c) y.push_back(value * value);
  }
  return y;
}

/// c' = 2 c + w, up to 6 times, until the sum of squares is 50.
Values while_case(const Values& x) {
  const ir::LambdaBuilder builder({{DType::Int64, {}}, {DType::Bool, {}}, f64({2})});
  ir::Trace trace;
  const auto goes_on = [](const Value& c) {
    return ir::less(ir::reduce_sum(c * c, {0}), ir::scalar_constant(kWide, 50));
  };
  Values results;
  {
    const ir::Trace::Scope tracing(trace);
    const Value c = builder.parameters()[2];
    const Value next = c + c + x[1];
    results = {goes_on(next), next};
  }
  const ir::NodeRef loop = ir::make_while({.builder = builder, .results = results, .trace = trace},
                                          {goes_on(x[0]), x[0]}, 6);
  return {{loop, 1}, {loop, 0}};
}
Doubles while_formula(const Lists& x) {
  Doubles c = x[0];
  for (int t = 0; t < 6 && c[0] * c[0] + c[1] * c[1] < 50; ++t) {
    for (std::size_t i = 0; i < 2; ++i) c[i] = 2 * c[i] + x[1][i];
  }
  return c;
}

/// Two groups of one channel and one filter; stride 2, one element of padding before.
Values conv_case(const Values& x) {
  const ir::ConvAttrs attrs{.role = ir::ConvRole::Output,
                            .strides = {2},
                            .dilations = {1},
                            .low = {1},
                            .high = {0},
                            .sizes = {2},
                            .groups = 2};
  return {ir::make(Op::Conv, attrs, {x[0], x[1]})};
}
Doubles conv_formula(const Lists& x) {
  const Doubles &a = x[0], &w = x[1];
  return {a[0] * w[2], a[1] * w[3], a[2] * w[0] + a[4] * w[2], a[3] * w[1] + a[5] * w[3]};
}

/// The first branch is taken when the first element is positive.
Values cond_case(const Values& x) {
  const Value first = ir::reshape(ir::slice_axis(x[0], 0, 0, 1), {});
  const Value positive = ir::less(ir::scalar_constant(kWide, 0), first);
  ir::Trace then_trace, else_trace;
  const Value grown = [&] {
    const ir::Trace::Scope tracing(then_trace);
    return ir::unary(Op::Exp, x[0]) * x[0];
  }();
  const Value sine = [&] {
    const ir::Trace::Scope tracing(else_trace);
    return ir::unary(Op::Sin, x[0]);
  }();
  const auto closed = ir::close_branches({grown}, then_trace, {sine}, else_trace);
  Values operands{positive};
  operands.insert(operands.end(), closed.captures.begin(), closed.captures.end());
  return {ir::make(Op::Cond, ir::CondAttrs{{closed.then_branch}, {closed.else_branch}}, operands)};
}

Values dot_case(const Values& x) { return {ir::dot(x[0], {0, 1, 2}, x[1], {0, 2, 3}, {3, 0, 1})}; }
Doubles dot_formula(const Lists& x) {  // [2,2,3] [2,3,2] -> [2,2,2], columns first
  Doubles y;
  for (int j = 0; j < 2; ++j) {
    for (int n = 0; n < 2; ++n) {
      for (int i = 0; i < 2; ++i) {
        double sum = 0;
        for (int k = 0; k < 3; ++k) {
          sum += x[0][static_cast<std::size_t>(n * 6 + i * 3 + k)] *
                 x[1][static_cast<std::size_t>(n * 6 + k * 2 + j)];
        }
        y.push_back(sum);
      }
    }
  }
  return y;
}

constexpr const char* kLeaf = "an argument: fed in every other row";

}  // namespace

/// A causal attention with a bias of one batch: (2, 3, 2), (2, 4, 2), (2, 4, 3), a scale and
/// (1, 3, 4).
Values attention_case(const Values& x) {
  const ir::NodeRef node =
      ir::attention(x[0], x[1], x[2], x[3], x[4], {.divides = false, .causal = true}).node;
  return {node->result(0), node->result(1)};
}
AttentionLoops attention_loops(const Lists& x) {
  return {.batch = 2,
          .t = 3,
          .s = 4,
          .d = 2,
          .e = 3,
          .divides = false,
          .causal = true,
          .q = x[0],
          .k = x[1],
          .v = x[2],
          .scale = x[3][0],
          .bias = repeated(x[4], 2)};
}
/// The same without a bias, and the cotangent (2, 3, 3) of the result.
Values attention_gradient_case(const Values& x) {
  const ir::AttentionAttrs attrs{.divides = true, .causal = false};
  const ir::NodeRef node = ir::attention(x[0], x[1], x[2], x[3], {}, attrs).node;
  const ir::NodeRef gradient =
      ir::make_node(Op::AttentionGradient, attrs,
                    {x[0], x[1], x[2], x[3], node->result(0), node->result(1), x[4]});
  return {gradient->result(0), gradient->result(1), gradient->result(2)};
}
AttentionLoops attention_gradient_loops(const Lists& x) {
  return {.batch = 2,
          .t = 3,
          .s = 4,
          .d = 2,
          .e = 3,
          .divides = true,
          .causal = false,
          .q = x[0],
          .k = x[1],
          .v = x[2],
          .scale = x[3][0],
          .bias = {}};
}

std::vector<Case> cases() {
  const std::vector<Type> one{f64({2, 3})}, two{f64({2, 3}), f64({2, 3})};
  const Case table[] = {
    // leaves
    {Op::Constant, {}, [](const Values&) { return Values{ir::full(kWide, {2}, 1.5)}; },
     [](const Lists&) { return Doubles{1.5, 1.5}; }},
    {Op::Placeholder, one, [](const Values& x) { return x; }, MAP1(a)},
    {Op::Variable, {}, nullptr, nullptr, "tests/runtime: variables need a runtime"},
    {Op::Parameter, {}, nullptr, nullptr, kLeaf},
    {Op::Iota, {}, [](const Values&) { return Values{ir::iota(f64({2, 3}), 1)}; },
     [](const Lists&) { return Doubles{0, 1, 2, 0, 1, 2}; }},
    {Op::RandomUniform, {}, nullptr, nullptr, "tests/core/ops/random_test.cpp: golden draws"},
    {Op::DimSize, {}, [](const Values&) { return Values{ir::dim_size(7)}; },
     [](const Lists&) { return Doubles{7}; }},
    // one operand
    {Op::Cast, one,
     [](const Values& x) { return Values{ir::cast(ir::cast(x[0], DType::Float32), kWide)}; },
     MAP1(static_cast<float>(a)), "", -2, 2, 0},
    {Op::Bitcast, one, bitcast_case, MAP1(-a), "", -2, 2, 0},
    {Op::Neg, one, unary<Op::Neg>, MAP1(-a)},
    {Op::Abs, one, unary<Op::Abs>, MAP1(std::fabs(a)), "", 0.1, 2},
    {Op::Sign, one, unary<Op::Sign>, MAP1((a > 0) - (a < 0)), "", -2, 2, 0},
    {Op::Floor, one, unary<Op::Floor>, MAP1(std::floor(a)), "", -2, 2, 0},
    {Op::Round, one, unary<Op::Round>, MAP1(std::nearbyint(a)), "", -2, 2, 0},
    {Op::Exp, one, unary<Op::Exp>, MAP1(std::exp(a))},
    {Op::Expm1, one, unary<Op::Expm1>, MAP1(std::expm1(a))},
    {Op::Log, one, unary<Op::Log>, MAP1(std::log(a)), "", 0.3, 3},
    {Op::Log1p, one, unary<Op::Log1p>, MAP1(std::log1p(a)), "", -0.5, 3},
    {Op::Sqrt, one, unary<Op::Sqrt>, MAP1(std::sqrt(a)), "", 0.3, 3},
    {Op::Sin, one, unary<Op::Sin>, MAP1(std::sin(a))},
    {Op::Cos, one, unary<Op::Cos>, MAP1(std::cos(a))},
    {Op::Tanh, one, unary<Op::Tanh>, MAP1(std::tanh(a))},
    {Op::Sigmoid, one, unary<Op::Sigmoid>, MAP1(1 / (1 + std::exp(-a)))},
    {Op::Erf, one, unary<Op::Erf>, MAP1(erf_series(a))},
    {Op::Atan, one, unary<Op::Atan>, MAP1(angle_of(a))},
    {Op::Not, one,
     [](const Values& x) { return Values{ir::logical_not(ir::cast(x[0], DType::Bool))}; },
     MAP1(a == 0), "", -2, 2, 0},
    // two and three operands
    {Op::Add, two, binary<Op::Add>, MAP2(a + b)},
    {Op::Sub, two, binary<Op::Sub>, MAP2(a - b)},
    {Op::Mul, two, binary<Op::Mul>, MAP2(a * b)},
    {Op::Div, two, binary<Op::Div>, MAP2(a / b), "", 0.5, 2},
    {Op::Mod, two, binary<Op::Mod>, MAP2(std::fmod(a, b)), "", 0.5, 0.9, 0},
    {Op::Pow, two, binary<Op::Pow>, MAP2(std::pow(a, b)), "", 0.5, 2},
    {Op::Maximum, two, binary<Op::Maximum>, MAP2(std::fmax(a, b))},
    {Op::Minimum, two, binary<Op::Minimum>, MAP2(std::fmin(a, b))},
    {Op::Equal, two, binary<Op::Equal>, MAP2(a == b), "", -2, 2, 0},
    {Op::Less, two, binary<Op::Less>, MAP2(a < b), "", -2, 2, 0},
    {Op::LessEqual, two, binary<Op::LessEqual>, MAP2(a <= b), "", -2, 2, 0},
    {Op::And, two,
     [](const Values& x) {
       const Value zero = ir::zeros_like(x[0]);
       return Values{ir::binary(Op::And, ir::less(zero, x[0]), ir::less(zero, x[1]))};
     },
     MAP2(a > 0 && b > 0), "", -2, 2, 0},
    {Op::Or, two,
     [](const Values& x) {
       const Value zero = ir::zeros_like(x[0]);
       return Values{ir::binary(Op::Or, ir::less(zero, x[0]), ir::less(zero, x[1]))};
     },
     MAP2(a > 0 || b > 0), "", -2, 2, 0},
    {Op::BitAnd, two, of_integers<Op::BitAnd>, BITS(&), "", -2, 2, 0},
    {Op::BitOr, two, of_integers<Op::BitOr>, BITS(|), "", -2, 2, 0},
    {Op::BitXor, two, of_integers<Op::BitXor>, BITS(^), "", -2, 2, 0},
    {Op::Select, two,
     [](const Values& x) {
       return Values{ir::select(ir::less(x[0], x[1]), x[0] * x[0], ir::unary(Op::Sin, x[1]))};
     },
     MAP2(a < b ? a * a : std::sin(b))},
    // reductions
    {Op::Sum, one, reduce_rows<Op::Sum>, ROWS({std::accumulate(r.begin(), r.end(), 0.0)})},
    {Op::Prod, one, reduce_rows<Op::Prod>, ROWS({r[0] * r[1] * r[2]})},
    {Op::Max, one, reduce_rows<Op::Max>, ROWS({*std::max_element(r.begin(), r.end())})},
    {Op::Min, one, reduce_rows<Op::Min>, ROWS({*std::min_element(r.begin(), r.end())})},
    {Op::ArgMax, one, along_rows<Op::ArgMax>,
     ROWS({double(std::max_element(r.begin(), r.end()) - r.begin())}), "", -2, 2, 0},
    {Op::CumSum, one, along_rows<Op::CumSum>, ROWS(running(r, false))},
    {Op::CumProd, one, along_rows<Op::CumProd>, ROWS(running(r, true))},
    // movement
    {Op::Reshape, one, [](const Values& x) { return Values{ir::reshape(x[0], {3, 2})}; },
     MAP1(a)},
    {Op::Permute, one, [](const Values& x) { return Values{ir::permute(x[0], {1, 0})}; },
     [](const Lists& x) {
       const Doubles& a = x[0];
       return Doubles{a[0], a[3], a[1], a[4], a[2], a[5]};
     }},
    {Op::Broadcast, {f64({2, 1})},
     [](const Values& x) { return Values{ir::broadcast(x[0], {2, 2, 2}, {0, 2})}; },
     [](const Lists& x) {
       const double a = x[0][0], b = x[0][1];
       return Doubles{a, a, a, a, b, b, b, b};
     }},
    {Op::Slice, one,
     [](const Values& x) { return Values{ir::slice(x[0], {0, 0}, {2, 3}, {1, 2})}; },
     [](const Lists& x) { return Doubles{x[0][0], x[0][2], x[0][3], x[0][5]}; }},
    {Op::Pad, {f64({2}), f64({})},
     [](const Values& x) { return Values{ir::pad(x[0], x[1], {1}, {2}, {1})}; },
     [](const Lists& x) {
       const double v = x[1][0];
       return Doubles{v, x[0][0], v, x[0][1], v, v};
     }},
    {Op::Reverse, one, [](const Values& x) { return Values{ir::reverse(x[0], {1})}; },
     ROWS({r[2], r[1], r[0]})},
    {Op::Concat, two, [](const Values& x) { return Values{ir::concat({x[0], x[1]}, 0)}; },
     [](const Lists& x) {
       Doubles y = x[0];
       y.insert(y.end(), x[1].begin(), x[1].end());
       return y;
     }},
    // the rest
    {Op::Gather, {f64({3, 2}), f64({2})},
     [](const Values& x) { return Values{ir::gather(x[0], as_index(x[1]))}; },
     [](const Lists& x) {
       Doubles y;
       for (double raw : x[1]) {
         const auto row = static_cast<std::size_t>(std::floor(std::fabs(raw)));
         y.push_back(x[0][2 * row]);
         y.push_back(x[0][2 * row + 1]);
       }
       return y;
     }},
    {Op::ScatterAdd, {f64({3, 2}), f64({3})},
     [](const Values& x) { return Values{ir::scatter_add(as_index(x[1]), x[0], 0, 2)}; },
     [](const Lists& x) {
       Doubles y(4, 0.0);
       for (std::size_t i = 0; i < 3; ++i) {
         const auto row = static_cast<std::size_t>(std::floor(std::fabs(x[1][i])));
         y[2 * row] += x[0][2 * i];
         y[2 * row + 1] += x[0][2 * i + 1];
       }
       return y;
     },
     "", -1.9, 1.9},
    {Op::ScatterSub, {f64({2, 2}), f64({}), f64({3, 2}), f64({3})},
     [](const Values& x) { return Values{ir::scatter_sub(x[0], x[1], as_index(x[3]), x[2])}; },
     [](const Lists& x) {
       Doubles sums(4, 0.0), y;
       for (std::size_t i = 0; i < 6; ++i) {
         const auto row = static_cast<std::size_t>(std::floor(std::fabs(x[3][i / 2])));
         sums[2 * row + i % 2] += x[2][i];
       }
       for (std::size_t i = 0; i < 4; ++i) y.push_back(x[0][i] - x[1][0] * sums[i]);
       return y;
     },
     "", -1.9, 1.9},
    {Op::Dot, {f64({2, 2, 3}), f64({2, 3, 2})}, dot_case, dot_formula},
    {Op::Scan, {f64({2}), f64({3, 2}), f64({2})}, scan_case, scan_formula, "", -1, 1},
    {Op::While, {f64({2}), f64({2})}, while_case, while_formula, "", -2, 2, 0},
    {Op::Cond, {f64({3})}, cond_case,
     [](const Lists& x) {
       return map1(x, [&](double a) { return x[0][0] > 0 ? std::exp(a) * a : std::sin(a); });
     }},
    {Op::Identity, one, unary<Op::Identity>, MAP1(a)},
    {Op::StopGradient, one, unary<Op::StopGradient>, MAP1(a), "", -2, 2, 0},
    {Op::ScaleGradient, {f64({3}), f64({3})}, binary<Op::ScaleGradient>,
     [](const Lists& x) { return x[0]; }, "", -2, 2, 0},
    {Op::HostCall, {}, nullptr, nullptr, "tests/runtime: a call needs a host"},
    {Op::Softmax, one, along_rows<Op::Softmax>, ROWS(softmax(r))},
    {Op::LogSoftmax, one, along_rows<Op::LogSoftmax>, ROWS(log_of(softmax(r)))},
    {Op::Attention, {f64({2, 3, 2}), f64({2, 4, 2}), f64({2, 4, 3}), f64({}), f64({1, 3, 4})},
     attention_case, [](const Lists& x) { return attention_loops(x).forward().o; }},
    {Op::AttentionGradient,
     {f64({2, 3, 2}), f64({2, 4, 2}), f64({2, 4, 3}), f64({}), f64({2, 3, 3})},
     attention_gradient_case,
     [](const Lists& x) { return attention_gradient_loops(x).backward(x[4]).q; }, "", 0.5, 2},
    // windows; conv_test.cpp has more of them
    {Op::Window, {f64({5, 2})},
     [](const Values& x) { return Values{ir::window(x[0], {{0}, {2}, {2}, {2}, {2}})}; },
     [](const Lists& x) {
       const Doubles& a = x[0];
       return Doubles{a[0], a[4], a[1], a[5], a[4], a[8], a[5], a[9]};
     }},
    {Op::Fold, {f64({3, 2})},
     [](const Values& x) { return Values{ir::fold(x[0], {{0}, {6}, {1}, {2}})}; },
     [](const Lists& x) {
       const Doubles& a = x[0];
       return Doubles{a[0], a[2], a[1] + a[4], a[3], a[5], 0};
     }},
    {Op::Conv, {f64({1, 4, 2}), f64({2, 1, 2})}, conv_case, conv_formula},
    {Op::Require, {f64({3, 2})},
     [](const Values& x) {
       const ir::RequireAttrs attrs{
           .kind = ir::Guard::Kind::LessEqual, .left = 2, .right = 3, .message = "two"};
       return Values{ir::make(Op::Require, attrs, {x[0]})};
     },
     MAP1(a)},
    {Op::Variance, one, reduce_rows<Op::Variance>, ROWS({variance(r)})},
    {Op::ArgSort, one,
     [](const Values& x) { return Values{ir::make(Op::ArgSort, ir::SortAttrs{1, true}, x)}; },
     ROWS(descending_order(r)), "", -2, 2, 0},
    // of one rank; tests/distributed/collectives has groups
    {Op::Collective, one,
     [](const Values& x) { return Values{ir::make(Op::Collective, ir::CollectiveAttrs{}, x)}; },
     MAP1(a)},
  };
  static_assert(std::size(table) == ir::kOpCount, "tests/core/ops/cases.cpp: every op has one row");
  std::vector<Case> rows(std::begin(table), std::end(table));
  std::sort(rows.begin(), rows.end(), [](const Case& a, const Case& b) { return a.op < b.op; });
  return rows;
}

}  // namespace kiln::test
