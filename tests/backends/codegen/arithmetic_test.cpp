// Tests every scalar op and every cast, in every dtype, over all pairs of corner values: C++ text
// against the interpreter. Small dtypes also exhaustively against formulas written here.
#include "tests/support/catch.h"
#include "tests/backends/codegen/grid_emulation.h"
#include "tests/backends/codegen/make_kernel.h"

#include "backends/codegen/text/op_text.h"
#include "core/ops/convert.h"
#include "core/types/half.h"
#include "core/types/text.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Op;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Bytes of the dtype: these numbers after a cast, and subnormals where the dtype has some.
std::vector<std::vector<std::byte>> corners(DType dtype) {
  std::vector<std::vector<std::byte>> list;
  std::vector<double> numbers{0, 1, 2, 3, 7, 100};
  if (dtype == DType::Bool) numbers = {0, 1};
  if (is_float(dtype) || info(dtype).kind == DTypeKind::Signed) {
    for (double x : {-1.0, -2.0, -7.0, -1e300}) numbers.push_back(x);
  }
  numbers.push_back(1e300);
  if (is_float(dtype)) {
    for (double x : {kNan, kInfinity, -kInfinity, -0.0, 0.5, -0.5, 1.5, 2.5, 0.1, -0.1, 88.5, 254.9,
                     65519.0, 3e9, -3e9, 1e19}) {
      numbers.push_back(x);
    }
  }
  for (double x : numbers) list.push_back(ir::scalar_bytes(dtype, x));
  if (!is_float(dtype)) return list;
  for (const bool negative : {false, true}) {
    std::vector<std::byte> smallest(dtype_bytes(dtype));
    smallest[0] = std::byte{3};
    if (negative) smallest.back() = std::byte{0x80};
    list.push_back(smallest);
  }
  return list;
}

/// All pairs: the first of each, the second of each.
std::pair<Memory, Memory> pairs(DType dtype) {
  std::pair<Memory, Memory> operands;
  const auto list = corners(dtype);
  for (const auto& x : list) {
    for (const auto& y : list) {
      operands.first.bytes.insert(operands.first.bytes.end(), x.begin(), x.end());
      operands.second.bytes.insert(operands.second.bytes.end(), y.begin(), y.end());
    }
  }
  return operands;
}

std::vector<double> wide(DType dtype, const Memory& memory) {
  const auto count = static_cast<std::int64_t>(memory.bytes.size() / dtype_bytes(dtype));
  std::vector<double> list(static_cast<std::size_t>(count));
  ir::convert_elements(dtype, memory.bytes.data(), DType::Float64,
                       reinterpret_cast<std::byte*>(list.data()), count);
  return list;
}

/// The largest relative difference of the machine's math functions from those of float64, rounded.
double tolerance(Op op, DType dtype) {
  constexpr Op kNear[] = {Op::Exp,  Op::Expm1,   Op::Log, Op::Log1p, Op::Sin, Op::Cos,
                          Op::Tanh, Op::Sigmoid, Op::Erf, Op::Atan,  Op::Pow};
  if (!is_float(dtype) || std::find(std::begin(kNear), std::end(kNear), op) == std::end(kNear)) {
    return 0;
  }
  return dtype == DType::Float64   ? 1e-15
         : dtype == DType::Float32 ? 2.5e-7
         : dtype == DType::Float16 ? 0x1p-10
                                   : 0x1p-7;
}

/// The first element that differs; empty when none does.
std::string difference(DType dtype, const Memory& a, const Memory& b, double relative) {
  if (!is_float(dtype)) return a == b ? "" : "an element";
  const std::vector<double> x = wide(dtype, a), y = wide(dtype, b);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i]) && std::isnan(y[i])) continue;
    if (x[i] == y[i] && std::signbit(x[i]) == std::signbit(y[i])) continue;
    if (x[i] != y[i] && std::fabs(x[i] - y[i]) <= relative * std::fabs(y[i])) continue;
    return text("element ", i, ": ", x[i], " and ", y[i]);
  }
  return "";
}

bool takes(const ir::OpDef& d, DType dtype) {
  return d.op == Op::Select || (d.dtypes & ir::dtype_bit(dtype)) != 0;
}

struct Results {
  Kernel kernel;
  KernelCall call;
  std::vector<Op> ops;  // of each result
  std::vector<DType> dtypes;
};

/// Every op on one dtype: operands 0 and 1 are the pairs, then one result per op.
Results every_op(DType dtype) {
  const auto [x, y] = pairs(dtype);
  const auto count = static_cast<std::int64_t>(x.bytes.size() / dtype_bytes(dtype));
  KernelMaker k(text("ops_of_", dtype_name(dtype)), {count}, 1);
  const AccessId from_x = k.access(k.input(dtype), {1}), from_y = k.access(k.input(dtype), {1});
  const std::vector<ExpressionId> loads{k.load(from_x), k.load(from_y)};
  const ExpressionId less = dtype == DType::Bool ? loads[0] : k.apply(Op::Less, loads);
  Results results{{}, {{x, y}, {}, 0, count}, {}, {}};
  std::vector<Store> stores;
  for (const OpText& row : op_texts()) {
    const ir::OpDef& d = ir::def(row.op);
    if (!takes(d, dtype)) continue;
    std::vector<ExpressionId> arguments = loads;
    if (d.arity == 1) arguments.pop_back();
    if (d.arity == 3) arguments.insert(arguments.begin(), less);
    const ExpressionId value = k.apply(row.op, arguments);
    const DType result = k.kernel.expressions[value].dtype;
    stores.push_back({k.access(k.output(result), {1}), value});
    results.call.operands.push_back(
        {std::vector<std::byte>(static_cast<std::size_t>(count) * dtype_bytes(result))});
    results.ops.push_back(row.op);
    results.dtypes.push_back(result);
  }
  k.map(stores);
  results.kernel = k.kernel;
  return results;
}

/// Every cast of one dtype.
Results every_cast(DType dtype) {
  const Memory x = pairs(dtype).first;
  const auto count = static_cast<std::int64_t>(x.bytes.size() / dtype_bytes(dtype));
  KernelMaker k(text("casts_of_", dtype_name(dtype)), {count}, 1);
  const ExpressionId value = k.load(k.access(k.input(dtype), {1}));
  Results results{{}, {{x}, {}, 0, count}, {}, {}};
  std::vector<Store> stores;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto to = static_cast<DType>(i);
    if (to == dtype) continue;
    stores.push_back({k.access(k.output(to), {1}), k.convert(to, value)});
    results.call.operands.push_back(
        {std::vector<std::byte>(static_cast<std::size_t>(count) * dtype_bytes(to))});
    results.ops.push_back(Op::Cast);
    results.dtypes.push_back(to);
  }
  k.map(stores);
  results.kernel = k.kernel;
  return results;
}

/// A bitcast to every dtype of the same size, a cast to others; and to halves and from them, of
/// which registers have the arithmetic value.
Results every_bitcast(DType dtype) {
  Results results = every_cast(dtype);
  for (Expression& e : results.kernel.expressions) {
    if (e.kind != ExpressionKind::Convert || dtype_bytes(e.dtype) != dtype_bytes(dtype)) continue;
    const bool is_half = dtype_bytes(dtype) == 2 && (is_float(dtype) || is_float(e.dtype));
    const bool is_bool = dtype == DType::Bool || e.dtype == DType::Bool;
    if (!is_half && !is_bool) e.kind = ExpressionKind::Bitcast;
  }
  return results;
}

void check_agreement(Results (*make)(DType)) {
  std::vector<Results> all;
  std::vector<Kernel> kernels;
  std::vector<KernelCall> calls;
  for (int i = 0; i < kDTypeCount; ++i) {
    all.push_back(make(static_cast<DType>(i)));
    kernels.push_back(all.back().kernel);
    calls.push_back(all.back().call);
  }
  const std::vector<KernelOutcome> written = run_as_text(kernels, calls);
  const std::vector<KernelOutcome> grid = run_as_grid(kernels, calls, ThreadOrder::Ascending);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const KernelOutcome interpreted = run_interpreted(kernels[i], calls[i]);
    check_equal(grid[i], written[i]);
    check_equal(run_as_parsed_grid(kernels[i], calls[i], ThreadOrder::Descending), interpreted);
    const auto operands = static_cast<DType>(i);
    const std::size_t inputs = calls[i].operands.size() - all[i].ops.size();
    for (std::size_t r = 0; r < all[i].ops.size(); ++r) {
      INFO(kernels[i].name << ": " << ir::def(all[i].ops[r]).name << " to "
                           << dtype_name(all[i].dtypes[r]));
      CHECK(difference(all[i].dtypes[r], written[i].operands[inputs + r],
                       interpreted.operands[inputs + r], tolerance(all[i].ops[r], operands)) == "");
    }
  }
}

}  // namespace

TEST_CASE("scalar text: every op with a scalar meaning has one, for the dtypes that it takes") {
  std::size_t count = 0;
  for (const ir::OpDef& d : ir::all_ops()) {
    const bool scalar = d.scalar.floating || d.scalar.signed_integer || d.scalar.unsigned_integer;
    const OpText* row = find_op_text(d.op);
    INFO(d.name);
    CHECK((row != nullptr) == scalar);
    if (!row) continue;
    ++count;
    const bool integral =
        d.scalar.signed_integer != nullptr || d.scalar.unsigned_integer != nullptr;
    CHECK((row->integral != nullptr) == integral);
  }
  CHECK(count == op_texts().size());
}

TEST_CASE("scalar text: ops agree on corner values") { check_agreement(every_op); }

TEST_CASE("scalar text: casts agree on corner values") { check_agreement(every_cast); }

TEST_CASE("scalar text: bitcasts agree on corner values") { check_agreement(every_bitcast); }

TEST_CASE("scalar text: all pairs of int8 wrap, truncate and divide by zero by the rules") {
  std::vector<std::int8_t> xs, ys;
  for (int x = -128; x < 128; ++x) {
    for (int y = -128; y < 128; ++y) {
      xs.push_back(static_cast<std::int8_t>(x));
      ys.push_back(static_cast<std::int8_t>(y));
    }
  }
  const auto count = static_cast<std::int64_t>(xs.size());
  KernelMaker k("bytes", {count}, 1);
  const ExpressionId x = k.load(k.access(k.input(DType::Int8), {1}));
  const ExpressionId y = k.load(k.access(k.input(DType::Int8), {1}));
  std::vector<Store> stores;
  KernelCall call{{memory(xs), memory(ys)}, {}, 0, count};
  for (Op op : {Op::Add, Op::Mul, Op::Div, Op::Mod, Op::Maximum}) {
    stores.push_back({k.access(k.output(DType::Int8), {1}), k.apply(op, {x, y})});
    call.operands.push_back({std::vector<std::byte>(xs.size())});
  }
  k.map(stores);
  const KernelOutcome outcome = run_all_ways(k.kernel, call);
  std::vector<std::vector<std::int8_t>> expected(5);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const int a = xs[i], b = ys[i];
    const int values[] = {a + b, a * b, b == 0 ? 0 : a / b, b == 0 ? 0 : a % b, a > b ? a : b};
    for (std::size_t op = 0; op < 5; ++op) {
      expected[op].push_back(static_cast<std::int8_t>(values[op] & 255));
    }
  }
  for (std::size_t op = 0; op < 5; ++op) {
    INFO("op " << op);
    CHECK((elements<std::int8_t>(outcome.operands[2 + op]) == expected[op]));
  }
}

TEST_CASE("scalar text: every half survives a cast to float32 and back") {
  using Halves = std::vector<std::uint16_t>;
  Halves halves;
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    halves.push_back(static_cast<std::uint16_t>(bits));
  }
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    KernelMaker k("halves", {0x10000}, 1);
    const AccessId from = k.access(k.input(dtype), {1}), to = k.access(k.output(dtype), {1});
    k.map({{to, k.convert(dtype, k.convert(DType::Float32, k.load(from)))}});
    const KernelCall call{{memory(halves), memory(Halves(halves.size()))}, {}, 0, 0x10000};
    const KernelOutcome interpreted = run_interpreted(k.kernel, call);
    const KernelOutcome written = run_as_text({k.kernel}, {call})[0];
    CHECK(difference(dtype, written.operands[1], interpreted.operands[1], 0) == "");
    const Halves back = elements<std::uint16_t>(written.operands[1]);
    int wrong = 0;
    for (std::size_t i = 0; i < halves.size(); ++i) {
      const float value =
          dtype == DType::Float16 ? float16_to_float(halves[i]) : bfloat16_to_float(halves[i]);
      const bool subnormal = value != 0 && std::fabs(value) < std::numeric_limits<float>::min();
      // A subnormal bfloat16 counts as zero; a subnormal float16 is a normal float32.
      const auto expected = static_cast<std::uint16_t>(subnormal ? halves[i] & 0x8000 : halves[i]);
      wrong += !std::isnan(value) && back[i] != expected;
    }
    CHECK(wrong == 0);
  }
}
