// Tests matmuls in loops, as execution lists: the right operand is packed once before the loop, and
// again only when the host does not declare it unchanged.
#include "tests/support/catch.h"
#include "tests/backends/codegen/counting_library.h"
#include "tests/backends/codegen/kernel_interpreter.h"
#include "tests/backends/codegen/lowered.h"
#include "tests/core/ops/evaluate.h"

#include "backends/codegen/host/run.h"
#include "backends/codegen/host/bind/bind_plan.h"
#include "core/ops/build.h"
#include "core/ops/lambda_builder.h"
#include "core/ops/rewrite_graph.h"

#include <kiln/error.h>

#include <cstring>

using namespace kiln;
using namespace kiln::codegen;
using ir::Value;

namespace {

constexpr std::int64_t kRows = 2, kSize = 3;

/// A program of float32 matrices that is run repeatedly with the same feeds.
class Running {
 public:
  /// `plain_rows`: matmuls with that M and K = kSize read their right operand unpacked.
  Running(std::vector<Value> inputs, std::vector<Value> results, std::vector<bool> kept,
          std::int64_t plain_rows = -1)
      : inputs_(std::move(inputs)), library_(plain_rows, kSize), holders_(0) {
    program_ = lowered(inputs_, results, &library_);
    holders_.resize(program_.kernels.size());
    for (const KernelId i : program_.kernels.ids()) {
      const KernelFunction plain = test::interpreted(program_.kernels[i].kernel, holders_[i]);
      failing_.push_back(std::make_unique<FailingKernel>(FailingKernel{plain, fails}));
      functions_.push_back({run_failing, failing_.back().get()});
    }
    const EvaluateDim evaluate = [](const ir::Dim& dim) { return dim.value(); };
    kept.resize(inputs_.size(), false);
    facts_ = std::make_unique<ProgramFacts>(program_, kept);
    auto sized = std::make_shared<SizedPlan>(0);
    sized->plan = bind_program({.program = program_,
                                .facts = *facts_,
                                .functions = functions_,
                                .evaluate = evaluate,
                                .forms = weights_,
                                .library = &library_,
                                .memory = {.plan = &sized->memory.blocks}});
    bound_ = sized->plan.get();
    memory_ = std::make_unique<CallMemory>();
    memory_->prepare(sized);
    for (const Value& input : inputs_) feeds.emplace_back(elements(input), 0.5f);
    for (const Value& result : results) found.emplace_back(elements(result), 0.0f);
    results_ = std::move(results);
    versions.resize(inputs_.size(), 0);
  }

  void run() {
    for (std::size_t i = 0; i < feeds.size(); ++i) {
      const SlotId slot = program_.plan.arguments[i];
      if (!slot) continue;
      memory_->list().set_address(slot, reinterpret_cast<std::byte*>(feeds[i].data()));
      memory_->list().versions[slot] = versions[i];
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      memory_->list().set_address(program_.plan.results[i],
                                  reinterpret_cast<std::byte*>(found[i].data()));
    }
    RunContext context;
    context.program = &program_;
    context.host = &host_;
    context.weights = &weights_;
    run_plan(*memory_, context);
  }
  int packed() const { return library_.packed; }
  std::size_t groups_of_step(std::size_t step) const {
    return bodies_of(bound_->steps[step])->plans.size();
  }
  const Program& program() const { return program_; }

  std::vector<std::vector<float>> feeds, found;
  std::vector<std::uint64_t> versions;
  bool fails = false;  // kernels throw after they have written their results

 private:
  struct FailingKernel {
    KernelFunction kernel;
    const bool& fails;
  };
  static void run_failing(const void* context, const KernelArguments* arguments) {
    const auto* failing = static_cast<const FailingKernel*>(context);
    failing->kernel.run(failing->kernel.context, arguments);
    if (failing->fails) throw InternalError("kernel", "", "fails");
  }
  static std::size_t elements(const Value& value) {
    return static_cast<std::size_t>(ir::product(value.dims()).value());
  }
  std::vector<Value> inputs_, results_;  // hold the nodes of the program
  sdk::Host host_{kiln_host_api{}, nullptr};
  CountingLibrary library_;
  Program program_;
  IdVector<KernelId, std::shared_ptr<const void>> holders_;
  std::vector<std::unique_ptr<FailingKernel>> failing_;
  KernelFunctions functions_;
  std::unique_ptr<ProgramFacts> facts_;
  SharedWeights weights_;
  const BoundPlan* bound_ = nullptr;
  std::unique_ptr<CallMemory> memory_;
};

Value matrix(std::int64_t rows, std::int64_t columns) {
  return test::placeholder({DType::Float32, {rows, columns}});
}

Value times(const Value& x, const Value& w) { return ir::dot(x, {0, 1}, w, {1, 2}, {0, 2}); }

/// h = (h w) v + x[t], `length` times: the last h, and every h.
std::vector<Value> loop(const Value& h, const Value& w, const Value& v, const Value& x,
                        std::int64_t length, bool reverse) {
  const ir::LambdaBuilder builder({{DType::Int64, {}}, h.type(), h.type()});
  const auto& p = builder.parameters();
  const Value next = times(times(p[1], w), v) + p[2];
  const auto closure = builder.close({next, next}, 1);
  const ir::ScanAttrs attrs{
      {closure.lambda}, static_cast<std::int64_t>(closure.captures.size()), 1, 1, length, reverse};
  std::vector<Value> operands = closure.captures;
  operands.insert(operands.end(), {h, x});
  return ir::results_of(ir::make_node(ir::Op::Scan, attrs, operands));
}

/// v w for rows of kSize elements, w a square.
std::vector<float> plain_product(const std::vector<float>& v, const std::vector<float>& w) {
  std::vector<float> out(v.size(), 0.0f);
  for (std::size_t i = 0; i < v.size(); ++i) {
    for (std::size_t d = 0; d < kSize; ++d) {
      out[i] += v[i / kSize * kSize + d] * w[d * kSize + i % kSize];
    }
  }
  return out;
}

/// The loop in plain sums: all h, the last one first where it goes backwards.
std::vector<float> plain(std::vector<float> h, const std::vector<float>& w,
                         const std::vector<float>& x, std::int64_t length, bool reverse) {
  std::vector<float> all(x.size());
  for (std::int64_t i = 0; i < length; ++i) {
    const auto t = static_cast<std::size_t>(reverse ? length - 1 - i : i) * h.size();
    h = plain_product(plain_product(h, w), w);
    for (std::size_t j = 0; j < h.size(); ++j) all[t + j] = h[j] += x[t + j];
  }
  return all;
}

}  // namespace

TEST_CASE("packing: a loop's weight is packed once, for any length and direction") {
  for (const std::int64_t length : {1, 2, 5}) {
    for (const bool reverse : {false, true}) {
      INFO("length " << length << (reverse ? ", backwards" : ""));
      const Value h = matrix(kRows, kSize), w = matrix(kSize, kSize);
      const Value x = test::placeholder({DType::Float32, {length, kRows, kSize}});
      Running running({h, w, x}, loop(h, w, w, x, length, reverse), {});
      for (std::size_t i = 0; i < 3; ++i) {
        float value = 0.1f;
        for (float& feed : running.feeds[i]) feed = value += 0.07f;
      }
      running.run();
      CHECK(running.packed() == 1);
      const auto want =
          plain(running.feeds[0], running.feeds[1], running.feeds[2], length, reverse);
      CHECK(running.found[1] == want);
      const std::size_t last = reverse ? 0 : want.size() - kRows * kSize;
      CHECK(std::equal(running.found[0].begin(), running.found[0].end(),
                       want.begin() + static_cast<std::ptrdiff_t>(last)));
      running.run();
      CHECK(running.packed() == 2);
      CHECK(running.found[1] == want);
    }
  }
}

TEST_CASE("packing: row groups of a loop share packed weights") {
  constexpr std::int64_t kManyRows = 33, kFewer = 16, kMore = 17, kOther = 4, kLength = 3;
  std::vector<float> want;
  for (const std::int64_t plain_rows : {std::int64_t{-1}, kFewer, kMore}) {
    INFO("groups of " << plain_rows << " rows read one of two weights as it lies");
    const Value h = matrix(kManyRows, kSize), w = matrix(kSize, kOther), v = matrix(kOther, kSize);
    const Value x = test::placeholder({DType::Float32, {kLength, kManyRows, kSize}});
    Running running({h, w, v, x}, loop(h, w, v, x, kLength, false), {}, plain_rows);
    REQUIRE(running.groups_of_step(0) == 2);
    float value = 0.1f;
    for (auto& feed : running.feeds) {
      for (float& one : feed) one = value = value > 1 ? value - 1.9f : value + 0.07f;
    }
    running.run();
    CHECK(running.packed() == 2);
    if (want.empty()) want = running.found[1];
    CHECK(running.found[1] == want);
  }
}

TEST_CASE("packing: packed operands are kept while the host declares them unchanged") {
  const Value h = matrix(kRows, kSize), w = matrix(kSize, kSize);
  const Value x = test::placeholder({DType::Float32, {4, kRows, kSize}});
  const Value first = ir::dot(h, {0, 1}, w, {1, 2}, {0, 2});
  std::vector<Value> results = loop(first, w, w, x, 4, false);
  Running running({h, w, x}, results, {false, true, false});
  const auto want = [&] {
    std::vector<float> begin(kRows * kSize, 0.0f);
    for (std::size_t i = 0; i < begin.size(); ++i) {
      for (std::size_t d = 0; d < kSize; ++d) {
        begin[i] +=
            running.feeds[0][i / kSize * kSize + d] * running.feeds[1][d * kSize + i % kSize];
      }
    }
    return plain(begin, running.feeds[1], running.feeds[2], 4, false);
  };
  running.versions[1] = 7;
  running.run();
  CHECK(running.packed() == 1);  // for the loop and for the matmul before it
  running.run();
  CHECK(running.packed() == 1);
  CHECK(running.found[1] == want());
  running.feeds[1][4] = -0.25f;
  running.versions[1] = 8;
  running.run();
  CHECK(running.packed() == 2);
  CHECK(running.found[1] == want());
  running.versions[1] = 0;  // not known: for each of the two, in every run
  running.run();
  running.run();
  CHECK(running.packed() == 6);
  CHECK(running.found[1] == want());
}

TEST_CASE("merged weights: concatenated weights are joined and packed again when one changes") {
  const Value h = matrix(kRows, kSize), w = matrix(kSize, 1), v = matrix(kSize, 2);
  const Value x = test::placeholder({DType::Float32, {4, kRows, kSize}});
  const Value joined = ir::concat({w, v}, 1), first = times(h, joined);
  Running running({h, w, v, x}, loop(first, joined, joined, x, 4, false),
                  {false, true, true, false});
  const auto want = [&] {
    std::vector<float> weights;
    for (std::size_t row = 0; row < kSize; ++row) {
      weights.push_back(running.feeds[1][row]);
      weights.push_back(running.feeds[2][2 * row]);
      weights.push_back(running.feeds[2][2 * row + 1]);
    }
    const std::vector<float> begin = plain_product(running.feeds[0], weights);
    return plain(begin, weights, running.feeds[3], 4, false);
  };
  float value = 0.1f;
  for (auto& feed : running.feeds) {
    for (float& one : feed) one = value = value > 1 ? value - 1.9f : value + 0.07f;
  }
  running.versions = {0, 7, 7, 0};
  running.run();
  CHECK(running.packed() == 1);  // for the loop and for the matmul before it
  const std::vector<float> before = want();
  CHECK(running.found[1] == before);
  for (const std::size_t changed : {1u, 2u}) {
    INFO("weight " << changed);
    const int packed = running.packed();
    const std::vector<float> old = want();
    running.feeds[changed][1] -= 0.5f;
    running.run();  // the host declares it unchanged
    CHECK(running.found[1] == old);
    CHECK(running.packed() == packed);
    ++running.versions[changed];
    running.run();
    CHECK(running.found[1] == want());
    CHECK(running.packed() == packed + 1);
  }
  running.versions[1] = 0;  // not known
  for (int i = 0; i < 2; ++i) {
    running.feeds[1][2] += 0.25f;
    running.run();
    CHECK(running.found[1] == want());
  }
  CHECK(running.packed() == 7);
}

TEST_CASE("merged weights: joined again after a failed run, although the versions are known") {
  const Value h = matrix(kRows, kSize), w = matrix(kSize, 1), v = matrix(kSize, 2);
  Running running({h, w, v}, {times(h, ir::concat({w, v}, 1))}, {false, true, true});
  running.versions = {0, 7, 7};
  running.run();
  const std::vector<float> want = running.found[0];
  running.feeds[1][0] = -4;
  running.versions[1] = 8;
  running.fails = true;
  CHECK_THROWS_AS(running.run(), InternalError);
  running.feeds[1][0] = 0.5f;
  running.versions[1] = 7;
  running.fails = false;
  running.run();
  CHECK(running.found[0] == want);
}

TEST_CASE("epilogue: bias and relu are fused when the matmul's own result has no other reader") {
  const Value x = matrix(kRows, kSize), w = matrix(kSize, kSize);
  const Value b = test::placeholder({DType::Float32, {kSize}});
  const Value matmul = ir::dot(x, {0, 1}, w, {1, 2}, {0, 2});
  const Value sum = matmul + ir::broadcast_to(b, {kRows, kSize});
  const Value zero = ir::zeros_like(sum);
  const Value relu = ir::select(ir::less_equal_to(sum, zero), zero, sum);
  {
    Running running({x, w, b}, {relu}, {});
    CHECK(running.program().kernels.empty());
    running.feeds[2] = {-9.0f, 0.25f, 1.0f};
    running.run();
    CHECK(running.found[0] == std::vector<float>{0, 1.0f, 1.75f, 0, 1.0f, 1.75f});
  }
  CHECK(Running({x, w, b}, {sum}, {}).program().kernels.empty());
  // Both are results: only the bias is fused, or nothing.
  CHECK(Running({x, w, b}, {matmul, relu}, {}).program().kernels.size() == 1);
  // Another use of the bias: added to columns of x, not one number for each column of the result.
  const Value column = test::placeholder({DType::Float32, {kRows}});
  const Value rows = ir::broadcast(column, {kRows, kSize}, {0});
  CHECK(Running({x, w, column}, {matmul + rows}, {}).program().kernels.size() == 1);
}

TEST_CASE("epilogue: elementwise consumers that no epilogue takes are one kernel, bias included") {
  const Value x = matrix(kRows, kSize), w = matrix(kSize, kSize);
  const Value b = test::placeholder({DType::Float32, {kSize}});
  const Value matmul = ir::dot(x, {0, 1}, w, {1, 2}, {0, 2});
  const Value sum = matmul + ir::broadcast_to(b, {kRows, kSize});
  for (const ir::Op op : {ir::Op::Tanh, ir::Op::Sigmoid}) {
    Running whole({x, w, b}, {ir::unary(op, sum)}, {});
    CHECK(whole.program().kernels.size() == 1);
    CHECK(whole.program().plan.steps.size() == 2);
    const std::string claims = print_claims(whole.program());
    INFO(claims);
    CHECK(claims.find(std::string("followed by a kernel for ") + std::string(ir::def(op).name) +
                      ": the library has no activations") != std::string::npos);
    Running parts({x, w, b}, {sum}, {});
    whole.feeds[2] = parts.feeds[2] = {-0.5f, 0.25f, 1.0f};
    whole.run();
    parts.run();
    for (std::size_t i = 0; i < parts.found[0].size(); ++i) {
      const double y = static_cast<double>(parts.found[0][i]);
      const double want = op == ir::Op::Tanh ? std::tanh(y) : 1 / (1 + std::exp(-y));
      CHECK(static_cast<double>(whole.found[0][i]) == Approx(want).epsilon(1e-5));
    }
  }
}
