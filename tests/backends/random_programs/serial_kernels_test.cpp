// Tests kernels of a GPU whose threads each run all inner points of an outer one: only kernels with
// few inner points, or with enough outer points for all threads.
#include "tests/support/catch.h"
#include "tests/backends/random_programs/gpu_programs.h"

#include "backends/codegen/grid/grid_schedule.h"

#include <algorithm>

using namespace kiln;
using namespace kiln::testing;
using codegen::GridForm;

namespace {

/// The largest number of inner points per outer point: a window, not a row.
constexpr std::int64_t kFewPoints = 64;

Tensor fed_indices(const std::vector<ShapeEntry>& dims) {
  return placeholder({.shape = Shape(dims), .dtype = "int32"});
}

/// The gradient of an embedding lookup for its table; the indices, of shape `rows`, are fed.
Program embedding(const std::vector<ShapeEntry>& rows, std::int64_t values, std::int64_t columns) {
  const Tensor table = fed({values, columns}), at = fed_indices(rows);
  Program program;
  program.inputs = {table, at};
  program.outputs = {gradients(sum(square(gather(table, at))), {table})[0]};
  return program;
}

/// One element of each row, by its linear index.
Program picked_classes() {
  const Tensor scores = fed({2048, 86}), at = fed_indices({2048});
  const Tensor all = reshape(log(softmax(scores)), {2048 * 86});
  Program program;
  program.inputs = {scores, at};
  program.outputs = {gradients(sum(gather(all, at)), {scores})[0]};
  return program;
}

template <int kStride>
Program pooling() {
  const Tensor x = fed({32, 28, 28, 64});
  std::vector<Tensor> outputs;
  Tensor loss = sum(x);
  for (const char* mode : {"max", "avg"}) {
    outputs.push_back(
        pool2d(x, {3, 3}, {.strides = kStride, .padding = "same", .pool_mode = mode}));
    loss = loss + sum(square(outputs.back()));
  }
  return trained({x}, outputs, loss);
}

/// A locally connected layer: each window has weights of its own.
Program local_windows() {
  const Tensor x = fed({32, 30, 30, 8}), weights = fed({28 * 28, 72, 16});
  const Tensor y = local_conv2d(x, weights, {3, 3}, {1, 1}, {28, 28});
  return trained({x, weights}, {y}, sum(square(y)));
}

/// The number of kernels with owners. Checks that serial ones have few inner points, and a thread
/// for each outer point.
int check_kernels(const codegen::Program& program) {
  int owners = 0;
  for (const codegen::BuiltKernel& built : program.kernels) {
    const codegen::GridSchedule schedule = schedule_grid(built.kernel, {});
    INFO(print(built.kernel) << print(schedule));
    owners += schedule.form == GridForm::Owners ? 1 : 0;
    if (schedule.form != GridForm::Serial) continue;
    const std::int64_t inner = static_inner_points(built.kernel);
    const bool has_few = schedule.reason == "few inner points" && inner <= kFewPoints;
    CHECK((has_few || schedule.reason == "outer points for all threads"));
    CHECK(inner >= 0);
    CHECK(static_cast<int>(schedule.axes.size()) == built.kernel.outer);
  }
  return owners;
}

}  // namespace

TEST_CASE("GPU kernels: scatters and sums over windows use all threads") {
  const struct {
    const char* name;
    Program program;
    int owners;
  } rows[] = {{"an embedding of characters", embedding({32, 64}, 86, 256), 1},
              {"an embedding of words", embedding({16384}, 50'000, 512), 1},
              {"an embedding of a batch", embedding({None, 20}, 1000, 16), 1},
              {"an embedding of numbers", embedding({None}, 1000, 1), 1},
              {"picked classes", picked_classes(), 1},
              {"pooling", pooling<1>(), 0},
              {"pooling with strides", pooling<2>(), 0},
              {"local windows", local_windows(), 0}};
  for (const auto& row : rows) {
    INFO(row.name);
    const std::optional<codegen::Program> program = gpu_program_of(row.program);
    REQUIRE(program.has_value());
    CHECK(check_kernels(*program) == row.owners);
  }
}

TEST_CASE("GPU kernels: those of the examples use all threads") {
  const struct {
    const char* command;
    int owners;
  } rows[] = {{"char_rnn' --hidden 256 --batch 32 --time 64 --steps 1", 1},
              {"digits_cnn' --data small.csv --batch 6 --epochs 1", 0},
              {"digits_ctc' --data small.csv --batch 6 --units 8 --numbers 12 --steps 1", 0}};
  for (const auto& row : rows) {
    INFO(row.command);
    int owners = 0;
    for (const ir::Graph& graph : graphs_of(row.command)) {
      owners += check_kernels(program_of(graph, kGpu));
    }
    CHECK(owners == row.owners);
  }
}
