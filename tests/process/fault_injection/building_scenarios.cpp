// Scenarios that build and differentiate graphs, and errors about graphs. Nothing is compiled.
#include "tests/process/fault_injection/scenario.h"

#include <sstream>

using namespace kiln;

namespace fault_injection {
namespace {

Tensor input(const Shape& shape, const char* dtype = "float32") {
  return placeholder({.shape = shape, .dtype = dtype, .name = "x"});
}

std::string type_of(const Tensor& x) {
  std::ostringstream text;
  text.exceptions(std::ios::badbit);
  text << x;
  return text.str();
}

/// A scenario that builds one tensor from one input.
Scenario built(const char* name, const Shape& shape, Tensor (*build)(const Tensor&)) {
  return {name, [shape, build](const Setup&) {
            const Tensor x = input(shape);
            return Prepared{[x, build] { return Values{.text = type_of(build(x))}; }};
          }};
}

/// A scenario that differentiates such a tensor, whose graph is built before.
Scenario differentiated(const char* name, const Shape& shape, Tensor (*build)(const Tensor&)) {
  return {name, [shape, build](const Setup&) {
            const Tensor x = input(shape), loss = sum(build(x));
            return Prepared{[x, loss] { return Values{.text = type_of(gradients(loss, {x})[0])}; }};
          }};
}

/// A scenario whose run without failures is an error that Kiln describes.
Scenario misused(const char* name, const Shape& shape, void (*misuse)(const Tensor&)) {
  return {name, [shape, misuse](const Setup&) {
            const Tensor x = input(shape);
            return Prepared{[x, misuse] {
              Values values;
              try {
                misuse(x);
              } catch (const ValueError& error) {
                values.text = error.argument();
              } catch (const TypeError& error) {
                values.text = error.argument();
              }
              return values;
            }};
          }};
}

Tensor elementwise(const Tensor& x) { return tanh(x * 2.0 + 1.0) / (abs(x) + 3.0); }
Tensor layer(const Tensor& x) {
  return relu(bias_add(dot(x, ones({3, 4})), constant({1., 2., 3., 4.})));
}
Tensor moved(const Tensor& x) {
  const Tensor y = permute_dimensions(reshape(x, {-1, 3, 2}), {0, 2, 1});
  return concatenate({y, y * y}, {.axis = 1});
}
Tensor convolved(const Tensor& x) {
  const Tensor y = conv2d(x, ones({2, 2, 1, 2}), {.padding = "same"});
  return pool2d(y, 2, {.strides = 2});
}
Tensor looped(const Tensor& x) {
  const auto step = [](const Tensor& in, const std::vector<Tensor>& states) {
    const Tensor next = tanh(in + states[0] * 0.5);
    return StepResult{next, {next}};
  };
  return rnn(step, x, {zeros_like(sum(x, {.axis = 1}))}).last_output;
}
Tensor chosen(const Tensor& x) {
  return switch_(sum(x) > 0.0, [&] { return exp(x); }, [&] { return x * 2.0; });
}
Tensor mapped(const Tensor& x) {
  return map_fn([](const Tensor& row) { return sum(row * row); }, x);
}
Tensor folded(const Tensor& x) {
  return foldl([](const Tensor& a, const Tensor& row) { return a * 0.5 + row; }, x);
}
Tensor classified(const Tensor& x) {
  return categorical_crossentropy(softmax(x), softmax(x * 2.0));
}

}  // namespace

const std::vector<Scenario>& building_scenarios() {
  static const std::vector<Scenario> scenarios{
      built("build elementwise", {None, 3}, elementwise),
      built("build a layer", {None, 3}, layer),
      built("build reshape, permute and concatenate", {None, 6}, moved),
      built("build convolution and pooling", {None, 4, 4, 1}, convolved),
      built("build a loop", {None, 5, 3}, looped),
      built("build a branch", {None, 3}, chosen),
      built("build map_fn", {None, 3}, mapped),
      built("build foldl", {None, 3}, folded),
      built("build a loss", {None, 3}, classified),
      differentiated("differentiate a layer", {None, 3}, layer),
      differentiated("differentiate a convolution", {None, 4, 4, 1}, convolved),
      differentiated("differentiate a loop", {None, 5, 3}, looped),
      differentiated("differentiate a branch", {None, 3}, chosen),
      differentiated("differentiate a loss", {None, 3}, classified),
      misused("describe shapes that do not fit", {None, 3},
              [](const Tensor& x) { const Tensor product = dot(x, ones({4, 2})); }),
      misused("describe a wrong dtype", {None, 3},
              [](const Tensor& x) { const Tensor both = concatenate({x, cast(x, "int32")}); }),
      misused("describe a missing input", {None, 3},
              [](const Tensor& x) {
                const Function f = function({}, {x * 2.0}, {.backend = "reference"});
              }),
  };
  return scenarios;
}

}  // namespace fault_injection
