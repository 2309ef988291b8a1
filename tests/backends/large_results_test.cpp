// Tests streaming stores of the cpu backend, for results larger than the caches: the kernels that
// use them, and values for every alignment of rows.
#include "core/types/at.h"
#include "tests/support/catch.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <cmath>

using namespace kiln;
using kiln::testing::contents_of, kiln::testing::Scratch;

namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// Whole numbers from -510 to 510, repeated.
Array counted(std::int64_t size, std::vector<std::int64_t> dims) {
  std::vector<float> values(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1021) - 510;
  return Array(values, std::move(dims));
}

}  // namespace

TEST_CASE("streaming stores: large results have them, and no others") {
  const Scratch scratch;
  const auto input = [](const Shape& shape) { return placeholder({.shape = shape}); };
  const Tensor large = input({4 * kMiB}), small = input({kMiB}), column = input({2048, 1}),
               row = input({1, 2048}), unknown = input({None}), part = input({1024, 1024}),
               narrow = input({kMiB, 4}), wide = input({8, kMiB}), square = input({2048, 2048});
  const struct {
    const char* name;
    std::vector<Tensor> inputs;
    Tensor y;
    bool streams;
  } rows[] = {
      {"elements", {large}, large * 2.0, true},
      {"fewer elements", {small}, small * 2.0, false},
      {"elements of unknown number", {unknown}, unknown * 2.0, false},
      {"an outer product", {column, row}, dot(column, row), true},
      {"parts of a concatenation", {part}, concatenate({part, part, part, part}), true},
      {"long rows of parts", {wide}, concatenate({wide, wide}), true},
      {"rows of a few elements", {narrow}, concatenate({narrow, narrow}), false},
      {"sums", {square}, sum(square, {.axis = {1}}), false},
  };
  int number = 0;
  for (const auto& one : rows) {
    INFO(one.name);
    const std::string folder = scratch.path("dump" + std::to_string(number++));
    const Function compiled = function(
        one.inputs, {one.y}, {.backend = "cpu", .dump = folder, .dump_stages = Stage::Kernels});
    const std::string schedule = contents_of(folder + "/54-schedule.txt");
    CHECK(schedule.find(" along i") != std::string::npos);
    CHECK((schedule.find("; stream ") != std::string::npos) == one.streams);
  }
}

TEST_CASE("streaming stores: rows of any alignment") {
  for (const std::int64_t columns : {2048, 2049, 2056, 2047}) {
    INFO(columns);
    const std::int64_t lines = 2100;
    const Tensor x = placeholder({.shape = {lines, 1}}), y = placeholder({.shape = {1, columns}});
    const Tensor matrix = placeholder({.shape = {lines, columns}});
    const Function outer =
        function({x, y, matrix}, {dot(x, y), concatenate({matrix, dot(x, y)})}, {.backend = "cpu"});
    const Array a = counted(lines, {lines, 1}), b = counted(columns, {1, columns});
    const Array m = counted(lines * columns, {lines, columns});
    const std::vector<Array> got = outer({a, b, m});
    for (std::int64_t i = 0; i < lines; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        const float product = a.as<float>()[at(i)] * b.as<float>()[at(j)];
        const float* row = got[1].as<float>().data() + 2 * i * columns;
        REQUIRE(got[0].as<float>()[at(i * columns + j)] == product);
        REQUIRE(row[columns + j] == product);
        REQUIRE(row[j] == m.as<float>()[at(i * columns + j)]);
      }
    }
  }
}

TEST_CASE("matmul: with K = 1 the sign of zero is that of a sum that begins at +0") {
  const Tensor x = placeholder({.shape = {3, 1}}), y = placeholder({.shape = {1, 2}});
  for (const char* backend : {"cpu", "reference"}) {
    INFO(backend);
    const Function outer = function({x, y}, {dot(x, y)}, {.backend = backend});
    const float inf = INFINITY;
    const Array got = outer({Array{{-0.f}, {-1.f}, {inf}}, Array{{0.f, 2.f}}})[0];
    const auto values = got.as<float>();
    CHECK((values[0] == 0 && !std::signbit(values[0])));
    CHECK((values[1] == 0 && !std::signbit(values[1])));
    CHECK((values[2] == 0 && !std::signbit(values[2])));
    CHECK(values[3] == -2);
    CHECK(std::isnan(values[4]));
    CHECK(values[5] == inf);
  }
}
