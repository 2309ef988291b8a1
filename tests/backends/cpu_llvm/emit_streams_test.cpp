// Tests emitted streaming stores and prefetches (the operands that get them, and the memory that
// they leave) and vectors per iteration of elementary functions. Calls run a few rows of kernels
// whose results are large.
#include "tests/support/catch.h"
#include "tests/backends/cpu_llvm/compiled_math.h"
#include "tests/backends/cpu_llvm/emitted.h"

#include "backends/cpu/llvm/kernel_compiler.h"
#include "core/types/at.h"

using namespace cpu_llvm_test;
using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Dim;
using ir::Op;

namespace {

constexpr DType kF32 = DType::Float32;
constexpr int kRows = 1 << 17, kRun = 5;

std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t i = text.find(word); i != std::string::npos; i = text.find(word, i + 1)) ++count;
  return count;
}

std::string ir_of(const Kernel& kernel, const cpu::IsaTarget& target = targets_here().back()) {
  std::shared_ptr<const void> code;
  cpu::CompileTexts texts;
  texts.wanted = true;
  cpu::compile_kernels({{kernel, {}, {}, {}}}, {target}, code, texts);
  return texts.ir;
}

bool streams(const Kernel& kernel, const cpu::IsaTarget& target = targets_here().back()) {
  return count_of(ir_of(kernel, target), "!nontemporal") != 0;
}

Memory numbers(DType dtype, int count) {
  return filled(dtype, whole_numbers(static_cast<std::size_t>(count), -9, 9));
}

/// y = x - sum(x) of each row, and the sums of columns; rows are `stride` elements apart.
EmitCase centred(DType dtype, int rows, int columns, int stride) {
  KernelMaker k("centred", {rows, columns}, 1);
  const int x = k.input(dtype), y = k.output(dtype), all = k.output(dtype, /*read=*/true);
  const int value = k.load(k.access(x, {stride, 1}));
  const int sum = k.reduce(Combiner::Sum, value);
  const int less = k.apply(Op::Sub, {value, k.result(sum)});
  k.map({{k.access(y, {stride, 1}), less}, {k.access(all, {0, 1}), value, /*accumulate=*/true}});
  k.kernel.vector_axis = 1;
  EmitCase one{k.kernel, {}};
  for (const int begin : {0, 2}) {
    one.calls.push_back({{numbers(dtype, kRun * stride), numbers(dtype, kRun * stride + 9),
                          numbers(dtype, columns)},
                         {},
                         begin,
                         kRun});
  }
  return one;
}

/// y = (2 x + 1) - the sum of that row, by way of 2 x + 1 in y; rows are `stride` elements apart.
EmitCase rewritten(DType dtype, int rows, int columns, int stride, int offset = 0) {
  KernelMaker k("rewritten", {rows, columns}, 1);
  const DType wide = dtype == DType::BFloat16 ? kF32 : dtype;  // of the arithmetic
  const auto converted = [&](DType from, DType to, int value) {
    return from == to ? value : k.convert(to, value);
  };
  const int x = k.input(dtype), y = k.output(dtype, /*read=*/true);
  const int value = converted(dtype, wide, k.load(k.access(x, {stride, 1})));
  const int odd = k.apply(Op::Add, {k.apply(Op::Add, {value, value}), k.number(wide, 1)});
  const int access = k.access(y, {stride, 1}, offset);
  const int sum = k.reduce(Combiner::Sum, odd, {{access, converted(wide, dtype, odd)}});
  const int again = converted(dtype, wide, k.load(access));
  const int less = k.apply(Op::Sub, {again, k.result(sum)});
  k.map({{access, converted(wide, dtype, less)}});
  k.kernel.vector_axis = 1;
  EmitCase one{k.kernel, {}};
  for (const int begin : {0, 3}) {
    one.calls.push_back(
        {{numbers(dtype, kRun * stride), numbers(dtype, kRun * stride + 9)}, {}, begin, kRun});
  }
  return one;
}

/// y[i, j, k] = x[i, j, k] + the index of the inner axis j, lanes along the outer axis k.
EmitCase down_columns(int inner, int columns) {
  KernelMaker k("down_columns", {kRows, columns, inner}, 2);
  const int x = k.input(kF32), y = k.output(kF32), last = k.output(kF32);
  const std::vector<Dim> plain{inner * columns, 1, columns};
  const int value = k.load(k.access(x, plain));
  const int sum = k.reduce(Combiner::Sum, value);
  const int index = k.convert(kF32, k.axis(2));
  k.map({{k.access(y, plain), k.apply(Op::Add, {value, index})}});
  k.map({{k.access(last, {columns, 1, 0}), k.result(sum)}}, /*inner=*/false);
  k.kernel.vector_axis = 1;
  const int all = kRun * inner * columns;
  return {
      k.kernel,
      {{{numbers(kF32, all), numbers(kF32, all + 9), numbers(kF32, kRun * columns)}, {}, 0, kRun}}};
}

/// y[i, j] = x[j, i], as tiles.
EmitCase transposed(int rows, int columns, DType dtype = kF32, int begin = 0, int end = kRun) {
  KernelMaker k("transposed", {rows, columns}, 2);
  const int x = k.input(dtype), y = k.output(dtype);
  k.map({{k.access(y, {columns, 1}), k.load(k.access(x, {1, rows}))}});
  k.kernel.vector_axis = 1;
  return {k.kernel,
          {{{numbers(dtype, rows * columns), numbers(dtype, end * columns + 9)}, {}, begin, end}}};
}

/// y = tanh(x) of rows, x with that stride between elements.
EmitCase tanh_of_rows(int columns, int stride, int rows = kRows) {
  KernelMaker k("tanh", {rows, columns}, 2);
  const int x = k.input(kF32), y = k.output(kF32);
  const int value = k.load(k.access(x, {columns * stride, stride}));
  k.map({{k.access(y, {columns, 1}), k.apply(Op::Tanh, {value})}});
  k.kernel.vector_axis = 1;
  return {
      k.kernel,
      {{{numbers(kF32, kRun * columns * stride), numbers(kF32, kRun * columns + 9)}, {}, 0, kRun}},
      /*units=*/4};
}

/// Vectors in an iteration of the loop that divides.
int vectors_in_iteration(const Kernel& kernel) {
  const int lanes = targets_here().back().vector_bytes / 4;
  const std::string ir = ir_of(kernel);
  for (const int vectors : {1, 2, 4}) {
    if (count_of(ir, text("fdiv <", vectors * lanes, " x float>")) != 0) return vectors;
  }
  return 0;
}

}  // namespace

TEST_CASE("emitted: elementary functions of many points take four vectors in an iteration") {
  if (!targets_here().back().has_fma) return;
  CHECK(vectors_in_iteration(tanh_of_rows(128, 1).kernel) >= 2);
  CHECK(vectors_in_iteration(tanh_of_rows(1024, 1).kernel) == 4);
  CHECK(vectors_in_iteration(tanh_of_rows(1031, 1).kernel) == 4);
  CHECK(vectors_in_iteration(tanh_of_rows(1024, 3).kernel) == 1);
  CHECK(vectors_in_iteration(tanh_of_rows(37, 1).kernel) == 1);
  CHECK(vectors_in_iteration(tanh_of_rows(1024, 1, kRun).kernel) == 1);
  check_emitted(
      {tanh_of_rows(128, 1), tanh_of_rows(1031, 1), tanh_of_rows(1024, 3), tanh_of_rows(37, 1)});
}

TEST_CASE("emitted: large results of rows are streamed where rows begin at a cache line") {
  std::vector<EmitCase> cases;
  for (const std::size_t alignment : {std::size_t{64}, std::size_t{16}}) {
    for (EmitCase one :
         {centred(kF32, kRows, 80, 80), centred(kF32, kRows, 37, 48),
          centred(DType::Float64, kRows, 24, 24), down_columns(3, 64), transposed(64, 1 << 15)}) {
      INFO(print(one.kernel));
      CHECK(streams(one.kernel));
      CHECK(count_of(ir_of(one.kernel), "is_alone") == 0);  // the calls below stream, too
      one.alignment = alignment;
      cases.push_back(std::move(one));
    }
  }
  check_emitted(cases);
}

TEST_CASE("emitted: tiles of half a line are widened where that lets their result be streamed") {
  const auto targets = targets_here();
  for (const cpu::IsaTarget& target : targets) {
    if (target.vector_bytes < 32) continue;
    INFO(cpu::name_of(target.isa));
    CHECK(streams(transposed(64, 1 << 15).kernel, target));
    CHECK(streams(transposed(64, 1 << 15, DType::Float64).kernel, target));
    CHECK_FALSE(streams(transposed(64, 1 << 14).kernel, target));
    const std::string small = ir_of(transposed(64, 1 << 14).kernel, target);
    CHECK(count_of(small, text("<", target.vector_bytes / 4, " x float>")) != 0);
    if (target.vector_bytes == 64) continue;
    CHECK(count_of(small, "<16 x float>") == 0);
    CHECK_FALSE(streams(transposed(72, 1 << 15).kernel, target));
  }
  std::vector<EmitCase> cases;
  for (const std::size_t alignment : {std::size_t{64}, std::size_t{16}}) {
    cases.push_back(transposed(32, 1 << 16, kF32, 3, 25));
    cases.push_back(transposed(16, 1 << 16, DType::Float64, 1, 12));
    for (std::size_t i = cases.size() - 2; i < cases.size(); ++i) cases[i].alignment = alignment;
  }
  check_emitted(cases);
}

TEST_CASE("emitted: large rows that are stored twice are streamed, wherever in a line they begin") {
  // An iteration has four vectors of float32 or int32, which must hold the elements of a line.
  const auto lanes = static_cast<std::size_t>(targets_here().back().vector_bytes);
  std::vector<EmitCase> cases;
  for (const std::size_t alignment : {std::size_t{64}, std::size_t{16}}) {
    for (EmitCase one :
         {rewritten(kF32, kRows, 1000, 1000), rewritten(kF32, kRows, 1024, 1024),
          rewritten(kF32, kRows, 2048, 2049, 1), rewritten(kF32, kRows, 801, 803, 2),
          rewritten(DType::BFloat16, kRows, 2001, 2001),
          rewritten(DType::Int8, 4 * kRows, 900, 903), rewritten(DType::Float64, kRows, 1021, 1023),
          rewritten(DType::Float64, kRows, 800, 800)}) {
      INFO(print(one.kernel));
      CHECK(streams(one.kernel) == (lanes * dtype_bytes(one.kernel.operands[1].dtype) >= 64));
      CHECK(count_of(ir_of(one.kernel), "is_alone") == 0);
      one.alignment = alignment;
      cases.push_back(std::move(one));
    }
  }
  check_emitted(cases);
}

TEST_CASE("emitted: beside rows that are stored twice, other results are not streamed") {
  // The rows of `twice` begin at other places of a line than those of y.
  EmitCase two = rewritten(kF32, kRows, 1024, 1025, 1);
  Kernel& kernel = two.kernel;
  kernel.operands.push_back(kernel.operands[1]);
  kernel.operands.back().name = "twice";
  kernel.operands.back().read = false;
  kernel.accesses.push_back({.operand = 2, .strides = {1024, 1}});
  kernel.stages[1].stores.push_back({.access = 2, .value = kernel.stages[1].stores[0].value});
  const std::string ir = ir_of(kernel);
  CHECK(count_of(ir, "!nontemporal !") == 1);
  for (KernelCall& call : two.calls) call.operands.push_back(numbers(kF32, kRun * 1024 + 9));
  two.alignment = 64;
  check_emitted({two});
}

TEST_CASE("emitted: other rows that are stored twice stay in memory") {
  CHECK_FALSE(streams(rewritten(kF32, 1 << 10, 1000, 1000).kernel));
  CHECK_FALSE(streams(rewritten(kF32, 5000, 1000, 1000).kernel));  // 40 MB in all
  CHECK_FALSE(streams(rewritten(kF32, kRows, 799, 799).kernel));
  CHECK_FALSE(streams(rewritten(kF32, kRows, 2049, 2049).kernel));
  CHECK_FALSE(streams(rewritten(DType::Float64, kRows, 1025, 1025).kernel));
  const EmitCase plain = rewritten(kF32, kRows, 1000, 1000);
  Kernel early = plain.kernel;  // the first loop loads y
  early.stages[0].value = early.stages[1].stores[0].value;
  early.expressions[at(early.stages[0].value)].arguments[1] = 0;
  CHECK_FALSE(streams(early));
  Kernel adding = plain.kernel;
  adding.stages[1].stores[0].accumulate = true;
  CHECK_FALSE(streams(adding));
  Kernel running = plain.kernel;
  running.stages[1].kind = StageKind::Running;
  running.stages[1].combiner = Combiner::Sum;
  running.stages[1].value = running.stages[1].stores[0].value;
  CHECK_FALSE(streams(running));
  Kernel once = plain.kernel;
  once.stages[0].stores.clear();
  CHECK_FALSE(streams(once));
  Kernel shifted = plain.kernel;  // loads the neighbour
  shifted.accesses.push_back(shifted.accesses[1]);
  shifted.accesses.back().offset = Dim(1);
  for (Expression& x : shifted.expressions) {
    if (x.kind == ExpressionKind::Load && x.number == 1) x.number = 2;
  }
  CHECK_FALSE(streams(shifted));
}

TEST_CASE("emitted: small results, partial lines and sums in memory are not streamed") {
  CHECK_FALSE(streams(centred(kF32, 1 << 10, 80, 80).kernel));
  CHECK_FALSE(streams(centred(kF32, 1 << 15, 80, 80).kernel));
  CHECK_FALSE(streams(transposed(64, 1 << 14).kernel));
  CHECK_FALSE(streams(centred(kF32, kRows, 40, 40).kernel));
  CHECK_FALSE(streams(down_columns(3, 40).kernel));
  Kernel read = centred(kF32, kRows, 80, 80).kernel;
  read.operands[1].read = true;
  CHECK_FALSE(streams(read));
}

TEST_CASE("emitted: parts of kernels that mostly store, or fit into the L3 cache, do not stream") {
  const auto streams_alone = [](std::vector<Dim> strides, int inputs, int rows) {
    KernelMaker k("rows", {rows, 1024}, 2);
    int sum = k.number(kF32, 1);
    for (int i = 0; i < inputs; ++i) {
      sum = k.apply(Op::Add, {sum, k.load(k.access(k.input(kF32), strides))});
    }
    k.map({{k.access(k.output(kF32), {1024, 1}), sum}});
    k.kernel.vector_axis = 1;
    const std::string ir = ir_of(k.kernel);
    CHECK(count_of(ir, "!nontemporal") != 0);
    return count_of(ir, "is_alone") != 0;
  };
  CHECK(streams_alone({0, 1}, 1, 1 << 14));         // an outer product: 64 MiB stored
  CHECK(streams_alone({1024, 1}, 1, 4096));         // a copy of 16 MiB
  CHECK_FALSE(streams_alone({1024, 1}, 1, 1 << 13));  // of 32 MiB
  CHECK_FALSE(streams_alone({1024, 1}, 2, 4096));
  check_emitted({centred(kF32, 1 << 13, 512, 512)});
}

TEST_CASE("emitted: a row is prefetched by the loop with the most operations") {
  KernelMaker k("softmax", {64, 1024}, 1);
  const int x = k.load(k.access(k.input(kF32), {1024, 1}));
  const int maximum = k.result(k.reduce(Combiner::Max, x));
  const int share = k.apply(Op::Exp, {k.apply(Op::Sub, {x, maximum})});
  const int sum = k.result(k.reduce(Combiner::Sum, share));
  k.map({{k.access(k.output(kF32), {1024, 1}), k.apply(Op::Div, {share, sum})}});
  k.kernel.vector_axis = 1;
  const std::string ir = ir_of(k.kernel);
  const std::size_t first_maximum = ir.find("shufflevector");
  REQUIRE(first_maximum != std::string::npos);
  CHECK(count_of(ir.substr(0, first_maximum), "call void @llvm.prefetch") == 0);
  CHECK(count_of(ir, "call void @llvm.prefetch") != 0);
}

TEST_CASE("emitted: each loop over a row prefetches one of its operands") {
  KernelMaker k("deviations", {64, 1024}, 1);
  const int x = k.input(kF32), z = k.input(kF32), y = k.output(kF32);
  const int left = k.load(k.access(x, {1024, 1})), right = k.load(k.access(z, {1024, 1}));
  const int sum = k.reduce(Combiner::Sum, k.apply(Op::Mul, {left, right}));
  const int apart = k.apply(Op::Sub, {k.apply(Op::Sub, {left, right}), k.result(sum)});
  const int all = k.reduce(Combiner::Sum, k.apply(Op::Abs, {apart}));
  k.map({{k.access(y, {1, 0}), k.result(all)}}, /*inner=*/false);
  k.kernel.vector_axis = 1;
  const std::string ir = ir_of(k.kernel);
  const std::size_t first_sum = ir.find("shufflevector");  // adds up the lanes after the first loop
  REQUIRE(first_sum != std::string::npos);
  const std::string prefetch = "call void @llvm.prefetch";
  const std::size_t before = count_of(ir.substr(0, first_sum), prefetch);
  CHECK(before > 0);
  CHECK(count_of(ir, prefetch) == 2 * before);
}

TEST_CASE("emitted: tiles prefetch the second next tile of an operand of 8 MiB") {
  const auto prefetches = [](int rows, int columns) {
    const std::string ir = ir_of(transposed(rows, columns).kernel);
    CHECK(count_of(ir, "call void @llvm.prefetch") != 0);  // of all tiles that have a distance
    const std::size_t calls = count_of(ir, "call void @kiln_tile_");
    CHECK(calls != 0);
    const std::size_t without = count_of(ir, ", i64 0)\n");
    CHECK((without == 0 || without == calls));
    return without == 0;
  };
  CHECK(prefetches(64, 1 << 15));
  CHECK_FALSE(prefetches(64, 1 << 14));
}
