// Tests indices out of range: the text is that of every backend for any order of threads, and no
// variable changes, also where the step writes over it.
#include "tests/support/catch.h"
#include "tests/backends/cuda/fake_device.h"
#include "tests/support/error_text.h"

#include <kiln/k.h>

#include <functional>

using namespace kiln;
using kiln::testing::error_of;

namespace {

using cuda_test::control;

const std::string kSource = std::string("gather at ") + __FILE__ + ":";

/// A function of indices (None, 4) that gathers rows of a table, with updates.
struct Lookup {
  std::function<Function(const std::string& backend)> compile;
  std::vector<Variable> variables;
};

Variable table() { return variable(Array::full({5, 3}, 0.5), {.name = "table"}); }
Tensor indices() { return placeholder({.shape = {None, 4}, .dtype = "int32", .name = "i"}); }

Lookup in_kernel() {
  const Variable rows = table();
  const Variable calls = variable(Array::zeros({6}), {.name = "calls"});
  const Tensor i = indices();
  const Tensor y = sum(gather(rows, i));
  return {[=](const std::string& backend) {
            return function(
                {i}, {y},
                {.updates = {update_add(calls, 1.0)}, .name = "lookup", .backend = backend});
          },
          {rows, calls}};
}

Lookup in_loop() {
  const Variable rows = table();
  const Variable calls = variable(Array::zeros({6}), {.name = "calls"});
  const Tensor i = indices();
  const Tensor start = sum(cast(i, "float32"), {.axis = {1}, .keepdims = true}) * zeros({1, 3});
  const auto cell = [&](const Tensor& index, const std::vector<Tensor>& states) {
    const Tensor next = gather(rows, reshape(index, {-1})) + states[0] * 0.5;
    return StepResult{next, {next}};
  };
  const Tensor y = sum(rnn(cell, expand_dims(i, {.axis = 2}), {start}).last_output);
  return {[=](const std::string& backend) {
            return function(
                {i}, {y},
                {.updates = {update_add(calls, y)}, .name = "lookup", .backend = backend});
          },
          {rows, calls}};
}

Lookup in_gradient() {
  const Variable rows = table();
  const Tensor i = indices();
  const Tensor loss = sum(square(gather(rows, i)));
  const Tensor slope = gradients(loss, {rows})[0];
  return {
      [=](const std::string& backend) {
        return function(
            {i}, {loss},
            {.updates = {update_sub(rows, slope * 0.125)}, .name = "lookup", .backend = backend});
      },
      {rows}};
}

/// No row is gathered: the indices are those of additions.
Lookup in_addition() {
  const Variable rows = table();
  const Tensor i = indices();
  const Tensor slope = gradients(sum(gather(rows, i) * 0.25), {rows})[0];
  return {[=](const std::string& backend) {
            return function(
                {i}, {sum(rows)},
                {.updates = {update_sub(rows, slope)}, .name = "lookup", .backend = backend});
          },
          {rows}};
}

Array fed(std::vector<std::int32_t> bad) {
  Array array = Array::full({3, 4}, 1, DType::Int32);
  std::copy(bad.begin(), bad.end(), array.as<std::int32_t>().end() - 4);
  return array;
}

/// Makes the calls of all backends on one line.
void run(const Function& f, const Array& array) { f({array}); }

std::vector<Array> values(const Lookup& lookup) {
  return batch_get_value({lookup.variables.begin(), lookup.variables.end()});
}

}  // namespace

TEST_CASE("index errors: the step is one that writes over a variable") {
  control().reset();
  const Lookup lookup = in_kernel();
  const Function f = lookup.compile("cuda");
  const int allocations = control().calls("cuMemAllocFromPoolAsync");
  f({fed({0, 1, 2, 3})});
  // Two variables and the record of the call: none for a new value.
  CHECK(control().calls("cuMemAllocFromPoolAsync") == allocations + 3);
}

TEST_CASE("index errors: text, line and variables as on cpu, in any order of threads") {
  control().reset();
  for (const auto& make : {in_kernel, in_loop, in_gradient, in_addition}) {
    const Lookup lookup = make();
    const Function on_cpu = lookup.compile("cpu"), on_cuda = lookup.compile("cuda");
    const Tensor first = lookup.variables[0];
    const Function look =
        function({}, {lookup.variables.begin(), lookup.variables.end()}, {.backend = "cuda"});
    const Function flip = function({}, {first * 2.0}, {.backend = "cuda"});
    on_cuda({fed({0, 1, 2, 3})});
    for (const std::vector<std::int32_t>& bad :
         {std::vector{7, 1, -9, 1}, {0, 0, 0, 5}, {1, -6, 100, 3}}) {
      const std::string expected = error_of<ValueError>([&] { run(on_cpu, fed(bad)); });
      CHECK_THAT(expected, Catch::Matchers::ContainsSubstring(kSource));
      for (int order = 0; order < 6; ++order) {
        on_cuda({fed({0, 1, 2, 3})});  // the values are only on the device
        const std::vector<Array> before = look();
        // Launches run their threads in ascending and descending order alternately.
        for (int i = 0; i < order % 3; ++i) flip();
        CHECK(error_of<ValueError>([&] { run(on_cuda, fed(bad)); }) == expected);
        CHECK(look() == before);
        CHECK(values(lookup) == before);
      }
    }
  }
}
