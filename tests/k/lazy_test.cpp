// Tests branches that are not taken and loops of no steps: no op in them runs, whatever nodes were
// interned before, for any pass that could move them, and in gradients, too. Expected values
// are by hand; the gradient of a dropout of ones is the dropout itself.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/k/row.h"

namespace kiln::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::error_text;

Function compiled(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
  return function(inputs, outputs, {.backend = tested_backend()});
}
Tensor vector_named(const char* name) { return placeholder({.shape = {None}, .name = name}); }
Array empty_of(std::vector<std::int64_t> dims) { return Array::zeros(std::move(dims)); }

/// A program that fails exactly if its condition is true, or its loop runs a step.
struct Failing {
  const char* name;
  /// For float32[None] x, y and z: a value that fails when x is [1,2,3], y is [1,2] and z is
  /// empty.
  Tensor (*build)(const Tensors& x);
  const char* error;  // a part of the text
};

const Failing kFailing[] = {
    {"an index that is a constant",
     [](const Tensors& x) { return sum(gather(x[0], constant(7, {.dtype = "int32"}))); },
     "index 7 is outside of an axis of size 3"},
    {"an index that is data",
     [](const Tensors& x) { return gather(x[0], cast(10 + sum(0 * x[0]), "int32")); },
     "index 10 is outside of an axis of size 3"},
    {"sizes that differ", [](const Tensors& x) { return sum(x[0] * x[1]); },
     "in this call y.0 is 2 and x.0 is 3"},
    {"a product of sizes that differ",
     [](const Tensors& x) {
       return sum(dot(expand_dims(x[0], {.axis = 0}), expand_dims(x[1], {.axis = 1})));
     },
     "in this call x.0 is 3 and y.0 is 2"},
    {"a largest element of nothing",
     [](const Tensors& x) { return cast(argmax(x[2]), "float32") * sum(x[0]); },
     "axis 0 has no elements"},
};

Tensor one() { return constant(1.f); }

}  // namespace

TEST_CASE("lazy branches: an error occurs only if its branch is taken", "[k]") {
  const Array x{1.f, 2.f, 3.f}, y{1.f, 2.f}, z = empty_of({0});
  for (const Failing& row : kFailing) {
    INFO(row.name);
    const Tensor on = of({}, "bool"), p = vector_named("x"), q = vector_named("y"),
                 r = vector_named("z");
    const Tensor held = row.build({p, q, r});  // interned before the branch writes it
    const Tensor value = switch_(on, [&] { return row.build({p, q, r}); }, one);
    const Function f = compiled({on, p, q, r}, {value});
    CHECK(f({Array(false), x, y, z})[0] == Array(1.f));
    CHECK_THAT(error_text<ValueError>([&] { f({Array(true), x, y, z}); }),
               ContainsSubstring(row.error));
    CHECK(f({Array(false), x, y, z})[0] == Array(1.f));
    const Tensor inside =
        switch_(on, [&] { return switch_(on, [&] { return row.build({p, q, r}); }, one); }, one);
    CHECK(compiled({on, p, q, r}, {inside})({Array(false), x, y, z})[0] == Array(1.f));
    CHECK_FALSE(held.empty());
  }
}

TEST_CASE("lazy branches: an error occurs only if its loop runs a step", "[k]") {
  const Array x{1.f, 2.f, 3.f}, y{1.f, 2.f}, z = empty_of({0});
  for (const Failing& row : kFailing) {
    INFO(row.name);
    const Tensor steps = of({None, 2}), p = vector_named("x"), q = vector_named("y"),
                 r = vector_named("z");
    const auto step = [&](const Tensor& e) { return e * row.build({p, q, r}); };
    const Function f = compiled({steps, p, q, r}, {map_fn(step, steps)});
    CHECK(f({empty_of({0, 2}), x, y, z})[0] == empty_of({0, 2}));
    CHECK_THAT(error_text<ValueError>([&] { f({empty_of({1, 2}), x, y, z}); }),
               ContainsSubstring(row.error));

    const auto add = [&](const Tensor& a, const Tensor& e) { return a + e * row.build({p, q, r}); };
    const Tensor total = foldl(add, steps, {.initializer = constant(Array{1.f, 2.f})});
    CHECK(compiled({steps, p, q, r}, {total})({empty_of({0, 2}), x, y, z})[0] == Array{1.f, 2.f});
    const StepFunction cell = [&](const Tensor& in, const Tensors& states) {
      const Tensor h = states[0] + in * row.build({p, q, r});
      return StepResult{h, {h}};
    };
    const Tensor sequence = of({1, None, 2});
    const RnnResult result = rnn(cell, sequence, {constant(Array{{0.f, 0.f}})});
    const Tensor last = result.last_output;
    const Function g = compiled({sequence, p, q, r}, {last, gradients(sum(last), {p})[0]});
    const std::vector<Array> none = g({empty_of({1, 0, 2}), x, y, z});
    CHECK(none[0] == Array{{0.f, 0.f}});
    CHECK(none[1] == empty_of({3}));
    CHECK_THAT(error_text<ValueError>([&] { g({empty_of({1, 1, 2}), x, y, z}); }),
               ContainsSubstring(row.error));
  }
}

TEST_CASE("lazy branches: a loop in a branch checks its sizes before nodes moved out of it run",
          "[k]") {
  const Tensor on = of({}, "bool"), v = placeholder({.shape = {None, 4}, .name = "v"});
  const auto check = [&](const std::vector<Tensor>& inputs, const auto& loop,
                         std::vector<Array> fed, const char* error) {
    const Tensor value = switch_(on, [&] { return sum(loop()); }, one);
    const Function f = compiled(inputs, {value});
    CHECK(f(fed)[0] == Array(1.f));
    fed[0] = Array(true);
    CHECK_THAT(error_text<ValueError>([&] { f(fed); }), ContainsSubstring(error));
  };
  const Array off(false);
  // The matmuls of all steps become one outside of the loop.
  const Tensor x = placeholder({.shape = {3, None, 4}, .name = "x"}), w = of({4, 5});
  const auto products = [&] {
    return map_fn([&](const Tensor& row) { return dot(v + row, w); }, x);
  };
  check({on, x, v, w}, products, {off, empty_of({3, 6, 4}), empty_of({2, 4}), empty_of({4, 5})},
        "in this call x.1 is 6 and v.0 is 2");
  // Readers of a state that never changes are moved out of the loop.
  const Tensor steps = of({None, 3, 4}), s = placeholder({.shape = {None, 4}, .name = "s"});
  const StepFunction cell = [&](const Tensor& in, const Tensors& states) {
    return StepResult{in, {states[0] + in + sum(tanh(v + states[1])), states[1]}};
  };
  const auto looped = [&] { return rnn(cell, steps, {sum(steps, {.axis = 1}), s}).last_output; };
  check({on, steps, s, v}, looped,
        {off, empty_of({2, 3, 4}), empty_of({2, 4}), empty_of({3000000, 4})},
        "in this call s.0 is 2 and v.0 is 3000000");
}

TEST_CASE("lazy branches: errors of sizes tell unnamed inputs apart", "[k]") {
  const Tensor on = of({}, "bool"), x = placeholder({.shape = {None}}),
               y = placeholder({.shape = {None}}), steps = of({None});
  const auto product = [&] { return sum(x * y); };
  const Tensor branch = switch_(on, product, one);
  const Tensor loop = map_fn([&](const Tensor& e) { return e + product(); }, steps);
  const Function f = compiled({on, x, y}, {branch, gradients(branch, {x})[0]}),
                 g = compiled({steps, x, y}, {loop, gradients(loop, {x})[0]});
  const Array two{1.f, 2.f}, three{1.f, 2.f, 3.f};
  for (const std::string& error : {error_text<ValueError>([&] { f({Array(true), two, three}); }),
                                   error_text<ValueError>([&] { g({two, two, three}); })}) {
    CHECK_THAT(error, ContainsSubstring("size input_1.0 of axis 0 is not input_2.0") ||
                          ContainsSubstring("size input_2.0 of axis 0 is not input_1.0"));
    CHECK_THAT(error, ContainsSubstring("input_1.0 is 2"));
    CHECK_THAT(error, ContainsSubstring("input_2.0 is 3"));
  }
}

TEST_CASE("lazy branches: a size that divides by zero fails where its branch is taken", "[k]") {
  const Tensor on = of({}, "bool"), x = vector_named("x"), v = vector_named("v");
  const auto in_rows = [&] { return sum(square(sum(reshape(x, {size(v), -1}), {.axis = 0}))); };
  const Function f = compiled({on, x, v}, {switch_(on, in_rows, one)});
  const Array elements{1.f, 2.f, 3.f, 4.f};
  CHECK(f({Array(false), elements, empty_of({0})})[0] == Array(1.f));
  CHECK(f({Array(true), elements, Array{0.f, 0.f}})[0] == Array(52.f));
  CHECK_THAT(error_text<ValueError>([&] { f({Array(true), elements, empty_of({0})}); }),
             ContainsSubstring("zero"));
}

TEST_CASE("lazy branches: calls that decide sizes may be in bodies, and run before all", "[k]") {
  const Tensor on = of({}, "bool"), x = of({2, 3}), y = of({1, 4, 3});
  const auto decoded = [&] {
    return sum(ctc_decode(y, constant({4}, {.dtype = "int32"})).log_prob);
  };
  const Tensor mapped = map_fn([&](const Tensor& row) { return row + decoded(); }, x);
  const Tensor chosen = switch_(on, decoded, one);
  const Function f = compiled({on, x, y}, {mapped, chosen, decoded()});
  const std::vector<Array> given{Array(true), Array::zeros({2, 3}),
                                 Array::full({1, 4, 3}, 1.f / 3)};
  const std::vector<Array> taken = f(given);
  CHECK(taken[0] == Array::full({2, 3}, taken[2].as<float>()[0]));
  CHECK(taken[1] == taken[2]);
}

TEST_CASE("lazy branches: a condition on sizes guards ops that need elements", "[k]") {
  const Tensor x = of({None});
  const Tensor best = switch_(
      size(x) > 0, [&] { return cast(argmax(x), "float32"); }, [] { return constant(-1.f); });
  const Function f = compiled({x}, {best});
  CHECK(f({empty_of({0})})[0] == Array(-1.f));
  CHECK(f({Array{1.f, 5.f, 2.f}})[0] == Array(1.f));
}

TEST_CASE("lazy branches: gradients of branches that create nodes", "[k]") {
  const Array ones = f32({4, 8}, std::vector<float>(32, 1));
  const Tensor on = of({}, "bool"), h = of({None, 8});
  const Tensor y = in_train_phase([&] { return dropout(h, 0.5, {.seed = 7}); }, h, on);
  const Function f = compiled({on, h}, {y, gradients(sum(y), {h})[0]});
  const std::vector<Array> train = f({Array(true), ones}), test = f({Array(false), ones});
  CHECK(train[0] == train[1]);
  CHECK_FALSE(train[0] == ones);
  CHECK(test[0] == ones);
  CHECK(test[1] == ones);
}

TEST_CASE("lazy branches: gradients with constants, ranges and draws inside", "[k]") {
  const SmoothRow rows[] = {
      {"an expression of constants",
       {{3}},
       [](const Tensors& x) {
         const auto scaled = [=] {
           return x[0] * (constant(Array{1., 2., 3.}, {.dtype = "float64"}) *
                          exp(constant(0.5, {.dtype = "float64"})));
         };
         return switch_(constant(1), scaled, [=] { return x[0]; });
       }},
      {"a range",
       {{3}},
       [](const Tensors& x) {
         const auto ramp = [=] { return square(x[0]) * arange(0, 3, {.dtype = "float64"}); };
         return switch_(constant(1), ramp, [=] { return x[0]; });
       }},
      {"a range of the other branch",
       {{3}},
       [](const Tensors& x) {
         const auto ramp = [=] { return x[0] * arange(0, 3, {.dtype = "float64"}); };
         return switch_(constant(0), ramp, [=] { return square(x[0]); });
       }},
      {"branches in each other",
       {{3}},
       [](const Tensors& x) {
         const auto inner = [=] { return square(x[0]) * arange(1, 4, {.dtype = "float64"}); };
         const auto outer = [=] { return exp(switch_(constant(1), inner, [=] { return x[0]; })); };
         return switch_(constant(1), outer, [=] { return x[0]; });
       },
       -0.5,
       0.5},
      {"a branch in a loop",
       {{4, 3}},
       [](const Tensors& x) {
         return map_fn(
             [](const Tensor& e) {
               const auto ramp = [&] { return square(e) * arange(1, 4, {.dtype = "float64"}); };
               return switch_(constant(1), ramp, [&] { return e; });
             },
             x[0]);
       }},
      {"a gather that is the same in every step",
       {{4, 3}, {2, 3}},
       [](const Tensors& x) {
         return map_fn(
             [&](const Tensor& e) { return e * gather(x[1], constant(1, {.dtype = "int32"})); },
             x[0]);
       }},
  };
  for (const SmoothRow& row : rows) run(row);
}

TEST_CASE("lazy branches: draws of a branch in a loop differ from step to step", "[k]") {
  const Tensor x = of({None, 16});
  const auto step = [](const Tensor& e) {
    return switch_(constant(1), [&] { return dropout(e, 0.5, {.seed = 3}); }, [&] { return e; });
  };
  const Tensor y = map_fn(step, x);
  const Function f = compiled({x}, {y, gradients(sum(y), {x})[0]});
  const std::vector<Array> result = f({f32({2, 16}, std::vector<float>(32, 1))});
  CHECK(result[0] == result[1]);
  const auto elements = result[0].as<float>();
  CHECK_FALSE(std::equal(elements.begin(), elements.begin() + 16, elements.begin() + 16));
}

}  // namespace kiln::test
