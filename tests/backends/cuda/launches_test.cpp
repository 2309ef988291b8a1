// Tests the dump stage `graph`: launches and their dependences as Graphviz text.
#include "backends/cuda/execute/step_dependences.h"
#include "tests/support/catch.h"
#include "tests/backends/cuda/dot_text.h"
#include "tests/backends/cuda/fake_device.h"
#include "tests/support/environment.h"
#include "tests/support/error_text.h"
#include "tests/support/scratch.h"
#include "tests/support/has.h"
#include "test_folders.h"

#include <kiln/k.h>

#include <filesystem>

using namespace kiln;
using cuda_test::complaint_of_graphviz;
using cuda_test::wrong_line_of_dot;
using kiln::codegen::CopyStep;
using kiln::cuda::step_dependences;
using kiln::cuda::StepDependence;
using kiln::testing::contents_of;
using kiln::testing::Scratch;

namespace {

using cuda_test::control;

using kiln::testing::has;

struct SilentPrints {
  SilentPrints() {
    set_print_sink([](std::string_view) {});
  }
  ~SilentPrints() { set_print_sink({}); }
};

/// A graph with every kind of step: kernels, a matmul, copies, loops, branches, a host call.
struct Everything {
  Everything() : w(variable(Array::full({3, 3}, 0.25), {.name = "weight"})) {
    x = placeholder({.shape = {None, 4, 3}, .name = "x"});
    const auto cell = [&](const Tensor& in, const std::vector<Tensor>& states) {
      const Tensor next = tanh(dot(in, w) + states[0] * 0.5);
      return StepResult{next, {next}};
    };
    const Tensor last = rnn(cell, x, {sum(x, {.axis = {1}}) * 0.0}).last_output;
    const Tensor chosen = switch_(
        sum(x) > 0.0, [&] { return exp(last) - sum(last, {.axis = {0}}); }, [&] { return last; });
    loss = mean(square(print_tensor(chosen, {.message = "chosen"})));
    next = w - gradients(loss, {w})[0];
  }
  Function make(const std::string& name, const std::string& dump = "") const {
    return function({x}, {loss},
                    {.updates = {update(w, next)},
                     .name = name,
                     .backend = "cuda",
                     .dump = dump,
                     .dump_stages = Stage::Graph | Stage::Module});
  }

  Variable w;
  Tensor x, loss, next;
};

/// The valid text of a file.
std::string checked(const std::string& path) {
  const std::string text = contents_of(path);
  INFO(text);
  CHECK(wrong_line_of_dot(text) == "");
  CHECK(complaint_of_graphviz(path) == "");
  return text;
}

// ---- dependences of plans by hand ----

codegen::Plan copies(std::vector<CopyStep> steps) {
  codegen::Plan plan;
  plan.slots.resize(8);
  plan.steps.assign(steps.begin(), steps.end());
  return plan;
}

using Dependences = std::vector<StepDependence>;

}  // namespace

TEST_CASE("launches: a checker of texts that finds what is wrong") {
  const std::string good =
      "digraph \"a \\\"b\\\"\" {\n  n0 [label=\"x\\ny\", shape=box];\n  subgraph cluster_1 {\n"
      "  n2 [label=\"\"];\n  n0 -> n2 [label=\"\", style=dashed];\n  }\n}\n";
  CHECK(wrong_line_of_dot(good) == "");
  CHECK(wrong_line_of_dot("digraph \"\" {\n  n0 [label=\"\"\"];\n}\n") == "  n0 [label=\"\"\"];");
  CHECK(wrong_line_of_dot("digraph \"\" {\n  n0 -> n0 [label=\"\"];\n}\n") == "no node n0");
  CHECK(wrong_line_of_dot("digraph \"\" {\n") == "braces that are not closed");
}

TEST_CASE("launches: every kind of step, with grids, lines and values") {
  control().reset();
  const SilentPrints silent;
  const Scratch scratch;
  const Everything everything;
  const Function f = everything.make("training", scratch.path("f"));
  f({Array::full({2, 4, 3}, 0.5)});
  const std::string text = checked(scratch.path("f/58-graph-sizes_1.dot"));
  INFO(text);
  for (const char* part :
       {"input x\\nfloat32[2,4,3]", "variable weight\\nfloat32[3,3]", "new value of weight",
        "output 0", " blocks of 256 threads for ", "points: blocks of 256 threads over i0",
        "dot float32\\ncalls of cuBLASLt: 1, ", ": loop of 4 iterations\\nrnn at ",
        ": loop of 4 iterations, backwards\\n",
        ": branch: the host reads its predicate\\nswitch at ", "label=\"then\"", "label=\"else\"",
        ": copy\"", ": host call print_tensor\\n", "shape=hexagon, style=dashed",
        "label=\"carried\", style=dotted", "tanh at "}) {
    INFO(part);
    CHECK(has(text, part));
  }
  CHECK(has(text, "launches_test.cpp:"));
  // Graphs hold the loops: none of their nodes is dashed.
  const std::size_t loop = text.find(": loop of 4");
  CHECK_FALSE(has(text.substr(loop, text.find("  }\n", loop) - loop), "style=dashed"));
  // Without the sizes of a call.
  const std::string unbound = checked(scratch.path("f/58-graph.dot"));
  INFO(unbound);
  CHECK(has(unbound, "float32[x.0,4,3]"));
  CHECK(has(unbound, "blocks of 256 threads for x.0 x 3 points"));
  CHECK(has(unbound, " blocks of 256 threads for 9 points"));  // the update of the weight
}

TEST_CASE("launches: names with any characters") {
  control().reset();
  const Scratch scratch;
  const Tensor x = placeholder({.shape = {2}, .name = "a \"b\" \\n\n}"});
  const Function compiled = function({x}, {exp(x)},
                                     {.name = "q\"\\\n",
                                      .backend = "cuda",
                                      .dump = scratch.path("f"),
                                      .dump_stages = Stage::Graph});
  const std::string text = checked(scratch.path("f/58-graph.dot"));
  CHECK(has(text, "input a \\\"b\\\""));
}

TEST_CASE("launches: each part of a function with data-dependent shapes") {
  control().reset();
  const Scratch scratch;
  const Variable n = variable(3, {.dtype = "int32", .name = "n"});
  const Function f = function({}, {sum(arange(n) + 1)},
                              {.updates = {update(n, n + 1)},
                               .backend = "cuda",
                               .dump = scratch.path("f"),
                               .dump_stages = Stage::Graph});
  for (int call = 0; call < 2; ++call) f(std::vector<Array>{});
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch.path("f"))) {
    if (!entry.path().filename().string().starts_with("58-")) continue;
    checked(entry.path().string());
    ++files;
  }
  CHECK(files >= 2);
}

TEST_CASE("launches: the stage is chosen by graph, and by backend") {
  control().reset();
  const Scratch scratch;
  const Tensor x = placeholder({.shape = {2}, .name = "x"});
  const Function f = function({x}, {exp(x)}, {.backend = "cuda"});
  namespace fs = std::filesystem;
  f.dump(scratch.path("graph"), Stage::Graph);
  CHECK(fs::exists(scratch.path("graph/58-graph.dot")));
  CHECK(fs::exists(scratch.path("graph/00-user.dot")));
  f.dump(scratch.path("backend"), Stage::Backend);
  CHECK(fs::exists(scratch.path("backend/58-graph.dot")));
  f.dump(scratch.path("plan"), Stage::Plan);
  CHECK_FALSE(fs::exists(scratch.path("plan/58-graph.dot")));
  const std::string before = contents_of(scratch.path("graph/58-graph.dot"));
  CHECK(contents_of(scratch.path("backend/58-graph.dot")) == before);
}

TEST_CASE("launches: kiln dump writes them without a device, with numbers where sizes are known") {
  control().reset();
  const Scratch scratch;
  Everything().make("training", scratch.path("f"));
  const auto dump = [&](const std::string& folder) {
    return testing::run_shell(
        "KILN_CUDA_ARCH=sm_90 KILN_CUDA_LIBRARIES='" + fake_cuda::library_folder(KILN_BINARY_DIR) +
        "' '" KILN_BINARY_DIR "/bin/kiln' dump '" + scratch.path("f/40-module.kir") + "' '" +
        folder + "' --backend cuda --stages graph");
  };
  const testing::Outcome outcome = dump(scratch.path("offline"));
  INFO(outcome.text);
  REQUIRE(outcome.status == 0);
  const std::string text = checked(scratch.path("offline/58-graph.dot"));
  INFO(text);
  CHECK(has(text, "blocks of 256 threads for x.0 x 3 points"));
  CHECK(has(text, "1 blocks of 256 threads for 9 points"));
  CHECK(has(text, "symbolic sizes: no call has bound them"));
}

TEST_CASE("launches: kiln dump knows no number of blocks where inner sizes are unknown") {
  control().reset();
  const Scratch scratch;
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  function({x}, {sum(x)}, {.backend = "reference"}).dump(scratch.path("f"), Stage::Module);
  const testing::Outcome outcome = testing::run_shell(
      "KILN_CUDA_ARCH=sm_90 KILN_CUDA_LIBRARIES='" + fake_cuda::library_folder(KILN_BINARY_DIR) +
      "' '" KILN_BINARY_DIR "/bin/kiln' dump '" + scratch.path("f/40-module.kir") + "' '" +
      scratch.path("offline") + "' --backend cuda --stages graph");
  INFO(outcome.text);
  REQUIRE(outcome.status == 0);
  const std::string text = checked(scratch.path("offline/58-graph.dot"));
  INFO(text);
  CHECK(has(text, "\\nblocks of 256 threads for 1 points"));
}

TEST_CASE("launches: more than a call can number are an error before the first one") {
  control().reset();
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  const auto inner = [](const Tensor& sum, const Tensor& one) { return tanh(sum + one); };
  const auto outer = [&](const Tensor& sum, const Tensor& one) {
    return foldl(inner, x, {.initializer = sum * one});
  };
  const Function f = function({x}, {foldl(outer, x, {.initializer = zeros({})})},
                              {.name = "f", .backend = "cuda"});
  CHECK_THAT(testing::error_of<OutOfMemory>([&] { f({Array::zeros({60'000})}); }),
             Catch::Matchers::StartsWith("f: a call with these sizes launches more than "
                                         "2147483647 kernels, the maximum of the cuda backend"));
  CHECK(f({Array::zeros({3})})[0] == Array(0.f));
}

TEST_CASE("launches: dependences through values") {
  const codegen::Plan plan = copies({{0, 1}, {1, 2}, {1, 3}, {2, 3}});
  CHECK(step_dependences(plan, {}, nullptr, {}) ==
        Dependences{{0, 1, 1}, {0, 2, 1}, {1, 3, 2}, {2, 3, -1}});
}

TEST_CASE("launches: a result over an argument follows the argument's readers") {
  const codegen::Plan plan = copies({{0, 1}, {0, 2}, {1, 4}, {3, 5}});
  const std::vector<cuda::SharedSlots> in_place{{5, 0}};
  CHECK(step_dependences(plan, {}, nullptr, in_place) ==
        Dependences{{0, 2, 1}, {1, 3, -1}, {0, 3, -1}});
}

TEST_CASE("launches: memory that is used again, unless the order follows from values") {
  const codegen::Plan plan = copies({{0, 1}, {1, 2}, {2, 3}, {4, 5}, {3, 6}, {5, 7}});
  codegen::Arena arena;
  const auto block = [](std::int64_t offset, int first, int last, codegen::TensorsBlock slots) {
    return codegen::ArenaBlock{.memory = {64, first, last, offset}, .contents = slots};
  };
  // Slot 3 follows slot 1 in its memory, which values imply; slot 5 follows slot 2 next to it.
  arena.blocks = {block(0, 0, 1, {1, 1}), block(64, 1, 2, {2, 2}), block(0, 2, 4, {3, 3}),
                  block(64, 3, 5, {5, 5})};
  CHECK(step_dependences(plan, {}, &arena, {}) ==
        Dependences{{0, 1, 1}, {1, 2, 2}, {2, 3, -1}, {2, 4, 3}, {3, 5, 5}});
  // Slot 5 is written over slot 2 in one block.
  arena.next_slots = {-1, -1, 5, -1, -1, -1};
  arena.blocks = {block(0, 1, 5, {2, 5})};
  CHECK(step_dependences(plan, {}, &arena, {}) ==
        Dependences{{0, 1, 1}, {1, 2, 2}, {2, 3, -1}, {2, 4, 3}, {3, 5, 5}});
}
