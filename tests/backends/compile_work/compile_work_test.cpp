// Tests that no stage of compiling does more work per node for larger programs.
#include "tests/support/catch.h"
#include "tests/backends/compile_work/counted_work.h"
#include "tests/backends/compile_work/repeating_programs.h"

#include "backends/codegen/host/loop_order/order_loops.h"
#include "backends/codegen/pipeline.h"
#include "core/module/read.h"
#include "core/module/verify.h"
#include "core/module/write.h"
#include "core/passes/pipeline.h"
#include "runtime/function/compile/build_graph.h"

#include <time.h>

#include <string>

using namespace kiln;
using compile_work_test::Program;
using compile_work_test::RepeatingProgram;
using compile_work_test::Work;

namespace {

struct Stage {
  std::string name;
  Work work;
  double seconds = 0;  // of the processor
};

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Compiles a program and records the work of each stage.
class Compiler {
 public:
  std::vector<Stage> run(const RepeatingProgram& repeating, int count) {
    Program program;
    record("make", [&] { program = repeating.make(count); });
    if (!program.weights.empty()) train(program);
    ir::Graph graph;
    record("build_graph",
           [&] { graph = runtime::build_graph(program.inputs, program.outputs, program.updates); });
    int position = 0;
    for (const passes::Pass& pass : passes::pipeline()) {
      const std::string number = std::to_string(position++);
      record(number + " " + std::string(pass.name), [&] { graph = pass.run(graph); });
    }
    record("verify", [&] { CHECK_FALSE(module::verify(graph)); });
    lower(serialised(graph));
    return std::move(stages_);
  }

 private:
  template <class Action>
  void record(const std::string& name, const Action& action) {
    const Work before = compile_work_test::work_so_far();
    const double start = processor_seconds();
    action();
    const double seconds = processor_seconds() - start;
    const Work after = compile_work_test::work_so_far();
    stages_.push_back({name,
                       {.allocations = after.allocations - before.allocations,
                        .bytes = after.bytes - before.bytes},
                       seconds});
  }

  void train(Program& program) {
    const Tensor loss = mean(program.outputs[0]);
    std::vector<Tensor> slopes;
    record("gradients", [&] { slopes = gradients(loss, program.weights); });
    for (std::size_t i = 0; i < slopes.size(); ++i) {
      program.updates.push_back(update_sub(program.weights[i], 0.1 * slopes[i]));
    }
  }

  module::Module serialised(const ir::Graph& graph) {
    module::Module module = module::make_module(graph);
    module::Encoded encoded;
    record("write_module", [&] { encoded = module::write_module(module); });
    record("read_module", [&] { module = module::read_module(encoded.bytes, encoded.constants); });
    return module;
  }

  void lower(const module::Module& module) {
    codegen::Compilation compilation;
    compilation.arguments = module.graph.inputs;
    for (const module::StateEntry& entry : module.state) {
      compilation.arguments.push_back(entry.variable);
    }
    compilation.results = module.graph.roots();
    compilation.loop_transform = codegen::order_loops;
    for (const codegen::CodegenPass& pass : codegen::pipeline()) {
      const std::string name(pass.name);
      record(name, [&] { pass.run(compilation); });
      record("verify after " + name, [&] { pass.verify(compilation); });
    }
  }

  std::vector<Stage> stages_;
};

/// Work that does not count: containers begin small, and kernels grow until fusion bounds them.
constexpr std::int64_t kFewAllocations = 500, kFewBytes = 1 << 16;
/// Times the work per node of the smallest program. Hash tables of nodes grow by a factor of 4, so
/// that twice the bytes per node may be a table that has just grown.
constexpr double kMaxAllocationGrowth = 1.5, kMaxByteGrowth = 2.1;
/// Searches that do not allocate show in the time of large programs alone; other programs of the
/// machine disturb it, so that only much more time per node counts.
constexpr double kMaxTimeGrowth = 3, kFewSeconds = 0.02;

/// The smallest number of repetitions with which times are compared.
constexpr int kLargeProgram = 100;

void check_growth(const RepeatingProgram& repeating, const std::vector<int>& counts) {
  const std::vector<Stage> first = Compiler().run(repeating, counts[0]);
  for (std::size_t i = 1; i < counts.size(); ++i) {
    const std::vector<Stage> stages = Compiler().run(repeating, counts[i]);
    REQUIRE(stages.size() == first.size());
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      const auto allowed = [&](double growth, std::int64_t work) {
        return growth * static_cast<double>(work) * counts[i] / counts[0];
      };
      const Work &few = first[stage].work, &many = stages[stage].work;
      INFO(repeating.name << ", " << counts[0] << " and " << counts[i] << ": " << stages[stage].name
                          << ": " << few.allocations << " and " << many.allocations
                          << " allocations of " << few.bytes << " and " << many.bytes << " bytes, "
                          << first[stage].seconds << " and " << stages[stage].seconds
                          << " seconds");
      CHECK(static_cast<double>(many.allocations) <=
            allowed(kMaxAllocationGrowth, few.allocations + kFewAllocations));
      CHECK(static_cast<double>(many.bytes) <= allowed(kMaxByteGrowth, few.bytes + kFewBytes));
      if (counts[0] < kLargeProgram) continue;
      CHECK(stages[stage].seconds <=
            kMaxTimeGrowth * (first[stage].seconds + kFewSeconds) * counts[i] / counts[0]);
    }
  }
}

}  // namespace

TEST_CASE("compile work: constant per node") {
  for (const RepeatingProgram& repeating : compile_work_test::repeating_programs()) {
    DYNAMIC_SECTION(repeating.name) { check_growth(repeating, {25, 100}); }
  }
}

TEST_CASE("compile work: constant per node of large programs", "[matrix]") {
  for (const RepeatingProgram& repeating : compile_work_test::repeating_programs()) {
    DYNAMIC_SECTION(repeating.name) { check_growth(repeating, {100, 200, 400, 800}); }
  }
}
