// Tests emitted accesses: strides, gathers, scatters, indices out of range, in-place
// results, random numbers.
#include "tests/support/catch.h"
#include "tests/backends/cpu_llvm/emitted.h"

using namespace cpu_llvm_test;
using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Dim;
using ir::Op;

namespace {

Memory zeros(DType dtype, std::size_t count) {
  return {std::vector<std::byte>(count * dtype_bytes(dtype))};
}

/// y[i, j] = table[rows[i], j] or, `across`, table[j, rows[i]]: one index per row of results; with
/// `along`, y[i] = table[rows[i]], where lanes have indices of their own.
EmitCase gather(DType dtype, DType index, int columns, bool across, const std::vector<double>& rows,
                int limit) {
  const auto count = static_cast<int>(rows.size());
  KernelMaker k("gather", {count, columns}, 2);
  const OperandId table = k.input(dtype), at = k.input(index), y = k.output(dtype);
  const ExpressionId row = k.load(k.access(at, {1, 0}));
  const AccessId from = across ? k.access_at(table, {0, limit}, row, 1, limit)
                               : k.access_at(table, {0, 1}, row, columns, limit);
  k.map({{k.access(y, {columns, 1}), k.load(from)}});
  k.kernel.vector_axis = 1;
  const auto cells = static_cast<std::size_t>(limit * columns);
  return {k.kernel,
          {{{filled(dtype, whole_numbers(cells, 0, 99)), filled(index, rows),
             zeros(dtype, static_cast<std::size_t>(count * columns) + 9)},
            {},
            0,
            count}}};
}

EmitCase gather_along(DType dtype, DType index, const std::vector<double>& rows, int limit) {
  const auto count = static_cast<int>(rows.size());
  KernelMaker k("gather_along", {count}, 1);
  const OperandId table = k.input(dtype), at = k.input(index), y = k.output(dtype);
  const ExpressionId row = k.load(k.access(at, {1}));
  k.map({{k.access(y, {1}), k.load(k.access_at(table, {0}, row, 3, limit))}});
  k.kernel.vector_axis = 0;
  return {k.kernel,
          {{{filled(dtype, whole_numbers(static_cast<std::size_t>(3 * limit), 0, 99)),
             filled(index, rows), zeros(dtype, rows.size() + 9)},
            {},
            0,
            count}}};
}

/// y[i, rows[j]] += x[i, j]: lanes along i add to different elements, lanes along j may collide.
EmitCase scatter(DType dtype, DType index, int lanes, const std::vector<double>& rows, int limit) {
  const int outer = 19;
  const auto count = static_cast<int>(rows.size());
  KernelMaker k("scatter", {outer, count}, 1);
  const OperandId at = k.input(index), x = k.input(dtype), y = k.output(dtype, true);
  const ExpressionId row = k.load(k.access(at, {0, 1}));
  const ExpressionId value = k.load(k.access(x, {1, outer}));
  k.map({{k.access_at(y, {1, 0}, row, outer, limit), value, true}});
  k.kernel.vector_axis = lanes;
  const auto all = static_cast<std::size_t>(outer * count);
  const auto results = static_cast<std::size_t>(outer * limit + 9);
  return {k.kernel,
          {{{filled(index, rows), filled(dtype, whole_numbers(all, 0, 40)),
             filled(dtype, std::vector<double>(results, 7))},
            {},
            0,
            outer}}};
}

}  // namespace

TEST_CASE("emitted: lanes with any stride, forwards and backwards, of any dtype") {
  std::vector<EmitCase> cases;
  for (const DType dtype : every_dtype()) {
    for (const int stride : {-1, 2, -3, 7}) {
      const int count = 37, first = stride < 0 ? -stride * (count - 1) : 0;
      KernelMaker k("strided", {count}, 1);
      const OperandId x = k.input(dtype), y = k.output(dtype);
      const ExpressionId value = k.load(k.access(x, {stride}, first));
      k.map({{k.access(y, {stride}, first + 1), value}});
      k.kernel.vector_axis = 0;
      const auto all = static_cast<std::size_t>(count * 7 + 2);
      const KernelCall call{
          {filled(dtype, whole_numbers(all, -99, 99)), filled(dtype, std::vector<double>(all, 1))},
          {},
          2,
          36};
      cases.push_back({k.kernel, {call}});
    }
  }
  check_emitted(cases);
}

TEST_CASE("emitted: strides that are known at the call") {
  const Dim rows = Dim::fresh("rows"), columns = Dim::fresh("columns");
  KernelMaker k("transposed", {rows, columns}, 2);
  const OperandId x = k.input(DType::Float32), y = k.output(DType::Float32);
  const ExpressionId value = k.load(k.access(x, {1, rows}));
  const ExpressionId shift =
      k.convert(DType::Float32, k.apply(Op::Mul, {k.axis(1), k.size(columns)}));
  k.map({{k.access(y, {columns, 1}), k.apply(Op::Add, {value, shift})}});
  k.kernel.vector_axis = 1;
  EmitCase one{k.kernel, {}};
  for (const std::int64_t n : {1, 5, 16, 23}) {
    KernelCall call{{filled(DType::Float32, whole_numbers(200, 0, 99)), zeros(DType::Float32, 200)},
                    {3, n},
                    0,
                    3};
    if (k.kernel.sizes[0] != rows) call.sizes = {n, 3};
    one.calls.push_back(call);
  }
  check_emitted({one});
}

TEST_CASE("emitted: gathers by indices of every dtype, one index per row or one per lane") {
  std::vector<EmitCase> cases;
  const std::vector<double> rows{2, 0, 4, 4, 1, 3, 0, 2, 1, 1, 4, 0, 3, 3, 2, 1, 0, 4, 2};
  for (const DType index : kIntegers) {
    for (const bool across : {false, true}) {
      cases.push_back(gather(DType::Float32, index, 21, across, rows, 5));
    }
    for (const DType dtype : every_dtype()) {
      cases.push_back(gather_along(dtype, index, rows, 5));
    }
  }
  check_emitted(cases);
}

TEST_CASE("emitted: the first index out of range is reported and reads zero") {
  std::vector<EmitCase> cases;
  const std::vector<double> low{2, 0, -1, 4, 1, 9, 0, 2, 1, 1, 4, 0, 3, 3, 2, 1, 0, 4, -2};
  const std::vector<double> late{2, 0, 4, 4, 1, 3, 0, 2, 1, 1, 4, 0, 3, 3, 2, 1, 0, 4, 5};
  for (const auto& rows : {low, late}) {
    for (const DType dtype : {DType::Bool, DType::Float16, DType::Float32, DType::Float64}) {
      for (const DType index : {DType::Int8, DType::Int32, DType::Int64}) {
        cases.push_back(gather(dtype, index, 21, false, rows, 5));
        cases.push_back(gather(dtype, index, 21, true, rows, 5));
        cases.push_back(gather_along(dtype, index, rows, 5));
      }
    }
  }
  EmitCase beyond = cases[2];  // 21: indices beyond the part are not read
  beyond.calls[0].begin = 3;
  beyond.calls[0].end = 5;
  cases.push_back(beyond);
  check_emitted(cases);
}

TEST_CASE("emitted: where a guard is false no memory is accessed, and loads give 0") {
  std::vector<EmitCase> cases;
  for (const DType dtype : every_dtype()) {
    // Guards that differ between lanes, between rows of lanes, and that all lanes of a row share.
    for (const int along : {1, 0, 2}) {
      for (const int stride : {1, 3}) {
        const int rows = 5, columns = 37;
        KernelMaker k("guarded", {rows, columns}, 2);
        const OperandId x = k.input(dtype), y = k.output(dtype);
        const ExpressionId shift = k.number(DType::Int64, -2);
        const ExpressionId index = k.apply(Op::Add, {k.axis(along == 0 ? 0 : 1), shift});
        const ExpressionId limit = k.number(DType::Int64, along == 0 ? 2 : 20);
        const ExpressionId inside =
            k.apply(Op::Less, {k.convert(DType::UInt64, index), k.convert(DType::UInt64, limit)});
        // Far outside of x where the guard is false.
        const int far = 1 << 20;
        const std::vector<Dim> strides = along == 0   ? std::vector<Dim>{far, stride}
                                         : along == 1 ? std::vector<Dim>{0, stride}
                                                      : std::vector<Dim>{1, 0};
        const Dim offset = along == 0 ? Dim(-2 * far) : along == 1 ? Dim(-2 * stride) : Dim(0);
        const ExpressionId value = k.load(k.guard(k.access(x, strides, offset), inside));
        const ExpressionId kept = k.apply(Op::Equal, {k.axis(1), k.axis(1)});
        k.map({{k.access(y, {columns, 1}), value},
               {k.guard(k.access(k.output(dtype), {columns, 1}), k.apply(Op::And, {kept, inside})),
                value},
               {k.guard(k.access(k.output(dtype), {2 * columns, 2}), inside), value}});
        k.kernel.vector_axis = 1;
        const std::size_t needed = along == 0 ? static_cast<std::size_t>(far + 37 * stride) : 130;
        const auto results = [&](int each) {
          return filled(dtype, std::vector<double>(static_cast<std::size_t>(each * 190), 1));
        };
        cases.push_back(
            {k.kernel,
             {{{filled(dtype, whole_numbers(needed, -9, 9)), results(1), results(1), results(2)},
               {},
               0,
               rows}}});
      }
    }
  }
  check_emitted(cases);
}

TEST_CASE("emitted: an index out of range is not reported where the guard is false") {
  std::vector<EmitCase> cases;
  const std::vector<double> rows{2, 0, -1, 4, 1, 9, 0, 2, 1, 1, 4, 0, 3, 3, 2, 1, 0, 4, -2};
  const auto count = static_cast<int>(rows.size());
  for (const DType dtype : {DType::Int8, DType::Float32, DType::Float64}) {
    for (const bool all_hidden : {true, false}) {
      for (const bool lanes : {true, false}) {
        KernelMaker k("guarded_gather", {count, 20}, 2);
        const OperandId table = k.input(dtype), at = k.input(DType::Int64), y = k.output(dtype);
        const ExpressionId row = k.load(k.access(at, {1, 0}));
        const ExpressionId five = k.number(DType::Int64, all_hidden ? 5 : 10);
        ExpressionId inside = k.apply(
            Op::And,
            {k.apply(Op::Less, {k.number(DType::Int64, -1), row}), k.apply(Op::Less, {row, five})});
        if (lanes) {
          inside = k.apply(Op::And, {inside, k.apply(Op::Less, {k.axis(1), five})});
        }
        const AccessId from = k.guard(k.access_at(table, {0, 1}, row, 20, 5), inside);
        k.map({{k.access(y, {20, 1}), k.load(from)}});
        k.kernel.vector_axis = 1;
        cases.push_back({k.kernel,
                         {{{filled(dtype, whole_numbers(100, 0, 99)), filled(DType::Int64, rows),
                            zeros(dtype, static_cast<std::size_t>(count * 20) + 9)},
                           {},
                           0,
                           count}}});
      }
    }
  }
  check_emitted(cases);
}

TEST_CASE("emitted: scatters add up equal indices, for any lanes") {
  std::vector<EmitCase> cases;
  const std::vector<double> rows{2, 0, 2, 2, 1, 7, 0, 2, 1, -1, 2};
  for (const DType dtype : every_dtype()) {
    if (dtype == DType::Bool) continue;
    for (const int lanes : {-1, 0, 1}) {
      cases.push_back(scatter(dtype, DType::Int64, lanes, rows, 3));
      cases.push_back(scatter(dtype, DType::Int32, lanes, rows, 3));
    }
  }
  check_emitted(cases);
}

TEST_CASE("emitted: results overwrite their operands") {
  std::vector<EmitCase> cases;
  for (const DType dtype : {DType::Float32, DType::Float64, DType::Int16}) {
    KernelMaker k("in_place", {53}, 1);
    const OperandId x = k.output(dtype, true), m = k.output(dtype, true);
    const AccessId at = k.access(x, {1}, 1), at_m = k.access(m, {1}, 1);
    const ExpressionId moved = k.apply(Op::Add, {k.load(at_m), k.load(at)});
    k.map({{at_m, moved}, {at, k.apply(Op::Sub, {k.load(at), moved})}});
    k.kernel.vector_axis = 0;
    const KernelCall call{
        {filled(dtype, whole_numbers(60, -9, 9)), filled(dtype, whole_numbers(60, -99, 99))},
        {},
        1,
        52};
    cases.push_back({k.kernel, {call}});
  }
  check_emitted(cases);
}

namespace {

/// Draws of the elements 0, factor, 2 factor, ... at a position beyond 2^32.
EmitCase draws(DType dtype, int lanes, double factor) {
  KernelMaker k("draw", {41}, 1);
  const ExpressionId position = k.number(DType::Int64, 0x1p33 + 5);
  const OperandId y = k.output(dtype);
  const ExpressionId element = k.apply(Op::Mul, {k.axis(0), k.number(DType::Int64, factor)});
  const std::int64_t seed = (std::int64_t{7} << 40) + 11;
  k.map({{k.access(y, {1}), k.random(dtype, position, element, seed, 3)}});
  k.kernel.vector_axis = lanes;
  KernelCall call{{zeros(dtype, 50)},          {}, 0, 41, std::uint64_t{1} << 63 | 99,
                  (std::uint64_t{3} << 32) + 8};
  KernelCall next = call;
  next.call_counter += 1;
  return {k.kernel, {call, next}};
}

}  // namespace

TEST_CASE("emitted: random numbers are those of the interpreter") {
  std::vector<EmitCase> cases;
  for (const DType dtype : kFloats) {
    for (const int lanes : {-1, 0}) {
      // The last element is far beyond 2^32, just below it, and just beyond it.
      for (const double factor : {0x1p31 + 3, 107374182.0, 107374183.0}) {
        cases.push_back(draws(dtype, lanes, factor));
      }
    }
  }
  check_emitted(cases);
}

TEST_CASE("emitted: transposed rows, on parts of every size around blocks of rows") {
  std::vector<EmitCase> cases;
  for (const DType dtype : {DType::Bool, DType::Float32, DType::Float64}) {
    const Dim rows = Dim::fresh("rows"), columns = Dim::fresh("columns");
    KernelMaker k("across", {rows, columns}, 2);
    const OperandId x = k.input(dtype), w = k.input(dtype), y = k.output(dtype);
    const ExpressionId shared = k.load(k.access(w, {1, 0}));
    const ExpressionId value = k.load(k.access(x, {1, rows}));
    k.map({{k.access(y, {columns, 1}),
            k.apply(dtype == DType::Bool ? Op::Or : Op::Sub, {value, shared})}});
    k.kernel.vector_axis = 1;
    EmitCase one{k.kernel, {}};
    for (const std::int64_t n : {1, 15, 16, 17, 33, 50}) {
      for (const std::int64_t m : {1, 15, 16, 17, 33}) {
        const auto all = static_cast<std::size_t>(n * m);
        KernelCall call{{filled(dtype, whole_numbers(all, 0, 9)),
                         filled(dtype, whole_numbers(all, 0, 9)), zeros(dtype, all + 9)},
                        {n, m},
                        n / 3,
                        n};
        if (k.kernel.sizes[0] != rows) call.sizes = {m, n};
        one.calls.push_back(call);
      }
    }
    cases.push_back(one);
  }
  check_emitted(cases);
}
