// Tests each pass of the pipeline on a small program that it changes. Compares the state of the
// compilation as text, before and after the pass.
#include "tests/support/catch.h"
#include "tests/backends/codegen/lowered.h"
#include "tests/support/has.h"

#include "backends/codegen/plan/verify_plan.h"
#include "core/k/base/tensor_impl.h"
#include "core/module/print.h"
#include "core/ops/build.h"
#include "core/ops/lambda_builder.h"
#include "core/ops/rewrite_graph.h"
#include "core/types/text.h"

#include <kiln/k.h>

#include <algorithm>
#include <functional>
#include <numeric>

using namespace kiln;
using namespace kiln::codegen;

namespace {

class EveryLibraryCall final : public LibraryClaims {
 public:
  std::optional<std::string> rejection_of_matmul(const MatmulRequest&) const override {
    return std::nullopt;
  }
  std::optional<std::string> rejection_of_convolution(const ir::Node& node) const override {
    if (node.types[0].dtype == DType::Float32) return std::nullopt;
    return "not float32";
  }
  std::optional<std::string> rejection_of_row_update(const ir::Node&) const override {
    return std::nullopt;
  }
  bool requires_symmetric_padding() const override { return true; }
  bool takes_filters_first() const override { return true; }
  std::optional<std::string> rejection_of_narrow_rhs(const ir::Node&, DType) const override {
    return std::nullopt;
  }
};

struct Sample {
  std::vector<Tensor> arguments, results;
  std::vector<InputOutputAlias> updates = {};
  std::vector<ir::Value> values = {};  // further results
  std::vector<bool> unchanged = {};    // of each argument
};

struct Row {
  const char* pass;
  Sample (*make)();
  const char* before;  // part of the state before the pass and not after it; or null
  const char* after;   // part of the state after the pass and not before it; or null
};

Tensor input(Shape shape, const char* dtype = "float32") {
  return placeholder({.shape = std::move(shape), .dtype = dtype});
}

/// h = tanh(dot(h, w) + x[t]) for 32 rows; all h.
Sample loop_of(std::int64_t units) {
  const Tensor x = input({32, 5, units}), w = input({units, units}), first = input({32, units});
  const StepFunction step = [&](const Tensor& now, const std::vector<Tensor>& states) {
    const Tensor next = tanh(dot(states[0], w) + now);
    return StepResult{next, {next}};
  };
  const RnnResult result = rnn(step, x, {first});
  return {{x, w, first}, {sum(result.outputs)}};
}
Sample loop() { return loop_of(8); }

ir::Value value(const Tensor& tensor) { return value_of(tensor, "tensor"); }

/// A loop that stacks x + h twice: as it is, and reshaped to sizes that only a guard holds equal.
Sample stacked_twice() {
  const Tensor first = input({None, 3}), other = input({None, 3});
  const ir::Value h = value(first);
  const ir::Dim same = value(other).dims()[0];
  const ir::LambdaBuilder body({{DType::Int64, {}}, h.type()});
  const ir::Value next = ir::binary(ir::Op::Add, body.parameters()[1], body.parameters()[1]);
  const auto closure = body.close({next, next, ir::reshape(next, {same, 3})}, 1, {});
  return {{first, other}, {}, {}, ir::results_of(ir::make_scan(closure, {h}, {}, 5, false))};
}

const Row kRows[] = {
    {"check_sizes",
     [] {
       const Tensor x = input({None}), y = input({None});
       return Sample{{x, y}, {x + y}};
     },
     "guards: 0", "guards: 1"},
    {"widen_composites",
     [] {
       const Tensor x = input({2, 8, 8, 3}, "bfloat16"), w = input({3, 3, 3, 4}, "bfloat16");
       return Sample{{x, w}, {conv2d(x, w)}};
     },
     "= conv %0 %1 ", "dtype=float32"},
    {"expand_composites",
     [] {
       const Tensor x = input({4, 8});
       return Sample{{x}, {softmax(x)}};
     },
     "= softmax ", "= exp "},
    {"sink_permutes",
     [] {
       const Tensor x = input({2, 8, 8, 3}), w = input({3, 3, 3, 4});
       const Tensor first = permute_dimensions(x, {0, 3, 1, 2});
       return Sample{{x, w}, {conv2d(permute_dimensions(exp(first), {0, 2, 3, 1}), w)}};
     },
     "= permute ", nullptr},
    {"sink_repetitions",
     [] {
       const Tensor x = input({2, 4, 4, 3}), mean = input({3});
       const Tensor y = resize_images(exp(x), 2, 2, "channels_last") - mean;
       return Sample{{x, mean}, {permute_dimensions(y, {0, 3, 1, 2})}};
     },
     nullptr, ": float32[2,4,2,4,2,3] ; operator-"},
    {"raise_permutes",
     [] {
       const Tensor x = input({2, 4, 4, 3});
       return Sample{{x}, {permute_dimensions(exp(x) - 1.0, {0, 3, 1, 2})}};
     },
     nullptr, "= permute %0 "},
    {"fold_scales",
     [] {
       const Tensor x = input({2, 8, 8, 3}), w = input({3, 3, 3, 4}), scale = input({4});
       return Sample{{x, w, scale}, {conv2d(x, w) * scale}, {}, {}, {false, true, true}};
     },
     "= conv %0 %1 ", "= mul %1 "},
    {"make_padding_symmetric",
     [] {
       const Tensor x = input({2, 8, 8, 3}), w = input({3, 3, 3, 4});
       const Tensor y = conv2d(x, w, {.strides = 2, .padding = "same"});
       return Sample{{x, w}, {y, gradients(sum(y), {x, w})[0]}};
     },
     nullptr, "= pad "},
    {"share_relu_masks",
     [] {
       const Tensor x = input({4, 8}), w = input({8, 8}), g = input({4, 8});
       const Tensor y = relu(dot(x, w));
       return Sample{{x, w, g}, {y, gradients(sum(y * g), {w})[0]}};
     },
     nullptr, nullptr},
    {"merge_loop_results", stacked_twice, nullptr, nullptr},
    {"widen_accumulators",
     [] {
       const Tensor x = input({4, 8}, "bfloat16");
       return Sample{{x}, {sum(x)}};
     },
     nullptr, "dtype=float32"},
    {"update_rows",
     [] {
       const Tensor table = input({9, 4}), x = input({5}, "int32");
       const Tensor slope = gradients(sum(square(gather(table, x))), {table})[0];
       return Sample{{x, table}, {table - 0.1 * slope}, {{0, 1}}};
     },
     "= scatter_add ", "= scatter_sub "},
    {"decide_claims",
     [] {
       const Tensor x = input({4, 8}), w = input({8, 8});
       return Sample{{x, w}, {tanh(dot(x, w))}};
     },
     "computations: 0", "taken: matmul"},
    {"fuse",
     [] {
       const Tensor x = input({4, 8});
       return Sample{{x}, {tanh(x), sum(x)}};
     },
     nullptr, "group: 2 members"},
    {"build_kernels",
     [] {
       const Tensor x = input({4, 8});
       return Sample{{x}, {tanh(x)}};
     },
     nullptr, "kernel k0"},
    {"split_reductions",
     [] {
       const Tensor x = input({1000, 1000});
       return Sample{{x}, {sum(x)}};
     },
     nullptr, "_total"},
    {"build_plan",
     [] {
       const Tensor x = input({4, 8}), w = input({8, 8});
       return Sample{{x, w}, {tanh(dot(x, w))}};
     },
     nullptr, "matmul %"},
    {"stack_carries", loop, "carries in stacks: 0", "carries in stacks: 1"},
    {"fuse_epilogues",
     [] {
       const Tensor x = input({4, 8}), w = input({8, 8}), b = input({8});
       return Sample{{x, w, b}, {relu(bias_add(dot(x, w), b))}};
     },
     nullptr, nullptr},
    {"read_narrow_weights",
     [] {
       const Tensor x = input({4, 8}), w = variable(Array::zeros({8, 5}), {.dtype = "bfloat16"});
       Sample sample{{x, w}, {dot(x, cast(w, "float32"))}};
       sample.unchanged = {false, true};
       return sample;
     },
     nullptr, "float32(%"},
    {"transpose_filters",
     [] {
       const Tensor x = input({2, 8, 8, 3}), w = input({3, 3, 3, 4});
       return Sample{{x, w}, {conv2d(x, w)}};
     },
     nullptr, "_transpose_filter"},
    {"drop_unused_kernels",
     [] {
       const Tensor x = input({4, 8}), w = input({8, 8}), b = input({8});
       return Sample{{x, w, b}, {relu(bias_add(dot(x, w), b))}};
     },
     "kernels: 1", "kernels: 0"},
    {"drop_roundings",
     [] {
       const Tensor x = input({4, 8}, "float16");
       return Sample{{x}, {tanh(x) * x + 1.0}};
     },
     "float16 = tanh(", "float32 = tanh("},
    {"order_loops",
     [] {
       const Tensor x = input({4, 8});
       return Sample{{x}, {tanh(x)}};
     },
     nullptr, nullptr},
    {"note_claims",
     [] {
       const Tensor x = input({4, 8}), w = input({8, 8});
       return Sample{{x, w}, {dot(x, w)}};
     },
     "outcomes: 0", "outcomes: 1"},
    {"find_independent_rows", loop, "sharded loops: 0", "sharded loops: 1"},
    {"fuse_loops",
     [] {
       const Tensor x = input({32, 5, 8}), first = input({32, 8});
       const StepFunction step = [](const Tensor& now, const std::vector<Tensor>& states) {
         const Tensor next = tanh(states[0] + now);
         return StepResult{next, {next}};
       };
       return Sample{{x, first}, {sum(rnn(step, x, {first}).outputs)}};
     },
     nullptr, ", one kernel"},
    {"find_region",
     [] {
       const Tensor x = input({4, 8}), w = input({8, 8});
       return Sample{{x, w}, {tanh(x), tanh(dot(x, w))}};
     },
     "region: 0", "region: 2"},
    {"gather_equal_kernels",
     [] {
       const Tensor x = input({4, 8}), w = input({8, 6}, "int32"), v = input({6, 5}, "int32");
       return Sample{{x, w, v}, {dot(dot(x, cast(w, "float32")), cast(v, "float32"))}};
     },
     nullptr, "at the beginning: 2 steps of equal kernels"},
    {"find_buffer_aliases",
     [] {
       const Tensor v = input({4, 8});
       const ir::Type type = ir::Type{DType::Float32, value(v).dims()};
       const ir::Value sum = ir::make(
           ir::Op::HostCall,
           ir::HostCallAttrs{.function = "collective_wait", .payload = {}, .results = {type}},
           {ir::scalar_constant_int(DType::Int64, 0)});
       return Sample{{v}, {}, {{0, 0}}, {ir::make(ir::Op::Sub, {}, {value(v), sum})}};
     },
     nullptr, "host_call collective_agree"},
    {"find_buffer_aliases",
     [] {
       const Tensor x = input({4, 8}), v = input({4, 8});
       return Sample{{x, v}, {v - x}, {{0, 1}}};
     },
     "in place: 0", "in place: 1"},
};

std::string state_of(Compilation& c) {
  ir::Graph graph;
  graph.outputs = c.results;
  std::string out = module::print_graph(graph);
  out += text("guards: ", c.guards.size(), "\ncomputations: ", c.computations.size(), "\n");
  for (const Computation& computation : c.computations) {
    for (const ClaimDecision& decision : computation.claims) {
      if (decision.taken_by) out += text("taken: ", decision.taken_by->name, "\n");
    }
  }
  for (const FusionPlan& plan : c.fusion_plans) {
    for (const FusionGroup& group : plan.groups) {
      const auto* kernel = std::get_if<KernelGroup>(&group);
      out += text("group: ", kernel ? kernel->members.size() : 0, " members\n");
    }
  }
  out += text("kernels: ", c.program.kernels.size(), "\n");
  for (const BuiltKernel& built : c.program.kernels) out += print(built.kernel);
  std::size_t stacks = 0, sharded = 0, region = 0;
  for (const Plan* plan : plans_of(c)) {
    region += plan->region_end - plan->region_begin;
    for (const Step& step : plan->steps) {
      const auto* one = std::get_if<LoopStep>(&step);
      if (!one) continue;
      stacks += one->carry_stacks.size();
      sharded += one->independent_rows ? 1 : 0;
    }
  }
  out += text("carries in stacks: ", stacks, "\nsharded loops: ", sharded, "\nregion: ", region,
              "\noutcomes: ", c.program.claims.size(), "\n");
  const auto in_place = std::count(c.updates_in_place.begin(), c.updates_in_place.end(), 1);
  out += text("in place: ", in_place, "\n");
  return c.program.plan.slots.empty() ? out : out + print(c.program);
}

/// The state of the program before that pass. `library` must outlive it.
Compilation compiled_until(std::string_view pass, const Sample& sample,
                           const EveryLibraryCall& library) {
  Compilation c;
  for (const Tensor& argument : sample.arguments) c.arguments.push_back(value(argument));
  c.results = sample.values;
  for (const Tensor& result : sample.results) c.results.push_back(value(result));
  c.updates = sample.updates;
  c.unchanged = sample.unchanged;
  c.library = &library;
  c.target.batches_launches = true;
  c.target.loop_bytes = 1 << 12;
  c.loop_transform = order_loops;
  for (const CodegenPass& earlier : pipeline()) {
    if (earlier.name == pass) break;
    earlier.run(c);
  }
  return c;
}

using kiln::testing::has;

}  // namespace

TEST_CASE("pipeline: each pass changes a program that it is for") {
  const EveryLibraryCall library;
  for (const CodegenPass& pass : pipeline()) {
    INFO(pass.name);
    const Row* row = std::find_if(std::begin(kRows), std::end(kRows),
                                  [&](const Row& one) { return one.pass == pass.name; });
    REQUIRE(row != std::end(kRows));
    Compilation c = compiled_until(pass.name, row->make(), library);
    const std::string before = state_of(c);
    CHECK(pass.run(c));
    pass.verify(c);
    const std::string after = state_of(c);
    INFO("before:\n" << before << "\nafter:\n" << after);
    CHECK(before != after);
    if (row->before) {
      CHECK(has(before, row->before));
      CHECK_FALSE(has(after, row->before));
    }
    if (row->after) {
      CHECK_FALSE(has(before, row->after));
      CHECK(has(after, row->after));
    }
  }
}

TEST_CASE("pipeline: groups of rows lower the multiples at which kernels are divided") {
  const EveryLibraryCall library;
  for (const std::int64_t units : {7, 8, 12, 64, 192}) {
    INFO(units << " indices per row");
    Compilation c = compiled_until("find_region", loop_of(units), library);
    const Plan& body = *c.bodies.at(0);
    const LoopStep* loop = nullptr;
    for (const Step& step : c.program.plan.steps) {
      if (const auto* one = std::get_if<LoopStep>(&step)) loop = one;
    }
    REQUIRE(loop);
    REQUIRE(loop->independent_rows);
    int kernels = 0;
    for (std::size_t i = 0; i < body.steps.size(); ++i) {
      const auto* step = std::get_if<KernelStep>(&body.steps[i]);
      if (!step) continue;
      ++kernels;
      CHECK(loop->independent_rows->scales[i] == units);
      Kernel& kernel = c.program.kernels[step->kernel].kernel;
      CHECK(kernel.part_multiple == std::gcd(std::int64_t{64}, units));
      verify(c.program.plan, c.program.kernels);
      kernel.part_multiple = 2 * units;
      CHECK_THROWS_AS(verify(c.program.plan, c.program.kernels), InternalError);
    }
    CHECK(kernels == 1);
  }
}
