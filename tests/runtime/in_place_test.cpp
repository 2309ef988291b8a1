// Tests updates in place of the values that they replace: when, and what readers see.
#include "tests/support/catch.h"

#include "core/k/base/tensor_impl.h"
#include "runtime/plugin/backend_instance.h"
#include "runtime/variable/variable_state.h"

#include <kiln/k.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

using namespace kiln;

namespace {

runtime::VersionRef held(const Tensor& variable) {
  runtime::VariableStorage* storage = &runtime::storage_of(value_of(variable, "x"));
  runtime::VersionRef version;
  runtime::VariableStorage::snapshot({&storage, 1}, {&version, 1});
  return version;
}

/// The address of the variable's elements on the backend in use.
const void* address_of(const Tensor& variable) {
  return held(variable)->at(runtime::current_instance()).host_data();
}

/// The number of addresses that the variable has had after some calls.
std::size_t places_of(const Function& f, const Tensor& variable, const std::vector<Array>& fed) {
  std::set<const void*> places;
  for (int i = 0; i < 6; ++i) {
    f(fed);
    places.insert(address_of(variable));
  }
  return places.size();
}

bool all_equal(const Array& array, float value) {
  const auto elements = array.as<float>();
  return std::all_of(elements.begin(), elements.end(), [&](float x) { return x == value; });
}

}  // namespace

TEST_CASE("in-place update: elements overwrite the value that they replace") {
  if (backend() != "cpu") return;
  const Tensor a = ones({100}), b = ones({100}), x = placeholder({.shape = {100}});
  const Function f =
      function({x}, {a + 1.0}, {.updates = {update_add(a, x), update(b, a * 2.0 - b)}});
  const std::vector<Array> fed{Array::full({100}, 1.f)};
  CHECK(places_of(f, b, fed) == 1);
  // The update of b reads the old value of a.
  CHECK(all_equal(get_value(a), 7));
  CHECK(get_value(b).as<float>()[0] == [] {
    float old = 1, other = 1;
    for (int i = 0; i < 6; ++i) other = 2 * old++ - other;
    return other;
  }());
}

TEST_CASE("in-place update: a value that the user holds is not overwritten") {
  if (backend() != "cpu") return;
  const Tensor a = ones({100});
  const Function f = function({}, {}, {.updates = {update_add(a, 1.0)}});
  f();
  const runtime::VersionRef mine = held(a);
  f();
  f();
  CHECK(all_equal(mine->on_host(), 2));
  CHECK(all_equal(get_value(a), 4));
}

TEST_CASE("in-place update: swaps, reversals and sums read the old values") {
  const Tensor a = variable(Array{1.f, 2.f, 3.f}), b = variable(Array{4.f, 5.f, 6.f});
  const Tensor c = variable(Array{7.f, 8.f, 9.f}), d = variable(Array{1.f, 1.f, 1.f});
  const Function f =
      function({}, {a + 0.0},
               {.updates = {{a, b}, {b, a}, {c, reverse(c, {0})}, {d, d + sum(d) + a * 0.0}}});
  for (int i = 0; i < 3; ++i) f();
  CHECK(get_value(a) == Array{4.f, 5.f, 6.f});
  CHECK(get_value(b) == Array{1.f, 2.f, 3.f});
  CHECK(get_value(c) == Array{9.f, 8.f, 7.f});
  CHECK(get_value(d) == Array{64.f, 64.f, 64.f});
}

TEST_CASE("in-place update: a failing call leaves every variable as it was") {
  const Tensor a = ones({100}), b = ones({100});
  const Tensor index = placeholder({.shape = {1}, .dtype = "int32"});
  const Function f =
      function({index}, {gather(a, index)}, {.updates = {update_add(a, 1.0), update(b, a + b)}});
  f({Array::full({1}, 3, DType::Int32)});
  for (int i = 0; i < 3; ++i) CHECK_THROWS(f({Array::full({1}, 100, DType::Int32)}));
  CHECK(all_equal(get_value(a), 2));
  CHECK(all_equal(get_value(b), 2));
  f({Array::full({1}, 3, DType::Int32)});
  CHECK(all_equal(get_value(a), 3));
  CHECK(all_equal(get_value(b), 4));
}

TEST_CASE("in-place update: concurrent readers see whole values of one call", "[concurrency]") {
  constexpr int kCalls = 200;
  const Tensor a = zeros({20000}), b = zeros({20000});
  const Function step = function({}, {}, {.updates = {update_add(a, 1.0), update_add(b, 1.0)}});
  const Function difference = function({}, {max(abs(a - b)), max(a) - min(a)});
  std::atomic<bool> done{false};
  std::atomic<int> torn{0};
  std::thread reader([&] {
    while (!done) {
      const std::vector<Array> seen = difference();
      const std::vector<Array> values = batch_get_value({a, b});
      const bool whole = seen[0].item<float>() == 0 && seen[1].item<float>() == 0 &&
                         values[0] == values[1] && all_equal(values[0], values[0].as<float>()[0]);
      torn += whole ? 0 : 1;
    }
  });
  for (int i = 0; i < kCalls; ++i) step();
  done = true;
  reader.join();
  CHECK(torn == 0);
  CHECK(all_equal(get_value(a), kCalls));
}

TEST_CASE("variable: a value that no call updates is in memory once") {
  if (backend() != "cpu" && backend() != "reference") return;
  const Tensor a = variable(Array::full({100}, 2.f)), x = placeholder({.shape = {100}});
  const Function infer = function({x}, {a * x});
  const std::vector<Array> fed{Array::full({100}, 3.f)};
  CHECK(all_equal(infer(fed)[0], 6));
  const Array value = get_value(a);
  CHECK(address_of(a) == value.data());
}

TEST_CASE("variable: updates do not write to a value that the host shares") {
  const Array initial = Array::full({100}, 2.f);
  const Tensor a = variable(initial), x = placeholder({.shape = {1}, .dtype = "int32"});
  const Function infer = function({}, {a + 1.0});
  const Function train = function({x}, {gather(a, x)}, {.updates = {update_add(a, 1.0)}});
  infer();
  const Array before = get_value(a);
  CHECK_THROWS(train({Array::full({1}, 100, DType::Int32)}));
  CHECK(all_equal(infer()[0], 3));
  train({Array::full({1}, 0, DType::Int32)});
  train({Array::full({1}, 0, DType::Int32)});
  CHECK(all_equal(before, 2));
  CHECK(all_equal(initial, 2));
  CHECK(all_equal(infer()[0], 5));
  CHECK(all_equal(get_value(a), 4));
}

TEST_CASE("variable: writes through an earlier address of the Array do not reach it") {
  Array initial = Array::full({100}, 2.f);
  float* const address = initial.as<float>().data();
  const Tensor a = variable(initial), moved = variable(std::move(initial));
  const Function infer = function({}, {a + moved});
  infer();
  *address = 7;
  CHECK(all_equal(infer()[0], 4));
}
