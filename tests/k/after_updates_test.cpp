// Tests outputs that are computed after the updates: they equal a second function's that runs
// afterwards, and variables have the same values as without the option.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/k/row.h"

#include <cstdlib>
#include <functional>

namespace kiln::test {
namespace {

/// A step, and the outputs that are computed after it.
struct Step {
  std::vector<Variable> variables;
  Tensors inputs;
  std::vector<Array> feeds;
  std::vector<UpdateOp> updates;
  Tensors outputs;
};

struct StepRow {
  const char* name;
  std::function<Step()> make;
};

Variable weight() { return variable(Array({0.5f, -1.f, 2.f, 1.5f, 0.25f, -0.75f}, {2, 3})); }

const std::vector<StepRow> kAfterUpdatesRows = {
    {"one variable",
     [] {
       const Variable w = weight();
       return Step{{w}, {}, {}, {update_add(w, 1)}, {w, w * 2, sum(w)}};
     }},
    {"no output",
     [] {
       const Variable w = weight();
       return Step{{w}, {}, {}, {update_add(w, 1)}, {}};
     }},
    {"no update",
     [] {
       const Variable w = weight();
       return Step{{w}, {}, {}, {}, {w + 1}};
     }},
    {"variables that take each other's values",
     [] {
       const Variable a = variable(Array{1.f, 2.f}), b = variable(Array{3.f, 4.f}),
                      c = variable(Array{5.f, 6.f});
       return Step{{a, b, c}, {}, {}, {{a, b}, {b, c}, {c, a + b}}, {a, b, c, a - b * c}};
     }},
    {"an update that reads what another writes",
     [] {
       const Variable a = variable(Array(1)), b = variable(Array(2));
       return Step{{a, b}, {}, {}, {update_add(a, b), update_add(b, a)}, {a * 10 + b}};
     }},
    {"a variable that is not updated",
     [] {
       const Variable a = variable(Array(1)), b = variable(Array(2));
       return Step{{a, b}, {}, {}, {update(a, a + b)}, {a + b, b}};
     }},
    {"a size that is decided again, and checked in a branch and in a loop",
     [] {
       const Variable w = variable(2, {.dtype = "int32"});
       const Tensor x = placeholder({.shape = {None}});
       const Tensor on = placeholder({.shape = {}, .dtype = "bool"});
       const auto product = [=] { return sum(x * cast(arange(w), "float32")); };
       const Tensor branch = switch_(on, product, [] { return constant(7.f); });
       const Tensor loop = map_fn([=](const Tensor& e) { return e + product(); }, x);
       return Step{{w},
                   {x, on},
                   {Array{1.f, 2.f, 3.f}, Array(true)},
                   {update(w, w * 0 + 3)},
                   {branch, loop}};
     }},
    {"a training step",
     [] {
       const Variable w = weight(), b = variable(Array{0.1f, 0.2f, 0.3f});
       const Tensor x = placeholder({.shape = {None, 2}}), t = placeholder({.shape = {None, 3}});
       const Tensor y = relu(dot(x, w) + b), loss = mean(square(y - t));
       const Tensors slopes = gradients(loss, {w, b});
       return Step{{w, b},
                   {x, t},
                   {Array{{1.f, 2.f}, {-1.f, 0.5f}}, Array{{0.f, 1.f, 0.f}, {2.f, 0.f, 1.f}}},
                   {update_sub(w, slopes[0] * 0.1), update_sub(b, slopes[1] * 0.1)},
                   {loss, y, slopes[0], slopes[1], w}};
     }},
    {"momentum",
     [] {
       const Variable p = variable(Array{10.f, 5.f}), v = variable(Array{0.f, 1.f});
       const Tensor g = placeholder({.shape = {2}}), velocity = 0.5 * v - g;
       return Step{
           {p, v}, {g}, {Array{2.f, 3.f}}, {update(v, velocity), {p, p + velocity}}, {p, v, p * v}};
     }},
    {"a loop that reads the variable",
     [] {
       const Variable w = variable(Array{1.f, 2.f});
       const Tensor x = placeholder({.shape = {None, 2}});
       const Tensor all = map_fn([&](const Tensor& row) { return row * w + sum(w); }, x);
       return Step{{w},
                   {x},
                   {Array{{1.f, 2.f}, {3.f, 4.f}}},
                   {update_add(w, sum(all))},
                   {all, gradients(sum(all), {w})[0]}};
     }},
    {"a branch that reads the variable",
     [] {
       const Variable w = variable(Array(1.f));
       const Tensor chosen = switch_(w > 1.5, [&] { return w * 10; }, [&] { return w - 10; });
       return Step{{w}, {}, {}, {update_add(w, 1)}, {chosen}};
     }},
    {"data-dependent sizes",
     [] {
       const Variable n = variable(Array(2), {.dtype = "int32"});
       const Variable w = variable(Array(1.f));
       return Step{{n, w},
                   {},
                   {},
                   {update_add(n, 1), update_add(w, sum(cast(arange(n), floatx())))},
                   {arange(n), w, arange(n) * 2}};
     }},
    {"labels that are decoded",
     [] {
       const Variable w = variable(Array({0.1f, 0.9f, 0.8f, 0.2f, 0.3f, 0.7f}, {1, 2, 3}));
       const auto decode = [&](bool greedy) {
         return ctc_decode(softmax(w), constant({2}), {.greedy = greedy, .beam_width = 3});
       };
       const CtcDecoded best = decode(true), beam = decode(false);
       const Tensor x = placeholder({.shape = {1, 2, 3}});
       return Step{{w},
                   {x},
                   {Array({3.f, 0.f, -2.f, 0.f, 0.f, 2.f}, {1, 2, 3})},
                   {update_add(w, x)},
                   {best.decoded[0], best.log_prob, beam.log_prob, beam.decoded[0],
                    cast(best.decoded[0], "float32") * 2, sum(w)}};
     }},
    {"data-dependent sizes of data-dependent sizes",
     [] {
       const Variable n = variable(Array(2), {.dtype = "int64"});
       const Tensor first = arange(n, {.dtype = "int64"});
       const Tensor second = arange(sum(first) + shape(first)[0], {.dtype = "int64"});
       const Tensor both = concatenate({reshape(first, {-1}), second}, {.axis = 0});
       return Step{{n}, {}, {}, {update_add(n, shape(second)[0])}, {both, second, shape(both)}};
     }},
    {"a loop over a size that is data",
     [] {
       const Variable n = variable(Array(2), {.dtype = "int32"});
       const Variable w = variable(Array(1.f));
       const Tensor steps = cast(arange(n), "float32");
       const Tensor all = map_fn([&](const Tensor& i) { return i * w; }, steps);
       return Step{{n, w},
                   {},
                   {},
                   {update_add(n, 2), update_add(w, sum(all))},
                   {all, sum(all), gradients(sum(all), {w})[0]}};
     }},
    {"integers, bools and wide floats",
     [] {
       const Variable i = variable(Array(std::int64_t{1} << 40), {.dtype = "int64"});
       const Variable b = variable(Array{true, false}, {.dtype = "bool"});
       const Variable d = variable(Array(0.5), {.dtype = "float64"});
       return Step{{i, b, d},
                   {},
                   {},
                   {update_add(i, 1), {b, equal(b, zeros_like(b))}, update(d, d / 3)},
                   {i, b, d, switch_(b[0], d, -d)}};
     }},
    {"a large variable, which is updated in place",
     [] {
       const Variable w = variable(Array::full({300, 257}, 0.5));
       const Tensor x = placeholder({.shape = {300, 257}});
       return Step{
           {w}, {x}, {Array::full({300, 257}, 0.25)}, {update_sub(w, x * 0.5)}, {sum(w), w * 2}};
     }},
};

std::vector<Array> values(const Step& step) {
  return batch_get_value({step.variables.begin(), step.variables.end()});
}

/// `reference`, and the backend of KILN_TEST_BACKEND or `cpu`.
std::vector<std::string> both_backends() {
  const char* chosen = std::getenv("KILN_TEST_BACKEND");
  const bool is_chosen = chosen != nullptr && *chosen != '\0';
  return {"reference", is_chosen ? tested_backend() : "cpu"};
}

Function compile(const Tensors& inputs, const Tensors& outputs,
                 const std::vector<UpdateOp>& updates, bool after, const std::string& backend) {
  return function(inputs, outputs,
                  {.updates = updates, .outputs_after_updates = after, .backend = backend});
}

/// Compares several calls of the step with the option to pairs of calls without it.
void check(const StepRow& row, const std::string& backend) {
  INFO(row.name << " on " << backend);
  const Step step = row.make(), plain = row.make();
  const Function at_once = compile(step.inputs, step.outputs, step.updates, true, backend);
  const Function update = compile(plain.inputs, {}, plain.updates, false, backend);
  const Function look = compile(plain.inputs, plain.outputs, {}, false, backend);
  for (int call = 0; call < 3; ++call) {
    const std::vector<Array> found = at_once(step.feeds);
    update(plain.feeds);
    const std::vector<Array> expected = look(plain.feeds);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      INFO("call " << call << ", output " << i);
      CHECK(difference(found[i], expected[i], 1e-5) == "");
    }
    const std::vector<Array> now = values(step), wanted = values(plain);
    for (std::size_t i = 0; i < now.size(); ++i) {
      CHECK(difference(now[i], wanted[i], 1e-5) == "");
    }
  }
}

}  // namespace

TEST_CASE("outputs after updates: those of a call that follows", "[k]") {
  for (const StepRow& row : kAfterUpdatesRows) {
    for (const std::string& backend : both_backends()) check(row, backend);
  }
}

TEST_CASE("outputs after updates: call_into writes them, too", "[k]") {
  for (const std::string& backend : both_backends()) {
    const Variable w = variable(Array{1.f, 2.f});
    const Tensor x = placeholder({.shape = {2}});
    const Function f = compile({x}, {w, w * x}, {update_add(w, x)}, true, backend);
    const std::vector<std::int64_t> dims{2};
    const float fed[2] = {10, 20};
    float now[2] = {}, scaled[2] = {};
    const ArrayView in[] = {{DType::Float32, fed, dims}};
    const MutableArrayView out[] = {{DType::Float32, now, dims}, {DType::Float32, scaled, dims}};
    for (int call = 1; call <= 3; ++call) {
      f.call_into(in, out);
      const auto n = static_cast<float>(call);
      CHECK(Array::copy_of(now, {2}, DType::Float32) == Array{1 + 10 * n, 2 + 20 * n});
      CHECK(Array::copy_of(scaled, {2}, DType::Float32) ==
            Array{10 * (1 + 10 * n), 20 * (2 + 20 * n)});
      CHECK(get_value(w) == Array{1 + 10 * n, 2 + 20 * n});
    }
  }
}

TEST_CASE("outputs after updates: an update and the output after it share one draw", "[k]") {
  for (const std::string& backend : both_backends()) {
    const Variable w = variable(Array::zeros({50}));
    const Function f = compile({}, {w}, {update(w, random_uniform({50}))}, true, backend);
    const Array first = f()[0];
    CHECK(first == get_value(w));
    const Array second = f()[0];
    CHECK(second == get_value(w));
    CHECK(first != second);
  }
}

TEST_CASE("outputs after updates: a failing call gives none", "[k]") {
  for (const std::string& backend : both_backends()) {
    const Variable w = variable(Array{1.f, 2.f});
    const Tensor i = placeholder({.shape = {1}, .dtype = "int32"});
    const Function f = compile({i}, {gather(w, i)}, {update_add(w, 1)}, true, backend);
    CHECK(f({Array{1}})[0] == Array{3.f});
    CHECK_THROWS_AS(f({Array{2}}), ValueError);
    CHECK(get_value(w) == Array{2.f, 3.f});
    CHECK(f({Array{0}})[0] == Array{3.f});
  }
}

}  // namespace kiln::test
