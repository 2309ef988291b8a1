// Tests streaming stores, prefetches and vectors per iteration: the schedules that have them, and
// the memory that the emitted code leaves.
#include "tests/support/catch.h"
#include "tests/backends/cpu_llvm/compiled_math.h"
#include "tests/backends/cpu_llvm/large_kernels.h"

#include "backends/cpu/llvm/code/kernel_compiler.h"

using namespace cpu_llvm_test;
using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Dim;
using ir::Op;

namespace {

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

constexpr cpu::Isa kIsas[] = {cpu::Isa::Baseline, cpu::Isa::Avx2, cpu::Isa::Avx512};

bool streams(const Kernel& kernel, cpu::Isa isa = cpu::Isa::Avx512) {
  return schedule_of(kernel, isa).streams.any();
}

}  // namespace

TEST_CASE("emitted: elementary functions of many points take four vectors in an iteration") {
  const auto vectors = [](int columns, int stride, int rows = kRows) {
    return schedule_of(tanh_of_rows(columns, stride, rows).kernel).vectors();
  };
  CHECK(vectors(128, 1) == 4);
  CHECK(vectors(1024, 1) == 4);
  CHECK(vectors(1031, 1) == 4);
  CHECK(vectors(1024, 3) == 1);
  CHECK(vectors(37, 1) == 1);
  CHECK(vectors(1024, 1, kRun) == 1);
  CHECK(schedule_of(tanh_of_rows(1024, 1).kernel, cpu::Isa::Avx2).lanes == 32);
  CHECK(schedule_of(tanh_of_rows(1024, 1).kernel, cpu::Isa::Baseline).lanes == 4);
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
      for (const cpu::Isa isa : kIsas) {
        const bool is_tiled = one.kernel.name == "transposed";
        CHECK(streams(one.kernel, isa) == (!is_tiled || isa != cpu::Isa::Baseline));
        CHECK_FALSE(schedule_of(one.kernel, isa).streams.alone);  // the calls below stream, too
      }
      one.alignment = alignment;
      cases.push_back(std::move(one));
    }
  }
  check_emitted(cases);
}

TEST_CASE("emitted: tiles of half a line are widened where that lets their result be streamed") {
  for (const cpu::Isa isa : {cpu::Isa::Avx2, cpu::Isa::Avx512}) {
    INFO(cpu::name_of(isa));
    CHECK(schedule_of(transposed(64, 1 << 15).kernel, isa).lanes == 16);
    CHECK(streams(transposed(64, 1 << 15).kernel, isa));
    CHECK(streams(transposed(64, 1 << 15, DType::Float64).kernel, isa));
    CHECK_FALSE(streams(transposed(64, 1 << 14).kernel, isa));
    CHECK(schedule_of(transposed(64, 1 << 14).kernel, isa).vectors() == 1);
  }
  CHECK_FALSE(streams(transposed(72, 1 << 15).kernel, cpu::Isa::Avx2));
  std::vector<EmitCase> cases;
  for (const std::size_t alignment : {std::size_t{64}, std::size_t{16}}) {
    cases.push_back(transposed(32, 1 << 16, kF32, 3, 25));
    cases.push_back(transposed(16, 1 << 16, DType::Float64, 1, 12));
    for (std::size_t i = cases.size() - 2; i < cases.size(); ++i) cases[i].alignment = alignment;
  }
  check_emitted(cases);
}

TEST_CASE("emitted: large rows that are stored twice are streamed, wherever in a line they begin") {
  std::vector<EmitCase> cases;
  for (const std::size_t alignment : {std::size_t{64}, std::size_t{16}}) {
    for (EmitCase one :
         {rewritten(kF32, kRows, 1000, 1000), rewritten(kF32, kRows, 1024, 1024),
          rewritten(kF32, kRows, 2048, 2049, 1), rewritten(kF32, kRows, 801, 803, 2),
          rewritten(DType::BFloat16, kRows, 2001, 2001),
          rewritten(DType::Int8, 4 * kRows, 900, 903), rewritten(DType::Float64, kRows, 1021, 1023),
          rewritten(DType::Float64, kRows, 800, 800)}) {
      INFO(print(one.kernel));
      for (const cpu::Isa isa : kIsas) {
        // An iteration has four vectors of float32 or int32, which must hold a line's elements.
        const auto lanes = static_cast<std::size_t>(cpu::target_of(isa).vector_bytes);
        const bool fills_line = lanes * dtype_bytes(one.kernel.operands[OperandId(1)].dtype) >= 64;
        CHECK(schedule_of(one.kernel, isa).streams.scratch_operand ==
              (fills_line ? OperandId(1) : OperandId()));
        CHECK_FALSE(schedule_of(one.kernel, isa).streams.alone);
      }
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
  kernel.operands.push_back(kernel.operands[OperandId(1)]);
  kernel.operands.back().name = "twice";
  kernel.operands.back().read = false;
  kernel.accesses.push_back({.operand = OperandId(2), .strides = {1024, 1}});
  kernel.stages[StageId(1)].stores.push_back(
      {.access = AccessId(2), .value = kernel.stages[StageId(1)].stores[0].value});
  CHECK(schedule_of(kernel).streams.operands == IdVector<OperandId, bool>{false, true, false});
  for (KernelCall& call : two.calls) call.operands.push_back(whole_memory(kF32, kRun * 1024 + 9));
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
  early.stages.front().value = early.stages[StageId(1)].stores[0].value;
  early.expressions[early.stages.front().value].arguments[1] = ExpressionId(0);
  CHECK_FALSE(streams(early));
  Kernel adding = plain.kernel;
  adding.stages[StageId(1)].stores[0].accumulate = true;
  CHECK_FALSE(streams(adding));
  Kernel running = plain.kernel;
  running.stages[StageId(1)].kind = StageKind::Running;
  running.stages[StageId(1)].combiner = Combiner::Sum;
  running.stages[StageId(1)].value = running.stages[StageId(1)].stores[0].value;
  CHECK_FALSE(streams(running));
  Kernel once = plain.kernel;
  once.stages.front().stores.clear();
  CHECK_FALSE(streams(once));
  Kernel shifted = plain.kernel;  // loads the neighbour
  shifted.accesses.push_back(shifted.accesses[AccessId(1)]);
  shifted.accesses.back().offset = Dim(1);
  for (Expression& x : shifted.expressions) {
    if (x.kind == ExpressionKind::Load && x.access == AccessId(1)) x.access = AccessId(2);
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
  read.operands[OperandId(1)].read = true;
  CHECK_FALSE(streams(read));
}

TEST_CASE("emitted: parts of kernels that mostly store, or fit into the L3 cache, do not stream") {
  const auto streams_alone = [](std::vector<Dim> strides, int inputs, int rows) {
    KernelMaker k("rows", {rows, 1024}, 2);
    ExpressionId sum = k.number(kF32, 1);
    for (int i = 0; i < inputs; ++i) {
      sum = k.apply(Op::Add, {sum, k.load(k.access(k.input(kF32), strides))});
    }
    k.map({{k.access(k.output(kF32), {1024, 1}), sum}});
    k.kernel.vector_axis = 1;
    CHECK(streams(k.kernel));
    return schedule_of(k.kernel).streams.alone;
  };
  CHECK(streams_alone({0, 1}, 1, 1 << 14));  // an outer product: 64 MiB stored
  CHECK(streams_alone({1024, 1}, 1, 4096));  // a copy of 16 MiB
  CHECK_FALSE(streams_alone({1024, 1}, 1, 1 << 13));  // of 32 MiB
  CHECK_FALSE(streams_alone({1024, 1}, 2, 4096));
  check_emitted({centred(kF32, 1 << 13, 512, 512)});
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
