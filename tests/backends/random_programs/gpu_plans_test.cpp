// Lowers programs for the description of a GPU, on a machine without one: plans verify, and differ
// from plans for CPUs where more parallelism should change them.
#include "tests/support/catch.h"
#include "tests/backends/codegen/grid_emulation.h"
#include "tests/backends/codegen/lowered.h"
#include "tests/core/ops/evaluate.h"
#include "tests/backends/random_programs/check_grid_kernel.h"
#include "tests/backends/random_programs/check_row_loops.h"
#include "tests/backends/random_programs/coverage_templates.h"
#include "tests/backends/random_programs/gpu_programs.h"

#include "tests/backends/codegen/traffic.h"
#include "core/ops/build.h"

#include <algorithm>
#include <optional>

using namespace kiln;
using namespace kiln::testing;
using codegen::TargetDescription;

namespace {

std::string plan_of(const ir::Graph& graph, const TargetDescription& target) {
  return print(program_of(graph, target));
}

std::size_t transcendentals_of(const codegen::Program& program, const codegen::KernelStep& step) {
  const auto& kernel = program.kernels[step.kernel].kernel;
  const auto is_one = [](const codegen::Expression& e) {
    return e.kind == codegen::ExpressionKind::Apply &&
           (e.op == ir::Op::Tanh || e.op == ir::Op::Sigmoid);
  };
  return static_cast<std::size_t>(
      std::count_if(kernel.expressions.begin(), kernel.expressions.end(), is_one));
}

/// Whether the plans for a CPU and a GPU differ.
bool differs(const ir::Graph& graph) { return plan_of(graph, kCpu) != plan_of(graph, kGpu); }

/// The number of the program's kernels that were run as a grid.
int check_grid_runs(const Program& program) {
  const std::optional<codegen::Program> lowered = gpu_program_of(program);
  if (!lowered) return 0;
  const auto& kernels = lowered->kernels;
  return static_cast<int>(std::count_if(kernels.begin(), kernels.end(), check_grid_run));
}

/// Whether lanes compute groups of points, in blocks of two warps.
bool has_row_vectors(const codegen::Kernel& kernel) {
  const codegen::GridSchedule schedule = schedule_grid(kernel, kiln::test::kTwoWarps);
  return schedule.form == codegen::GridForm::Rows && schedule.elements > 1;
}

Program softmax_rows(std::int64_t columns) {
  const Tensor x = fed({4096, columns}), weights = fed({4096, columns});
  const Tensor y = softmax(x);
  Program program = trained({x, weights}, {y}, sum(y * weights));
  return program;
}

Program layer_norm() {
  const Tensor x = fed({4096, 1024}), gamma = fed({1024}), beta = fed({1024});
  const Tensor weights = fed({4096, 1024});
  const AxisOptions rows{.axis = 1, .keepdims = true};
  const Tensor centred = x - mean(x, rows);
  const Tensor y = centred / sqrt(mean(square(centred), rows) + 1e-5) * gamma + beta;
  return trained({x, gamma, beta, weights}, {y}, sum(y * weights));
}

Program batch_norm() {
  const Tensor x = fed({64, 28, 28, 64}), gamma = fed({64}), beta = fed({64});
  const Tensor weights = fed({64, 28, 28, 64});
  const auto normalized = normalize_batch_in_training(x, gamma, beta, {0, 1, 2});
  return trained({x, gamma, beta, weights}, {normalized.normed}, sum(normalized.normed * weights));
}

Program adam() {
  Program program;
  for (const std::vector<std::int64_t>& dims : {std::vector<std::int64_t>{1 << 20}, {300, 200}}) {
    const Tensor w = fed(dims), g = fed(dims), m = fed(dims), v = fed(dims);
    const Tensor first = m * 0.9 + g * 0.1, second = v * 0.999 + square(g) * 0.001;
    program.inputs.insert(program.inputs.end(), {w, g, m, v});
    program.outputs.insert(program.outputs.end(),
                           {w - first * 1e-3 / (sqrt(second) + 1e-8), first, second});
  }
  return program;
}

/// The loss of CTC, whose states depend on neighbours in their row, for `samples` rows.
Program ctc(std::int64_t samples) {
  const Tensor x = fed({samples, 6, 5});
  const auto all = [&](double length) {
    return constant(Array::full({samples, 1}, length, DType::Int32));
  };
  const Tensor labels = constant(Array::full({samples, 3}, 2, DType::Int32));
  const Tensor loss = ctc_batch_cost(labels, softmax(x), all(6), all(3));
  return trained({x}, {loss}, sum(loss));
}

/// Whether the traffic of the kernel is not that of its operands: it gathers rows, which may be
/// equal, or it has a mask with step numbers alone. rnn has both for masked samples; they are small
/// beside its inputs.
bool is_exempt(const codegen::Kernel& kernel) {
  const bool gathers = std::any_of(kernel.accesses.begin(), kernel.accesses.end(),
                                   [](const codegen::Access& one) { return one.dynamic; });
  const bool has_float =
      std::any_of(kernel.expressions.begin(), kernel.expressions.end(),
                  [](const codegen::Expression& one) { return is_float(one.dtype); });
  return gathers || !has_float;
}

void check_traffic(const codegen::Program& program,
                   const std::function<std::int64_t(const ir::Dim&)>& evaluate) {
  for (const codegen::BuiltKernel& built : program.kernels) {
    if (is_exempt(built.kernel)) continue;
    const codegen::GridSchedule schedule = schedule_grid(built.kernel, {});
    INFO(print(built.kernel) << print(schedule));
    const auto compulsory = static_cast<double>(compulsory_traffic(built.kernel, evaluate).bytes());
    const auto moved = static_cast<double>(traffic_of(built.kernel, schedule, evaluate).bytes());
    CHECK(moved <= 1.05 * compulsory);
  }
}

}  // namespace

TEST_CASE("GPU kernels: those of normalisations and Adam move little more than their operands") {
  const struct {
    const char* name;
    Program program;
  } rows[] = {{"softmax of a few", softmax_rows(86)},
              {"softmax", softmax_rows(1000)},
              {"layer norm", layer_norm()},
              {"batch norm", batch_norm()},
              {"Adam", adam()}};
  const auto evaluate = [](const ir::Dim& dim) { return dim.value(); };
  for (const auto& row : rows) {
    INFO(row.name);
    const std::optional<codegen::Program> program = gpu_program_of(row.program);
    REQUIRE(program.has_value());
    CHECK(!program->kernels.empty());
    check_traffic(*program, evaluate);
  }
}

TEST_CASE("GPU kernels: those of the examples move little more than their operands") {
  const auto evaluate = [](const ir::Dim& dim) {
    return ir::evaluate(dim, [](const ir::Symbol&) { return std::int64_t{64}; });
  };
  for (const char* command :
       {"char_rnn' --hidden 256 --batch 32 --time 64 --steps 1",
        "digits_cnn' --data small.csv --batch 6 --epochs 1",
        "digits_ctc' --data small.csv --batch 6 --units 8 --numbers 12 --steps 1"}) {
    INFO(command);
    std::size_t kernels = 0;
    for (const ir::Graph& graph : graphs_of(command)) {
      const codegen::Program program = program_of(graph, kGpu);
      check_traffic(program, evaluate);
      kernels += program.kernels.size();
    }
    CHECK(kernels > 30);
  }
}

TEST_CASE("GPU plans: the models of the examples are lowered") {
  const struct {
    const char* command;
    std::vector<const char*> steps;  // of some plan
  } rows[] = {
      {"char_rnn' --hidden 32 --batch 8 --time 20 --steps 1", {"matmul %", "loop ("}},
      {"digits_cnn' --data small.csv --batch 6 --epochs 1", {"matmul %", "convolution %"}},
      {"digits_cnn' --data small.csv --batch 6 --epochs 1 --data-format channels_first",
       {"matmul %", "convolution %"}},
      {"digits_ctc' --data small.csv --batch 6 --units 8 --numbers 12 --steps 1",
       {"matmul %", "loop ("}},
  };
  for (const auto& row : rows) {
    INFO(row.command);
    const std::vector<ir::Graph> graphs = graphs_of(row.command);
    CHECK(graphs.size() >= 2);
    std::string plans;
    bool updates = false;  // the step that trains is among them
    for (const ir::Graph& graph : graphs) {
      plans += plan_of(graph, kGpu);
      updates = updates || !graph.updates.empty();
    }
    CHECK(updates);
    for (const char* step : row.steps) {
      INFO(step);
      CHECK(plans.find(step) != plans.npos);
    }
  }
}

TEST_CASE("GPU plans: loops of the character model have no copies and one matmul each") {
  const std::vector<ir::Graph> graphs =
      graphs_of("char_rnn' --hidden 32 --batch 8 --time 20 --steps 1");
  std::size_t loops = 0;
  for (const ir::Graph& graph : graphs) {
    const codegen::Program program = program_of(graph, kCpu);
    const std::vector<codegen::Step>& steps = program.plan.steps;
    const auto outside = std::count_if(steps.begin(), steps.end(), [](const codegen::Step& step) {
      return std::holds_alternative<codegen::MatmulStep>(step);
    });
    // Training: x with the kernel of all gates, the scores, and 5 gradients: of both operands of
    // the scores' matmul, of x, and of the kernel and the recurrent kernel.
    if (!graph.updates.empty()) CHECK(outside == 7);
    for (const codegen::Step& step : steps) {
      const auto* loop = std::get_if<codegen::LoopStep>(&step);
      if (!loop) continue;
      ++loops;
      std::size_t transcendental = 0, products = 0;
      for (const codegen::Step& inner : loop->body->steps) {
        CHECK_FALSE(std::holds_alternative<codegen::CopyStep>(inner));
        products += std::holds_alternative<codegen::MatmulStep>(inner) ? 1 : 0;
        const auto* kernel = std::get_if<codegen::KernelStep>(&inner);
        if (kernel) transcendental += transcendentals_of(program, *kernel);
      }
      CHECK(products == 1);
      const bool is_backward = loop->node->as<ir::ScanAttrs>().reverse;
      CHECK(transcendental == (is_backward ? 0 : 5));  // three sigmoids, two tanhs
    }
  }
  CHECK(loops >= 3);  // training has two, evaluation one
}

TEST_CASE("GPU plans: random programs and templates are lowered, and their kernels run on a grid") {
  int run = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    clear_session();
    const Program program = random_program(seed);
    INFO("seed " << seed << ": " << program.text);
    CHECK_NOTHROW(run += check_grid_runs(program));
  }
  CHECK(run > 150);
  // Some of the kernels also run as text.
  TextSample sample;
  int owners = 0, row_vectors = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    clear_session();
    const std::optional<codegen::Program> lowered = gpu_program_of(random_program(seed));
    if (!lowered) continue;
    for (const codegen::BuiltKernel& built : lowered->kernels) {
      owners += schedule_grid(built.kernel, {}).form == codegen::GridForm::Owners ? 1 : 0;
      row_vectors += has_row_vectors(built.kernel) ? 1 : 0;
      sample.add(built);
    }
  }
  CHECK(owners > 4);
  CHECK(row_vectors > 4);
  CHECK(sample.check() > 50);
  for (const Template& one : coverage_templates()) {
    clear_session();
    INFO("template: " << one.name);
    CHECK_NOTHROW(check_grid_runs(one.make()));
  }
}

TEST_CASE(
    "GPU plans: loops of random programs are one kernel, with the bits of a launch per step") {
  int loops = 0, as_text = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    clear_session();
    const Program program = random_program(seed);
    INFO("seed " << seed << ": " << program.text);
    const std::optional<codegen::Program> lowered = gpu_program_of(program);
    if (!lowered) continue;
    const int here = check_row_loops(*lowered, kiln::test::kTwoWarps, as_text < 12);
    loops += here;
    as_text += here;
    check_row_loops(*lowered, kiln::test::kSmallDevice, false);
  }
  CHECK(loops > 20);
  for (const std::int64_t samples : {1, 7, 40}) {
    INFO("CTC of " << samples);
    const std::optional<codegen::Program> lowered = gpu_program_of(ctc(samples));
    REQUIRE(lowered.has_value());
    for (const codegen::GridDescription& device :
         {codegen::GridDescription{}, kiln::test::kTwoWarps, kiln::test::kSmallDevice}) {
      CHECK(check_row_loops(*lowered, device, true) == 2);
    }
  }
  int in_templates = 0;
  for (const Template& one : coverage_templates()) {
    clear_session();
    INFO("template: " << one.name);
    const std::optional<codegen::Program> lowered = gpu_program_of(one.make());
    if (lowered) in_templates += check_row_loops(*lowered, {}, true);
  }
  CHECK(in_templates > 0);
}

TEST_CASE("GPU plans: launches divide reductions, which split kernels do elsewhere") {
  const auto kernels_of = [](const ir::Dims& dims, const ir::Ints& axes, bool is_followed,
                             const TargetDescription& target) {
    const ir::Value x = kiln::test::placeholder({DType::Float32, dims});
    const ir::Value total = ir::reduce_sum(x, axes);
    ir::Graph graph;
    graph.inputs = {x};
    graph.outputs = {is_followed ? x - ir::broadcast_over(total, dims, axes) : total};
    return program_of(graph, target).kernels.size();
  };
  const ir::Dim n = ir::Dim::fresh("n");
  const struct {
    ir::Dims dims;
    ir::Ints axes;
    std::size_t sum_on_cpu, sum_on_gpu, centred_on_gpu;
  } rows[] = {
      {{1000, 1000}, {0, 1}, 2, 1, 2},
      {{700, 700}, {0, 1}, 2, 1, 1},  // little work: one block does all
      {{n}, {0}, 1, 1, 2},  // parts for the sizes of a call
      {{64, 64, 4096}, {0, 1}, 1, 1, 2},  // too few columns
      {{64, 64, 1 << 14}, {0, 1}, 1, 1, 1},  // columns enough
      {{1000, 1000}, {1}, 1, 1, 1},  // rows enough
      {{200, 1 << 14}, {1}, 1, 1, 2},  // too few rows
  };
  for (const auto& row : rows) {
    INFO("row " << &row - rows);
    CHECK(kernels_of(row.dims, row.axes, false, kCpu) == row.sum_on_cpu);
    CHECK(kernels_of(row.dims, row.axes, false, kGpu) == row.sum_on_gpu);
    CHECK(kernels_of(row.dims, row.axes, true, kGpu) == row.centred_on_gpu);
  }
}

TEST_CASE("GPU plans: few points are divided into more parts than on a CPU") {
  const auto input = [](ir::Dims dims) {
    return kiln::test::placeholder({DType::Float32, std::move(dims)});
  };
  ir::Graph graph;
  // 1,024 rows: 64 blocks of 16 on a CPU, 128 of 8 on a GPU.
  const ir::Value y = input({1024, 512}), z = ir::unary(ir::Op::Exp, y);
  graph.inputs = {y};
  graph.outputs = {ir::reduce_sum(z, {1}), ir::reduce_sum(z, {0})};
  CHECK(differs(graph));
  // Nothing is reduced.
  graph.outputs = {z};
  CHECK_FALSE(differs(graph));
}
