// Tests how often the matmuls of a training step pack a weight. Steps run as they are planned, with
// matmuls that only count and kernels that do nothing.
#include "tests/support/catch.h"
#include "tests/backends/codegen/lowered.h"

#include "backends/codegen/host/bind/bind_plan.h"
#include "backends/codegen/host/run.h"
#include "backends/cpu/cpu_library.h"
#include "core/k/base/tensor_impl.h"
#include "core/passes/pipeline.h"

#include <kiln/k.h>

#include <algorithm>

using namespace kiln;
using namespace kiln::codegen;

namespace {

struct Packed {
  const void* matrix;
  std::int64_t elements;
};

class CountedMatmul final : public PreparedMatmul {
 public:
  CountedMatmul(std::shared_ptr<const PreparedMatmul> real, const MatmulShape& shape,
                std::vector<Packed>& log)
      : real_(std::move(real)), elements_(shape.k * shape.n), log_(log) {}
  std::size_t scratch_bytes() const override { return real_->scratch_bytes(); }
  std::size_t packed_bytes() const override { return real_->packed_bytes(); }
  void pack(const void* rhs, void*) const override { log_.push_back({rhs, elements_}); }
  /// Matmuls with scratch pack in every run.
  void run(const void*, const void* rhs, const void*, void*, void*) const override {
    if (scratch_bytes() != 0) log_.push_back({rhs, elements_});
  }

 private:
  std::shared_ptr<const PreparedMatmul> real_;
  std::int64_t elements_;
  std::vector<Packed>& log_;
};

class CountingLibrary final : public HostLibrary {
 public:
  std::optional<std::string> rejection_of_matmul(const MatmulRequest& matmul) const override {
    return real_.rejection_of_matmul(matmul);
  }
  std::shared_ptr<const PreparedMatmul> prepare(const MatmulShape& shape, RhsUse use) override {
    return std::make_shared<CountedMatmul>(real_.prepare(shape, use), shape, log);
  }
  std::vector<Packed> log;

 private:
  cpu::CpuLibrary real_{cpu::GemmIsa::Baseline};
};

sdk::Host host_with_one_thread() {
  kiln_host_api api{};
  api.parallel_for = [](void*, std::uint64_t n, kiln_range_fn body, void* context) {
    return n == 0 ? std::uint32_t{KILN_CODE_OK} : body(context, 0, n);
  };
  return {api, nullptr};
}

/// The weights that a second call packs, for a step that moves each weight against its gradient.
/// Weights are inputs that change from call to call, as in a training step.
std::vector<Packed> packed_by_step(const std::vector<Tensor>& inputs, const Tensor& loss,
                                   const std::vector<Tensor>& weights) {
  ir::Graph graph;
  for (const Tensor& input : inputs) graph.inputs.push_back(value_of(input, "inputs"));
  graph.outputs.push_back(value_of(loss, "loss"));
  const std::vector<Tensor> slopes = gradients(loss, weights);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Tensor moved = weights[i] - 0.1 * slopes[i];
    graph.updates.push_back({value_of(weights[i], "weights"), value_of(moved, "weights")});
  }
  graph = passes::run_pipeline(graph);
  CountingLibrary library;
  std::vector<ir::Value> arguments = graph.inputs;
  for (const ir::Update& update : graph.updates) arguments.push_back(update.variable);
  const Program program = lowered(arguments, graph.roots(), &library);
  const KernelFunction nothing{[](const void*, const KernelArguments*) {}, nullptr};
  const KernelFunctions kernels(program.kernels.size(), nothing);
  const EvaluateDim evaluate = [](const ir::Dim& dim) { return dim.value(); };
  const ProgramFacts facts(program, std::vector<bool>(arguments.size(), false));
  SharedWeights weights_of_program;
  const auto sized = std::make_shared<SizedPlan>(0);
  sized->plan = bind_program({.program = program,
                              .facts = facts,
                              .functions = kernels,
                              .evaluate = evaluate,
                              .forms = weights_of_program,
                              .library = &library,
                              .memory = {.plan = &sized->memory.blocks}});
  CallMemory memory_of_call;
  memory_of_call.prepare(sized);
  std::vector<std::vector<std::byte>> memory;
  for (const std::vector<SlotId>* slots : {&program.plan.arguments, &program.plan.results}) {
    for (const SlotId slot : *slots) {
      if (!slot) continue;
      const std::int64_t bytes = sized->plan->sizes.bytes[slot];
      memory.emplace_back(static_cast<std::size_t>(bytes));
      memory_of_call.list().set_address(slot, memory.back().data());
    }
  }
  const sdk::Host host = host_with_one_thread();
  RunContext context;
  context.program = &program;
  context.host = &host;
  context.weights = &weights_of_program;
  run_plan(memory_of_call, context);
  library.log.clear();
  run_plan(memory_of_call, context);
  return library.log;
}

void check_packed_once(const std::vector<Packed>& packed, const std::vector<Tensor>& matrices) {
  std::int64_t weights = 0, elements = 0;
  for (const Tensor& matrix : matrices) {
    const auto dims = int_shape(matrix);
    weights += dims[0].value() * dims[1].value();
  }
  std::vector<const void*> addresses;
  for (const Packed& one : packed) {
    elements += one.elements;
    addresses.push_back(one.matrix);
  }
  std::sort(addresses.begin(), addresses.end());
  INFO(packed.size() << " times, " << elements << " elements; the weights have " << weights);
  CHECK(!packed.empty());
  CHECK(std::adjacent_find(addresses.begin(), addresses.end()) == addresses.end());
  CHECK(elements <= weights);
}

Tensor weight(std::int64_t rows, std::int64_t columns) { return zeros({rows, columns}); }

/// h of an LSTM with one weight matrix per gate.
RnnResult lstm(const Tensor& x, const std::vector<Tensor>& w, const std::vector<Tensor>& u,
               std::int64_t samples) {
  const std::int64_t units = int_shape(u[0])[0].value();
  const Tensor zero = constant(Array::zeros({samples, units}));
  return rnn(
      [&](const Tensor& in, const std::vector<Tensor>& s) {
        const auto gate = [&](std::size_t i) { return dot(in, w[i]) + dot(s[0], u[i]); };
        const Tensor c = sigmoid(gate(0)) * s[1] + sigmoid(gate(1)) * tanh(gate(2));
        const Tensor h = sigmoid(gate(3)) * tanh(c);
        return StepResult{h, {h, c}};
      },
      x, {zero, zero});
}

struct LstmMatrices {
  LstmMatrices(std::int64_t inputs, std::int64_t units) {
    for (int i = 0; i < 4; ++i) {
      w.push_back(weight(inputs, units));
      u.push_back(weight(units, units));
    }
  }
  std::vector<Tensor> all() const {
    std::vector<Tensor> joined = w;
    joined.insert(joined.end(), u.begin(), u.end());
    return joined;
  }
  std::vector<Tensor> w, u;
};

}  // namespace

TEST_CASE("packing: a training step through an LSTM packs each weight at most once") {
  for (const std::int64_t samples : {1, 4, 32}) {
    const LstmMatrices cell(64, 128);
    const Tensor x = placeholder({.shape = {samples, 50, 64}});
    const Tensor loss = mean(square(lstm(x, cell.w, cell.u, samples).last_output));
    INFO(samples << " samples");
    check_packed_once(packed_by_step({x}, loss, cell.all()), cell.all());
  }
}

TEST_CASE("packing: a training step of a character model packs each weight at most once") {
  constexpr std::int64_t kSamples = 32, kTime = 40, kCharacters = 96, kUnits = 128;
  const Tensor x = placeholder({.shape = {kSamples, kTime}, .dtype = "int32"});
  const Tensor y = placeholder({.shape = {kSamples, kTime}, .dtype = "int32"});
  const LstmMatrices first(64, kUnits), second(kUnits, kUnits);
  const Tensor embedding = weight(kCharacters, 64), dense = weight(kUnits, kCharacters);
  const Tensor h = lstm(gather(embedding, x), first.w, first.u, kSamples).outputs;
  const Tensor logits = dot(lstm(h, second.w, second.u, kSamples).outputs, dense);
  const Tensor loss = mean(sparse_categorical_crossentropy(y, logits, {.from_logits = true}));
  std::vector<Tensor> matrices = first.all();
  for (const Tensor& matrix : second.all()) matrices.push_back(matrix);
  matrices.push_back(dense);
  std::vector<Tensor> weights = matrices;
  weights.push_back(embedding);
  check_packed_once(packed_by_step({x, y}, loss, weights), matrices);
}

TEST_CASE("packing: a dense layer over many rows packs its weight at most once") {
  const Tensor x = placeholder({.shape = {2048, 96}}), w = weight(96, 96), v = weight(96, 96);
  const Tensor loss = mean(square(dot(relu(dot(x, w)), v)));
  check_packed_once(packed_by_step({x}, loss, {w, v}), {w, v});
}
