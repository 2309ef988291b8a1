// Grid schedules: the form of each kind of kernel, the verifier's rules, grids for known sizes.
#include "tests/catch.h"
#include "tests/codegen/make_kernel.h"

#include "backends/codegen/grid/grid_schedule.h"

#include <kiln/error.h>

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using Catch::Matchers::ContainsSubstring;
using ir::Op;

namespace {

constexpr GridDescription kDevice{};

/// y = tanh(x), on two axes.
Kernel elementwise(const ir::Dim& rows) {
  KernelMaker k("elementwise", {rows, 8}, 2);
  const int x = k.load(k.access(k.input(DType::Float32), {8, 1}));
  k.map({{k.access(k.output(DType::Float32), {8, 1}), k.apply(Op::Tanh, {x})}});
  return k.kernel;
}

/// y = sum of each row.
Kernel row_sums() {
  KernelMaker k("row_sums", {5, 8}, 1);
  const int sum = k.reduce(Combiner::Sum, k.load(k.access(k.input(DType::Float32), {8, 1})));
  k.map({{k.access(k.output(DType::Float32), {1, 0}), k.result(sum)}}, false);
  return k.kernel;
}

/// y += x; element i of y belongs to index i of axis `axis`.
Kernel additions(int axis) {
  KernelMaker k("additions", {5, 8}, 2);
  const int x = k.load(k.access(k.input(DType::Float32), {8, 1}));
  const int to = k.access(k.output(DType::Float32, true), {axis == 0 ? 1 : 0, axis == 1 ? 1 : 0});
  k.map({{to, x, /*accumulate=*/true}});
  return k.kernel;
}

std::int64_t known(const ir::Dim& dim) { return dim.value(); }

}  // namespace

TEST_CASE("grid schedules follow from inner axes and additions") {
  CHECK(print(schedule_grid(elementwise(4), kDevice)) ==
        "points: blocks of 256 threads over 2 axes");
  CHECK(print(schedule_grid(row_sums(), kDevice)) == "serial: blocks of 256 threads over 1 axis");
  // Points of one row meet at one element, and are added in order by one thread.
  CHECK(print(schedule_grid(additions(0), kDevice)) ==
        "serial: blocks of 256 threads over 1 axis");
  // Every row adds to every element.
  CHECK(print(schedule_grid(additions(1), kDevice)) ==
        "serial: blocks of 256 threads over 0 axes");
}

TEST_CASE("a grid has as many blocks as its points need and the device holds at a time") {
  const struct {
    std::int64_t rows, points, blocks;
  } rows[] = {{0, 0, 0}, {1, 8, 1}, {32, 256, 1}, {33, 264, 2}, {1 << 20, 1 << 23, 132 * 8}};
  for (const auto& row : rows) {
    INFO(row.rows);
    const Kernel kernel = elementwise(row.rows);
    const GridLaunch launch = launch_of(kernel, schedule_grid(kernel, kDevice), kDevice, known);
    CHECK(launch.points == row.points);
    CHECK(launch.blocks == row.blocks);
  }
  const Kernel kernel = additions(1);
  const GridLaunch launch = launch_of(kernel, schedule_grid(kernel, kDevice), kDevice, known);
  CHECK(launch.points == 1);
  CHECK(launch.blocks == 1);
}

TEST_CASE("the verifier of grid schedules names the kernel and the broken rule") {
  const struct {
    Kernel kernel;
    GridSchedule schedule;
    const char* message;
  } rows[] = {
      {elementwise(4), {GridForm::Points, 2048, 2}, "its blocks do not fit the device"},
      {elementwise(4), {GridForm::Points, 0, 2}, "its blocks do not fit the device"},
      {row_sums(), {GridForm::Serial, 256, 2}, "threads share an outer point"},
      {row_sums(), {GridForm::Points, 256, 1}, "points have axes inside"},
      {additions(0), {GridForm::Points, 256, 2}, "threads add to one element"},
      {additions(1), {GridForm::Serial, 256, 1}, "threads add to one element"},
  };
  for (const auto& row : rows) {
    INFO(row.kernel.name << ", " << print(row.schedule));
    CHECK_THROWS_WITH(verify(row.kernel, row.schedule, kDevice),
                      ContainsSubstring("kernel " + row.kernel.name) &&
                          ContainsSubstring(row.message));
  }
}
