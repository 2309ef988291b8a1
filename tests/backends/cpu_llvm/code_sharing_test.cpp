// Tests which kernels share code, and that results depend neither on sharing nor on thread counts.
#include "tests/support/catch.h"
#include "tests/backends/cpu_llvm/compiled_math.h"
#include "tests/backends/cpu_llvm/emitted.h"

#include "backends/cpu/llvm/code/kernel_compiler.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <thread>

using namespace cpu_llvm_test;
using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using cpu::CodeCache;
using cpu::ParametricCode;

namespace {

/// y[i, j] = x[i, j] - mean over j of x[i, j], lanes along j.
Kernel centred(std::int64_t rows, std::int64_t columns) {
  KernelMaker k("centred", {rows, columns}, 1);
  const OperandId x = k.input(DType::Float32), y = k.output(DType::Float32);
  const ExpressionId value = k.load(k.access(x, {columns, 1}));
  const StageId sum = k.reduce(Combiner::Sum, value);
  const ExpressionId count = k.number(DType::Float32, static_cast<double>(columns));
  const ExpressionId mean = k.apply(ir::Op::Div, {k.result(sum), count});
  k.map({{k.access(y, {columns, 1}), k.apply(ir::Op::Sub, {value, mean})}});
  k.kernel.vector_axis = 1;
  return k.kernel;
}

/// y[i] = x[i] + addend.
Kernel shifted(double addend) {
  KernelMaker k("shifted", {9}, 1);
  const OperandId x = k.input(DType::Float32), y = k.output(DType::Float32);
  const ExpressionId value = k.load(k.access(x, {1}));
  k.map({{k.access(y, {1}), k.apply(ir::Op::Add, {value, k.number(DType::Float32, addend)})}});
  k.kernel.vector_axis = 0;
  return k.kernel;
}

/// y[i] = x[i] + x[i] for the number of elements that the call gives.
Kernel doubled(const char* size) {
  const ir::Dim count = ir::Dim::fresh(size);
  KernelMaker k("doubled", {count}, 1);
  add_size(k.kernel, count);
  const OperandId x = k.input(DType::Float32), y = k.output(DType::Float32);
  const ExpressionId value = k.load(k.access(x, {1}));
  k.map({{k.access(y, {1}), k.apply(ir::Op::Add, {value, value})}});
  k.kernel.vector_axis = 0;
  return k.kernel;
}

BuiltKernels built(const std::vector<std::int64_t>& columns) {
  BuiltKernels kernels;
  for (const std::int64_t count : columns) {
    kernels.push_back({centred(3, count), {}, {}, {}});
    kernels.back().kernel.name = text("kernel", kernels.size());
  }
  return kernels;
}

/// Calls a kernel that writes y from x for the first `end` indices of its outer axis.
void call(const KernelFunction& function, std::vector<float>& x, std::vector<float>& y,
          std::int64_t end) {
  std::byte* buffers[] = {reinterpret_cast<std::byte*>(x.data()),
                          reinterpret_cast<std::byte*>(y.data())};
  IndexOutOfRange out_of_range;
  KernelArguments arguments;
  arguments.buffers = buffers;
  arguments.end = end;
  arguments.out_of_range = &out_of_range;
  function.run(function.context, &arguments);
}

/// The results of a kernel for three rows.
std::vector<float> run(const KernelFunction& function, std::int64_t columns) {
  const auto count = static_cast<std::size_t>(3 * columns);
  std::vector<float> x, y(count);
  for (const double value : whole_numbers(count, -999, 999)) {
    x.push_back(static_cast<float>(value) / 7);
  }
  call(function, x, y, 3);
  return y;
}

struct Compiled {
  std::shared_ptr<const void> code;
  KernelFunctions functions;
};

Compiled compiled(const BuiltKernels& kernels, std::size_t threads, ParametricCode reading,
                  CodeCache& cache) {
  Compiled result;
  cpu::CompileTexts texts;
  const cpu::IsaTarget target = targets_here().back();
  result.functions =
      cpu::compile_kernels(kernels, {target, threads, reading, &cache}, result.code, texts);
  return result;
}

const std::vector<std::int64_t> kColumns{5, 64, 96, 100, 128, 200, 640, 1000, 4096, 5000};

}  // namespace

TEST_CASE("code sharing: kernels that differ in sizes share code, with the bits of separate code") {
  const BuiltKernels kernels = built(kColumns);
  CodeCache own(1 << 20), shared(1 << 20);
  const Compiled apart = compiled(kernels, 1, ParametricCode::Never, own);
  CHECK(own.stats().compiled == kColumns.size());
  const Compiled together = compiled(kernels, 1, ParametricCode::WhereShared, shared);
  CHECK(shared.stats().compiled < kColumns.size());
  for (const KernelId i : kernels.ids()) {
    const std::int64_t columns = kColumns[at(i.number)];
    INFO(columns << " columns");
    CHECK(run(together.functions[i], columns) == run(apart.functions[i], columns));
  }
}

TEST_CASE("code sharing: a kernel whose outline is unique is compiled for its sizes") {
  const cpu::CodePlan plan = [] {
    const BuiltKernels one = built({64});
    return cpu::plan_codes(one, targets_here().back(), ParametricCode::WhereShared, 1);
  }();
  REQUIRE(plan.codes.size() == 1);
  CHECK_FALSE(plan.codes[0].is_parametric);
  CHECK(plan.uses.front().parameters.empty());
}

TEST_CASE("code sharing: equal kernels of several programs share code under the first one's name") {
  CodeCache cache(1 << 20);
  const Compiled first = compiled(built({64}), 1, ParametricCode::WhereShared, cache);
  BuiltKernels renamed = built({64});
  renamed.front().kernel.name = "other";
  renamed.front().kernel.comes_from = "another line";
  const Compiled second = compiled(renamed, 1, ParametricCode::WhereShared, cache);
  CHECK(cache.stats().compiled == 1);
  CHECK(cache.stats().shared == 1);
  CHECK(second.functions.front().context == first.functions.front().context);
}

TEST_CASE("code sharing: kernels of several programs share code whatever their sizes are named") {
  CodeCache cache(1 << 20);
  std::vector<const void*> codes;
  for (const char* name : {"n", "m"}) {
    const Compiled kernels =
        compiled({{doubled(name), {}, {}, {}}}, 1, ParametricCode::WhereShared, cache);
    codes.push_back(kernels.functions.front().context);
  }
  CHECK(cache.stats().compiled == 1);
  CHECK(codes[0] == codes[1]);
}

TEST_CASE("code sharing: 1,000 programs dropped after a call stay within the bound", "[slow]") {
  constexpr std::size_t kBytes = 256 << 10;
  CodeCache cache(kBytes);
  for (int round = 0; round < 1000; ++round) {
    const double addend = 1 + round / 1024.0;
    const Compiled one =
        compiled({{shifted(addend), {}, {}, {}}}, 2, ParametricCode::WhereShared, cache);
    std::vector<float> x(9, 0.5F), y(9);
    call(one.functions.front(), x, y, 9);
    REQUIRE(y == std::vector<float>(9, static_cast<float>(0.5 + addend)));
    REQUIRE(cache.stats().bytes <= kBytes);
  }
  CHECK(cache.stats().compiled == 1000);
  CHECK(cache.stats().entries < 16);  // each takes several pages, whatever its code has
}

TEST_CASE("code sharing: constants, ISAs and stages make kernels differ") {
  CodeCache cache(1 << 20);
  BuiltKernels kernels = built({64, 64, 64});
  for (Expression& x : kernels[KernelId(1)].kernel.expressions) {
    if (x.kind == ExpressionKind::Apply && x.op == ir::Op::Sub) x.op = ir::Op::Add;
  }
  kernels[KernelId(2)].kernel.stages.front().combiner = Combiner::Max;
  const Compiled all = compiled(kernels, 1, ParametricCode::WhereShared, cache);
  CHECK(cache.stats().compiled == 3);
  CHECK(run(all.functions.front(), 64) != run(all.functions[KernelId(1)], 64));
  CHECK(run(all.functions.front(), 64) != run(all.functions[KernelId(2)], 64));
  std::shared_ptr<const void> code;
  cpu::CompileTexts texts;
  const cpu::IsaTarget lowest = cpu::target_of(cpu::Isa::Baseline);
  cpu::compile_kernels(kernels, {lowest, 1, ParametricCode::WhereShared, &cache}, code, texts);
  const bool is_other = cpu::native_isa() != cpu::Isa::Baseline;
  CHECK(cache.stats().compiled == (is_other ? 6u : 3u));
}

TEST_CASE("code sharing: 1, 2 and 8 threads compile to the same bits", "[concurrency]") {
  const BuiltKernels kernels = built(kColumns);
  std::vector<std::vector<float>> expected;
  for (const std::size_t threads : {1, 2, 8}) {
    for (const auto reading : {ParametricCode::Never, ParametricCode::WhereShared}) {
      CodeCache cache(1 << 20);
      const Compiled all = compiled(kernels, threads, reading, cache);
      std::vector<std::vector<float>> found;
      for (const KernelId i : kernels.ids()) {
        found.push_back(run(all.functions[i], kColumns[at(i.number)]));
      }
      if (expected.empty()) expected = found;
      CHECK(found == expected);
    }
  }
}

TEST_CASE("code sharing: programs that are compiled concurrently share code", "[concurrency]") {
  constexpr std::size_t kThreads = 8;
  CodeCache cache(1 << 20);
  const std::vector<float> expected = [&] {
    CodeCache own(1 << 20);
    return run(compiled(built({200}), 1, ParametricCode::Never, own).functions.front(), 200);
  }();
  std::vector<std::vector<float>> found(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const Compiled all = compiled(built({200, 64}), 2, ParametricCode::Never, cache);
      found[t] = run(all.functions.front(), 200);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(cache.stats().compiled == 2);
  CHECK(cache.stats().shared == 2 * (kThreads - 1));
  for (const std::vector<float>& result : found) CHECK(result == expected);
}
