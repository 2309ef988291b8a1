// Tests emitted loops: every length around whole vectors, lanes along inner and outer axes, every
// combiner and dtype. The memory behind the results is checked, too.
#include "tests/support/catch.h"
#include "tests/backends/cpu_llvm/emitted.h"

#include <cmath>
#include <limits>
#include <utility>

using namespace cpu_llvm_test;
using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Dim;
using ir::Op;

namespace {

constexpr int kMaxLength = 2 * 16 + 1;  // two of the widest vectors of floats, and one more
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Op sum_of(DType dtype) { return dtype == DType::Bool ? Op::Or : Op::Add; }

/// Operands for a reduction of that dtype, whose sums and products are exact.
std::vector<double> operands_of(Combiner combiner, DType dtype, std::size_t count) {
  std::vector<double> values = whole_numbers(count, combiner == Combiner::Prod ? 0 : -9, 9);
  if (combiner == Combiner::Prod) {
    for (std::size_t i = 0; i < count; ++i) values[i] = i % 13 == 5 ? 2 : values[i] < 4 ? -1 : 1;
  }
  const bool compares = combiner != Combiner::Sum && combiner != Combiner::Prod;
  if (compares && is_float(dtype)) {
    for (std::size_t i = 0; i < count; i += 97) values[i] = kNan;
  }
  return values;
}

/// y[i] = combined over j of x[i, j] when `inner` has the lanes, else of x[j, i]. With `copied` the
/// stage that reduces also stores x to a third operand.
Kernel reduction(Combiner combiner, DType dtype, const Dim& rows, const Dim& columns, bool inner,
                 bool copied = false) {
  KernelMaker k("reduction", {inner ? rows : columns, inner ? columns : rows}, 1);
  const OperandId x = k.input(dtype);
  const AccessId at = inner ? k.access(x, {columns, 1}) : k.access(x, {1, columns});
  const ExpressionId value = k.load(at);
  const OperandId y = k.output(combiner == Combiner::ArgMax ? DType::Int64 : dtype);
  std::vector<Store> stores;
  if (copied) {
    const OperandId copy = k.output(dtype);
    const AccessId to = inner ? k.access(copy, {columns, 1}) : k.access(copy, {1, columns});
    stores.push_back({to, value, false});
  }
  const StageId stage = k.reduce(combiner, value, stores);
  k.map({{k.access(y, {1, 0}, 1), k.result(stage)}}, false);
  k.kernel.vector_axis = inner ? 1 : 0;
  return k.kernel;
}

KernelCall reduction_call(Combiner combiner, DType dtype, std::int64_t rows, std::int64_t columns,
                          bool inner, bool copied = false) {
  const std::int64_t points = inner ? rows : columns;
  const DType result = combiner == Combiner::ArgMax ? DType::Int64 : dtype;
  const auto count = static_cast<std::size_t>(rows * columns);
  const auto results = static_cast<std::size_t>(points + 4);
  KernelCall call{{filled(dtype, operands_of(combiner, dtype, count)),
                   filled(result, std::vector<double>(results, 1))},
                  {},
                  0,
                  points};
  if (copied) call.operands.push_back(filled(dtype, std::vector<double>(count, 1)));
  return call;
}

bool combines(Combiner combiner, DType dtype) {
  const bool arithmetic = combiner == Combiner::Sum || combiner == Combiner::Prod;
  if (dtype == DType::Bool) return !arithmetic;
  return dtype != DType::Float16 && dtype != DType::BFloat16;
}

constexpr Combiner kCombiners[] = {Combiner::Sum, Combiner::Prod, Combiner::Max, Combiner::Min,
                                   Combiner::ArgMax};

}  // namespace

TEST_CASE("emitted: a map writes its part of axis 0 and nothing else, at every length") {
  std::vector<EmitCase> cases;
  for (const DType dtype : every_dtype()) {
    const Dim n = Dim::fresh("n");
    KernelMaker k("map", {n}, 1);
    const OperandId x = k.input(dtype), y = k.output(dtype);
    const ExpressionId value = k.load(k.access(x, {1}, 1));
    k.map({{k.access(y, {1}, 2), k.apply(sum_of(dtype), {value, value})}});
    k.kernel.vector_axis = 0;
    EmitCase one{k.kernel, {}};
    for (int begin : {0, 1, 7}) {
      for (int length = 0; length <= kMaxLength; ++length) {
        const auto all = static_cast<std::size_t>(begin + length + 20);
        one.calls.push_back({{filled(dtype, whole_numbers(all, -50, 50)),
                              filled(dtype, std::vector<double>(all, 1))},
                             {begin + length},
                             begin,
                             begin + length});
      }
    }
    cases.push_back(one);
  }
  check_emitted(cases);
}

TEST_CASE("emitted: rows of every static length; values shared by a row or column load once") {
  std::vector<EmitCase> cases;
  for (int length = 1; length <= kMaxLength; ++length) {
    KernelMaker k("rows", {3, length}, 2);
    const OperandId x = k.input(DType::Float32), row = k.input(DType::Float32);
    const OperandId column = k.input(DType::Float32), y = k.output(DType::Float32);
    const ExpressionId product =
        k.apply(Op::Mul, {k.load(k.access(x, {length, 1})), k.load(k.access(row, {1, 0}))});
    const ExpressionId sum = k.apply(Op::Sub, {product, k.load(k.access(column, {0, 1}))});
    k.map({{k.access(y, {length, 1}), sum}});
    k.kernel.vector_axis = 1;
    const auto all = static_cast<std::size_t>(3 * length);
    const KernelCall call{
        {filled(DType::Float32, whole_numbers(all, -9, 9)), filled(DType::Float32, {2, 3, 5}),
         filled(DType::Float32, whole_numbers(all, -9, 9)),
         filled(DType::Float32, std::vector<double>(all + 20, 1))},
        {},
        0,
        3};
    KernelCall part = call;
    part.begin = 1;
    part.end = 2;
    cases.push_back({k.kernel, {call, part}});
  }
  check_emitted(cases);
}

TEST_CASE("emitted: every combiner and dtype, lanes along and across, sizes known at the call") {
  std::vector<EmitCase> cases;
  for (const Combiner combiner : kCombiners) {
    for (const DType dtype : every_dtype()) {
      if (!combines(combiner, dtype)) continue;
      for (const bool inner : {true, false}) {
        const Dim rows = Dim::fresh("rows"), columns = Dim::fresh("columns");
        EmitCase one{reduction(combiner, dtype, rows, columns, inner), {}};
        for (const std::int64_t n : {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 65, 130}) {
          KernelCall call = reduction_call(combiner, dtype, 4, n, inner);
          call.sizes = {4, n};
          if (one.kernel.sizes[0] != rows) call.sizes = {n, 4};
          one.calls.push_back(std::move(call));
        }
        cases.push_back(std::move(one));
      }
    }
  }
  check_emitted(cases);
}

TEST_CASE("emitted: reductions of static lengths use several vectors at a time") {
  std::vector<EmitCase> cases;
  for (const Combiner combiner : {Combiner::Sum, Combiner::Max, Combiner::ArgMax}) {
    for (const int n : {1, 5, 16, 31, 32, 33, 64, 65, 127, 128, 129, 200}) {
      for (const bool inner : {true, false}) {
        cases.push_back({reduction(combiner, DType::Float32, 3, n, inner),
                         {reduction_call(combiner, DType::Float32, 3, n, inner)}});
      }
    }
  }
  check_emitted(cases);
}

TEST_CASE("emitted: a reduction by any combiner also stores values") {
  std::vector<EmitCase> cases;
  for (const Combiner combiner : kCombiners) {
    for (const int n : {1, 5, 16, 33, 70}) {
      for (const bool inner : {true, false}) {
        cases.push_back({reduction(combiner, DType::Float32, 3, n, inner, true),
                         {reduction_call(combiner, DType::Float32, 3, n, inner, true)}});
      }
    }
  }
  check_emitted(cases);
}

TEST_CASE("emitted: two inner axes, a sum of products, and a stage that reads it") {
  std::vector<EmitCase> cases;
  for (const int n : {1, 7, 16, 35}) {
    for (const DType dtype : {DType::Float32, DType::Float64, DType::Int32}) {
      KernelMaker k("normalised", {2, 3, n}, 1);
      const OperandId x = k.input(dtype), w = k.input(dtype), y = k.output(dtype);
      const ExpressionId value = k.load(k.access(x, {3 * n, n, 1}));
      const ExpressionId weight = k.load(k.access(w, {0, 0, 1}));
      const StageId sum = k.reduce(Combiner::Sum, k.apply(Op::Mul, {value, weight}));
      const StageId low = k.reduce(Combiner::Min, value);
      const ExpressionId shifted = k.apply(Op::Sub, {value, k.result(low)});
      k.map({{k.access(y, {3 * n, n, 1}), k.apply(Op::Add, {shifted, k.result(sum)})}});
      k.kernel.vector_axis = 2;
      const auto all = static_cast<std::size_t>(6 * n);
      cases.push_back(
          {k.kernel,
           {{{filled(dtype, whole_numbers(all, -9, 9)), filled(dtype, whole_numbers(all, -9, 9)),
              filled(dtype, std::vector<double>(all + 20, 1))},
             {},
             0,
             2}}});
    }
  }
  check_emitted(cases);
}

TEST_CASE("emitted: running sums and products, one at a time or a lane per outer point") {
  std::vector<EmitCase> cases;
  for (const Combiner combiner : {Combiner::Sum, Combiner::Prod}) {
    for (const DType dtype : {DType::Float32, DType::Float64, DType::Int8, DType::UInt32}) {
      for (const int lanes : {-1, 0, 1}) {
        const int n = 21, steps = 6;
        KernelMaker k("running", {n, steps}, 1);
        const OperandId x = k.input(dtype), y = k.output(dtype);
        const StageId stage = k.running(combiner, k.load(k.access(x, {1, n})), {});
        k.kernel.stages.back().stores.push_back({k.access(y, {1, n}), k.result(stage)});
        k.kernel.vector_axis = lanes;
        const auto all = static_cast<std::size_t>(n * steps);
        const KernelCall call{{filled(dtype, operands_of(combiner, dtype, all)),
                               filled(dtype, std::vector<double>(all + 20, 1))},
                              {},
                              0,
                              n};
        cases.push_back({k.kernel, {call}});
      }
    }
  }
  check_emitted(cases);
}

TEST_CASE("emitted: running values within vectors, rows of every length around them") {
  std::vector<EmitCase> cases;
  for (const Combiner combiner : {Combiner::Sum, Combiner::Prod, Combiner::Max, Combiner::Min}) {
    for (const DType dtype : every_dtype()) {
      if (!combines(combiner, dtype)) continue;
      const Dim n = Dim::fresh("n");
      KernelMaker k("running", {3, n}, 1);
      const OperandId x = k.input(dtype), y = k.output(dtype), z = k.output(dtype);
      const ExpressionId value = k.load(k.access(x, {n, 1}));
      const StageId stage = k.running(combiner, value, {});
      const ExpressionId more = k.apply(sum_of(dtype), {k.result(stage), value});
      k.kernel.stages.back().stores = {{k.access(y, {n, 1}), k.result(stage)},
                                       {k.access(z, {n, 1}), more}};
      k.kernel.vector_axis = 1;
      EmitCase one{k.kernel, {}};
      for (int length = 1; length <= kMaxLength + 16; ++length) {
        const auto all = static_cast<std::size_t>(3 * length);
        const Memory results = filled(dtype, std::vector<double>(all + 20, 1));
        one.calls.push_back(
            {{filled(dtype, operands_of(combiner, dtype, all)), results, results}, {length}, 0, 3});
      }
      cases.push_back(one);
    }
  }
  check_emitted(cases);
}

TEST_CASE("emitted: running values continue from row to row of two inner axes") {
  std::vector<EmitCase> cases;
  for (const int columns : {1, 16, 37}) {
    const int rows = 3;
    KernelMaker k("running", {2, rows, columns}, 1);
    const OperandId x = k.input(DType::Float32), y = k.output(DType::Float32);
    const std::vector<Dim> strides{rows * columns, columns, 1};
    const ExpressionId one =
        k.number(DType::Float32, 1);  // so that lanes beyond the rows are not 0
    const ExpressionId value = k.apply(Op::Add, {k.load(k.access(x, strides)), one});
    const StageId stage = k.running(Combiner::Sum, value, {});
    k.kernel.stages.back().stores.push_back({k.access(y, strides), k.result(stage)});
    k.kernel.vector_axis = 2;
    const auto all = static_cast<std::size_t>(2 * rows * columns);
    cases.push_back({k.kernel,
                     {{{filled(DType::Float32, whole_numbers(all, -9, 9)),
                        filled(DType::Float32, std::vector<double>(all + 20, 1))},
                       {},
                       0,
                       2}}});
  }
  check_emitted(cases);
}

TEST_CASE("emitted: argmax of lowest values is the first, of late NaN the first NaN") {
  constexpr double kLow = -std::numeric_limits<double>::infinity();
  std::vector<EmitCase> cases;
  for (const DType dtype : {DType::Float32, DType::Float64, DType::Int8, DType::UInt64}) {
    for (const int n : {1, 20, 70, 131}) {
      for (const bool inner : {true, false}) {
        std::vector<double> values;
        for (int row = 0; row < 3; ++row) {
          for (int i = 0; i < n; ++i) {
            const bool late = row == 1 && i >= n - 2;
            values.push_back(late ? kNan : row == 2 && i == n / 2 ? 1 : kLow);
          }
        }
        EmitCase one{reduction(Combiner::ArgMax, dtype, 3, n, inner),
                     {reduction_call(Combiner::ArgMax, dtype, 3, n, inner)}};
        one.calls[0].operands[0] = filled(dtype, values);
        cases.push_back(one);
      }
    }
  }
  check_emitted(cases);
}

TEST_CASE("emitted: maxima and minima with a zero of the other sign, or NaN, at every index") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr std::pair<double, double> kPairs[] = {
      {-0.0, 0.0},           {0.0, -0.0},       {-3, kNan}, {3, kNan}, {-kInfinity, kNan},
      {kInfinity, kNan},     {kNan, kInfinity}, {-5, -0.0}, {5, 0.0},  {-kInfinity, -kInfinity},
      {kInfinity, kInfinity}};
  std::vector<EmitCase> cases;
  for (const Combiner combiner : {Combiner::Max, Combiner::Min}) {
    for (const DType dtype : {DType::Float32, DType::Float64}) {
      for (const int n : {1, 7, 33, 70, 131}) {
        for (const bool inner : {true, false}) {
          EmitCase one{reduction(combiner, dtype, n, n, inner), {}};
          for (const auto& [common, other] : kPairs) {
            KernelCall call = reduction_call(combiner, dtype, n, n, inner);
            std::vector<double> values(static_cast<std::size_t>(n) * static_cast<std::size_t>(n),
                                       common);
            for (std::size_t i = 0; i < values.size(); i += static_cast<std::size_t>(n) + 1) {
              values[i] = other;
            }
            call.operands[0] = filled(dtype, values);
            one.calls.push_back(call);
          }
          cases.push_back(one);
        }
      }
    }
  }
  check_emitted(cases);
}

TEST_CASE("emitted: NaN in lanes beyond the end of a row does not reach its maximum") {
  std::vector<EmitCase> cases;
  for (const Combiner combiner : {Combiner::Max, Combiner::Min}) {
    for (const int n : {3, 20, 70, 131}) {
      KernelMaker k("quotients", {2, n}, 1);
      const ExpressionId x = k.load(k.access(k.input(DType::Float32), {n, 1}));
      const StageId stage = k.reduce(combiner, k.apply(Op::Div, {x, x}));  // 0 / 0 beyond the end
      k.map({{k.access(k.output(DType::Float32), {1, 0}), k.result(stage)}}, false);
      k.kernel.vector_axis = 1;
      const std::vector<double> values(static_cast<std::size_t>(2 * n), 2);
      cases.push_back(
          {k.kernel,
           {{{filled(DType::Float32, values), filled(DType::Float32, {0, 0})}, {}, 0, 2}}});
    }
  }
  check_emitted(cases);
}

TEST_CASE("emitted: softmax whose results are quotients of small numbers, NaN and infinities") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<EmitCase> cases;
  for (const bool reloads : {false, true}) {
    for (const int n : {1, 7, 33, 70, 131}) {
      KernelMaker k("softmax", {n + 4, n}, 1);
      const ExpressionId x = k.load(k.access(k.input(DType::Float32), {n, 1}));
      const AccessId to = k.access(k.output(DType::Float32, reloads), {n, 1});
      const StageId maximum = k.reduce(Combiner::Max, x);
      const ExpressionId share = k.apply(Op::Exp, {k.apply(Op::Sub, {x, k.result(maximum)})});
      std::vector<Store> kept;
      if (reloads) kept.push_back({to, share, false});
      const StageId sum = k.reduce(Combiner::Sum, share, kept);
      const ExpressionId dividend = reloads ? k.load(to) : share;
      k.map({{to, k.apply(Op::Div, {dividend, k.result(sum)})}});
      k.kernel.vector_axis = 1;
      std::vector<double> values;  // row i: i + 1 equal maxima, all others underflow
      for (int row = 0; row < n; ++row) {
        for (int i = 0; i < n; ++i) values.push_back(i <= row ? 3 : i % 2 ? -kInfinity : -200);
      }
      for (const double special : {kNan, kInfinity, -kInfinity, -0.0}) {
        values.insert(values.end(), static_cast<std::size_t>(n), special);
      }
      const Memory out = filled(DType::Float32, std::vector<double>(values.size(), 9));
      cases.push_back({k.kernel, {{{filled(DType::Float32, values), out}, {}, 0, n + 4}}});
    }
  }
  check_emitted(cases);
}

TEST_CASE("emitted: softmax and log-softmax of rows with a NaN, an infinity, or both zeros") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<EmitCase> cases;
  for (const int n : {1, 7, 33, 70, 131}) {
    std::vector<double> values;  // exp(x - maximum) is 0, 1 or NaN
    const auto add_row = [&](double first, double second) {
      for (int i = 0; i < n; ++i) values.push_back(i % 3 == 0 ? first : i % 3 == 1 ? second : -200);
      return values.end() - n;
    };
    for (const int place : {0, n / 2, n - 1}) {
      for (const double special : {kNan, kInfinity}) add_row(3, -200)[place] = special;
    }
    add_row(0.0, -0.0);
    add_row(-0.0, 0.0);
    const int rows = static_cast<int>(values.size()) / n;
    for (const char* form : {"quotient", "product", "logarithm"}) {
      KernelMaker k(form, {rows, n}, 1);
      const ExpressionId x = k.load(k.access(k.input(DType::Float32), {n, 1}));
      const AccessId to = k.access(k.output(DType::Float32), {n, 1});
      const ExpressionId less = k.apply(Op::Sub, {x, k.result(k.reduce(Combiner::Max, x))});
      const ExpressionId share = k.apply(Op::Exp, {less});
      const ExpressionId sum = k.result(k.reduce(Combiner::Sum, share));
      const ExpressionId one = k.number(DType::Float32, 1);
      const bool is_logarithm = form == std::string("logarithm");
      const ExpressionId y = is_logarithm ? k.apply(Op::Sub, {less, k.apply(Op::Log, {sum})})
                             : form == std::string("quotient")
                                 ? k.apply(Op::Div, {share, sum})
                                 : k.apply(Op::Mul, {share, k.apply(Op::Div, {one, sum})});
      k.map({{to, y}});
      k.kernel.vector_axis = 1;
      const Memory out = filled(DType::Float32, std::vector<double>(values.size(), 9));
      cases.push_back({k.kernel,
                       {{{filled(DType::Float32, values), out}, {}, 0, rows}},
                       /*units=*/is_logarithm ? 4 : 0});
    }
  }
  check_emitted(cases);
}
