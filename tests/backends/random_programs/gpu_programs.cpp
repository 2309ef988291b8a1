// Lowers with the same passes as a plugin.
#include "tests/backends/random_programs/gpu_programs.h"

#include "tests/support/catch.h"
#include "tests/whole/models/digits_file.h"
#include "tests/support/process.h"
#include "tests/backends/random_programs/check_grid_kernel.h"
#include "tests/support/scratch.h"
#include "test_folders.h"

#include "backends/codegen/grid/shape_kernel.h"
#include "core/ir/traverse.h"
#include "core/module/parse.h"
#include "core/passes/pipeline.h"
#include "runtime/function/compile/build_graph.h"

#include <algorithm>
#include <filesystem>

namespace kiln::testing {

using codegen::Compilation;
using codegen::TargetDescription;

namespace {

/// A library that takes every matmul, convolution and attention.
class Everything final : public codegen::LibraryClaims {
 public:
  std::optional<std::string> rejection_of_matmul(const codegen::MatmulRequest&) const override {
    return std::nullopt;
  }
  std::optional<std::string> rejection_of_convolution(const ir::Node&) const override {
    return std::nullopt;
  }
  std::optional<std::string> rejection_of_attention(const ir::Node&) const override {
    return std::nullopt;
  }
};

}  // namespace

codegen::Program program_of(const ir::Graph& graph, const TargetDescription& target) {
  const Everything library;
  Compilation compilation;
  compilation.arguments = graph.inputs;
  for (const ir::Update& update : graph.updates) {
    compilation.arguments.push_back(update.variable);
  }
  for (const ir::Node* node : ir::topological_order(graph.roots())) {
    const ir::Value variable = node->result();
    std::vector<ir::Value>& known = compilation.arguments;
    if (node->op != ir::Op::Variable) continue;
    if (std::find(known.begin(), known.end(), variable) == known.end()) known.push_back(variable);
  }
  compilation.results = graph.roots();
  compilation.library = &library;
  compilation.target = target;
  compilation.loop_transform = codegen::shape_for_grid;
  run_pipeline(compilation);
  for (const codegen::BuiltKernel& built : compilation.program.kernels) {
    check_text_form(built.kernel);
  }
  return std::move(compilation.program);
}

std::optional<codegen::Program> gpu_program_of(const Program& program) {
  const ir::Graph graph = runtime::build_graph(program.inputs, program.outputs, program.updates);
  if (!graph.sizes.empty()) return std::nullopt;
  return program_of(passes::run_pipeline(graph), kGpu);
}

std::vector<ir::Graph> graphs_of(const std::string& command) {
  const Scratch scratch;
  scratch.write("small.csv", drawn_digits(60));
  const Outcome run = run_shell("cd '" + scratch.folder() +
                                "' && KILN_DUMP=dumps:module '" KILN_BINARY_DIR "/bin/" + command +
                                " --backend cpu");
  INFO(run.text);
  REQUIRE(run.status == 0);
  std::vector<ir::Graph> graphs;
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path("dumps"))) {
    const std::string text = contents_of(entry.path() / "40-module.kir");
    graphs.push_back(module::parse_module(text, entry.path().string()).graph);
  }
  return graphs;
}

Tensor fed(const std::vector<std::int64_t>& dims) {
  return placeholder({.shape = Shape(std::vector<ShapeEntry>(dims.begin(), dims.end()))});
}

Program trained(std::vector<Tensor> inputs, std::vector<Tensor> outputs, const Tensor& loss) {
  Program program;
  program.inputs = std::move(inputs);
  program.outputs = std::move(outputs);
  for (const Tensor& gradient : gradients(loss, program.inputs)) {
    program.outputs.push_back(gradient);
  }
  return program;
}

}  // namespace kiln::testing
