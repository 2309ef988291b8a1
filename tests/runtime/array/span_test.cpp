// Tests writes through a kept span: values that were copied from the Array before or after must not
// change. One row for each way of passing an Array on.
#include "tests/support/catch.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <functional>
#include <thread>
#include <utility>

using namespace kiln;
using kiln::testing::Scratch;

namespace {

using CurrentValue = std::function<Array()>;  // of the copy that the Array was passed to

struct Way {
  const char* name;
  std::function<CurrentValue(const Array& a)> pass;  // of float32 [1, 2]
};

CurrentValue holding(Array value) {
  const auto held = std::make_shared<const Array>(std::move(value));
  return [held] { return *held; };
}

Function on_reference(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                      const std::vector<UpdateOp>& updates = {}) {
  return function(inputs, outputs, {.updates = updates, .backend = "reference"});
}

CurrentValue reading(const Variable& w) {
  return [w] {
    const Array value = get_value(w);
    REQUIRE(on_reference({}, {w})()[0] == value);  // the copy at a backend is the same
    return value;
  };
}

const std::vector<Way> kWays = {
    {"copied", [](const Array& a) { return holding(a); }},
    {"assigned",
     [](const Array& a) {
       Array b;
       b = a;
       return holding(std::move(b));
     }},
    {"copied twice",
     [](const Array& a) {
       const Array b = a, c = b;  // NOLINT: the copy of a copy
       return holding(c);
     }},
    {"copied by a thread",
     [](const Array& a) {
       Array b;
       std::thread([&] { b = a; }).join();
       return holding(std::move(b));
     }},
    {"kept in a vector",
     [](const Array& a) {
       std::vector<Array> all{a, a};
       all.resize(50);
       return holding(all[1]);
     }},
    {"reshaped", [](const Array& a) { return holding(a.reshape({1, 2}).reshape({2})); }},
    {"cast to its own dtype", [](const Array& a) { return holding(a.astype(DType::Float32)); }},
    {"cast",
     [](const Array& a) { return holding(a.astype(DType::Float64).astype(DType::Float32)); }},
    {"a feed that is kept",
     [](const Array& a) {
       const Feed feed = a;
       return CurrentValue([feed] { return feed.array(); });
     }},
    {"a vector of feeds that is kept",
     [](const Array& a) {
       const Tensor x = placeholder({.shape = {2}});
       const std::vector<Feed> feeds{a};
       return CurrentValue([feeds, f = on_reference({x}, {x})] { return f(feeds)[0]; });
     }},
    {"values of a sparse matrix",
     [](const Array& a) {
       const SparseArray m = SparseArray::of(Array{{0, 0}, {0, 1}}, a, {1, 2});
       return CurrentValue([m] { return m.values(); });
     }},
    {"a sparse variable",
     [](const Array& a) {
       const Tensor x = variable(SparseArray::of(Array{{0, 0}, {0, 1}}, a, {1, 2}));
       return CurrentValue([x] { return eval(x).reshape({2}); });
     }},
    {"the elements of a matrix that are not 0",
     [](const Array& a) {
       const SparseArray m = SparseArray::of_dense(a.reshape({1, 2}));
       return CurrentValue([m] { return m.values(); });
     }},
    {"a variable", [](const Array& a) { return reading(variable(a)); }},
    {"a variable of a copy",
     [](const Array& a) {
       const Array b = a;
       return reading(variable(b));
     }},
    {"a variable that a function has read",
     [](const Array& a) {
       const Variable w = variable(a);
       on_reference({}, {w})();
       return reading(w);
     }},
    {"set_value",
     [](const Array& a) {
       const Variable w = variable(Array{5.f, 6.f});
       set_value(w, a);
       return reading(w);
     }},
    {"batch_set_value",
     [](const Array& a) {
       const Variable w = variable(Array{5.f, 6.f}), v = variable(Array{5.f, 6.f});
       batch_set_value({{w, a}, {v, a}});
       return reading(v);
     }},
    {"batch_set_value of pairs that are kept",
     [](const Array& a) {
       const Variable w = variable(Array{5.f, 6.f});
       const std::vector<std::pair<Tensor, Array>> pairs{{w, a}};
       return CurrentValue([w, pairs] {
         batch_set_value(pairs);
         return get_value(w);
       });
     }},
    {"an update that is executed",
     [](const Array& a) {
       const Variable w = variable(Array{5.f, 6.f});
       eval(update(w, a));
       return reading(w);
     }},
    {"an update that is not executed yet",
     [](const Array& a) {
       const Variable w = variable(Array{5.f, 6.f});
       const Function f = on_reference({}, {}, {update(w, a)});
       return CurrentValue([w, f] {
         f();
         return get_value(w);
       });
     }},
    {"a constant",
     [](const Array& a) {
       const Tensor c = constant(a);
       return CurrentValue([c] { return eval(c); });
     }},
    {"a constant of another shape",
     [](const Array& a) {
       const Tensor c = constant(a, {.shape = {2, 1}});
       return CurrentValue([c] { return eval(c).reshape({2}); });
     }},
    {"the result of a function that gives its input",
     [](const Array& a) {
       const Tensor x = placeholder({.shape = {2}});
       return holding(on_reference({x}, {x})({a})[0]);
     }},
    {"a variable that a function sets to its input",
     [](const Array& a) {
       const Tensor x = placeholder({.shape = {2}});
       const Variable w = variable(Array{5.f, 6.f});
       on_reference({x}, {}, {update(w, x)})({a});
       return reading(w);
     }},
    {"saved weights",
     [](const Array& a) {
       const Variable w = variable(a, {.name = "w"});
       return CurrentValue([w] {
         const Scratch scratch;
         save_weights(scratch.path("file"), {w});
         const Variable loaded = variable(Array{5.f, 6.f}, {.name = "w"});
         load_weights(scratch.path("file"), {loaded});
         return get_value(loaded);
       });
     }},
};

/// Where the array that is written comes from; all hold [1, 2].
struct Source {
  const char* name;
  std::function<Array()> make;
};

const std::vector<Source> kSources = {
    {"constructed", [] { return Array{1.f, 2.f}; }},
    {"copied from one that was written",
     [] {
       Array a{7.f, 2.f};
       a.as<float>()[0] = 1;
       return Array(a);  // NOLINT: a copy
     }},
    {"moved from one that was written",
     [] {
       Array a{7.f, 2.f};
       a.as<float>()[0] = 1;
       Array b = std::move(a);
       return b;
     }},
    {"a view",
     [] {
       static const std::vector<float> memory{1, 2};
       return Array::view(memory.data(), {2});
     }},
    {"the value of a variable", [] { return get_value(variable(Array{1.f, 2.f})); }},
    {"the value of a variable that a function set",
     [] {
       const Variable w = variable(Array{0.f, 1.f});
       on_reference({}, {}, {update_add(w, 1)})();
       return get_value(w);
     }},
    {"the result of a function", [] { return on_reference({}, {constant({1., 2.})})()[0]; }},
};

}  // namespace

TEST_CASE("kept span: writes do not reach copies") {
  for (const Source& source : kSources) {
    for (const Way& way : kWays) {
      INFO(source.name << ", " << way.name);
      Array a = source.make();
      const CurrentValue before = way.pass(a);
      const std::span<float> span = a.as<float>();
      const CurrentValue after = way.pass(a);
      span[0] = 9;
      CHECK(before() == Array{1.f, 2.f});
      CHECK(after() == Array{1.f, 2.f});
      CHECK(a == Array{9.f, 2.f});
      const CurrentValue later = way.pass(a);
      span[1] = 8;
      CHECK(later() == Array{9.f, 2.f});
      CHECK(a.as<float>().data() == span.data());
    }
  }
}

TEST_CASE("kept span: valid after its array is moved, swapped or assigned to itself") {
  Array a{1.f, 2.f};
  const std::span<float> span = a.as<float>();
  const Array& self = a;
  a = self;
  Array b = std::move(a);
  Array c{3.f};
  std::swap(b, c);
  std::vector<Array> all;
  all.push_back(std::move(c));
  all.resize(20);
  span[0] = 4;
  CHECK(all[0] == Array{4.f, 2.f});
  const Array copy = all[0];
  span[0] = 5;
  CHECK(copy == Array{4.f, 2.f});
  all[0] = copy;  // releases the elements of the span
  CHECK(std::as_const(all[0]).data() == copy.data());
}

TEST_CASE("Array: arrays that are only read share their elements") {
  const auto shares = [](const Array& a) {
    const Array copy = a;
    return copy.data() == a.data();
  };
  CHECK(shares(Array{1.f}));
  const Tensor x = placeholder({.shape = {2}});
  for (const char* backend : {"reference", "cpu"}) {
    CHECK(shares(function({x}, {x + 1}, {.backend = backend})({Array{1.f, 2.f}})[0]));
  }
  Array a{1.f, 2.f};
  static_cast<void>(a.at<float>(0));
  static_cast<void>(a.as_view());
  static_cast<void>(std::as_const(a).as<float>());
  CHECK(shares(a));
  const Variable w = variable(a, {.name = "w"});
  const Array value = get_value(w), again = get_value(w);
  CHECK(value.data() == again.data());
  on_reference({}, {}, {update_add(w, 1)})();
  const Array moved = get_value(w), moved_again = get_value(w);
  CHECK(moved.data() == moved_again.data());
  const SparseArray m = SparseArray::of_dense(Array{{0.f, 3.f}});
  CHECK(shares(m.values()));
  const Scratch scratch;
  save_weights(scratch.path("file"), {w});
  load_weights(scratch.path("file"), {w});
  const Array loaded = get_value(w), loaded_again = get_value(w);
  CHECK(loaded.data() == loaded_again.data());
}
