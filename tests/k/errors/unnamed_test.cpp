// Tests messages about placeholders without a name, or with equal names: they are distinguished by
// their position among the inputs.
#include "tests/support/catch.h"
#include "tests/support/misuse.h"

namespace kiln::test {
namespace {

using testing::throws;
using testing::throws_at;

Tensor unnamed(const Shape& shape, Where where = Where::here()) {
  return placeholder({.shape = shape, .dtype = "float32"}, where);
}

}  // namespace

TEST_CASE("unnamed placeholders: called by their position among the inputs") {
  const Tensor x = unnamed({None}), y = unnamed({None}), z = unnamed({None, 2});
  const unsigned added = __LINE__ + 1;
  const Tensor total = x + y;
  const unsigned shaped = __LINE__ + 1;
  const Tensor pairs = reshape(x, {-1, 2});
  const auto of = [&](const Tensor& result) {
    return function({z, x, y}, {result}, {.name = "f", .backend = "reference"});
  };
  const Function sums = of(total), shapes = of(pairs);
  const Array two{1.f, 2.f}, three{1.f, 2.f, 3.f}, by_two = Array::full({2, 2}, 1);
  testing::run({
      {throws_at<ValueError>(added), [&] { sums({by_two, two, three}); },
       "operator+: size input_2.0 of axis 0 is not input_1.0 (float32[input_2.0]); in this call "
       "axis 0 of input 2 (unnamed) is 3 and axis 0 of input 1 (unnamed) is 2"},
      {throws_at<ValueError>(shaped), [&] { shapes({by_two, three, three}); },
       "reshape: cannot reshape to [floordiv(input_1.0,2),2]: input_1.0 elements are not "
       "2*floordiv(input_1.0,2) (x float32[input_1.0]); in this call axis 0 of input 1 (unnamed) "
       "is 3 and 2*floordiv(input_1.0,2) is 2"},
      {throws<ValueError>(), [&] { sums({by_two, by_two, two}); },
       "f: input 1 (unnamed) float32[input_1.0] was fed an array of shape [2,2]"},
      {throws<ValueError>(), [&] { sums({three, two, two}); },
       "f: input 0 (unnamed) float32[input_0.0,2] was fed an array of shape [3]"},
  });
  CHECK(sums({by_two, two, two})[0] == Array{2.f, 4.f});
}

TEST_CASE("placeholders of one name: distinguished by their position among the inputs") {
  const auto named = [] { return placeholder({.shape = {None}, .dtype = "float32", .name = "x"}); };
  const Tensor x = named(), y = named(), z = unnamed({None});
  const unsigned added = __LINE__ + 1;
  const Tensor total = x + y + z;
  const Function f = function({x, y, z}, {total}, {.name = "f", .backend = "reference"});
  const Array two{1.f, 2.f}, three{1.f, 2.f, 3.f};
  testing::run({
      {throws_at<ValueError>(added), [&] { f({two, three, two}); },
       "operator+: size input_1.0 of axis 0 is not x.0 (float32[input_1.0]); in this call "
       "input_1.0 is 3 and x.0 is 2"},
      {throws_at<ValueError>(added), [&] { f({two, two, three}); },
       "operator+: size input_2.0 of axis 0 is not x.0 (float32[input_2.0]); in this call axis 0 "
       "of input 2 (unnamed) is 3 and x.0 is 2"},
  });
}

TEST_CASE("unnamed placeholders: called unnamed when they are not fed, or fed twice") {
  const Tensor x = unnamed({2}), y = unnamed({2});
  const unsigned line = __LINE__ - 1;
  const Tensor total = x + y;
  testing::run({
      {throws<ValueError>(), [&] { function({x, x}, {total}); },
       "function: inputs[1] is given twice (unnamed float32[2])"},
      {throws<ValueError>(), [&] { function({x}, {total}); },
       "function: a result depends on a placeholder that is not fed (unnamed float32[2], made at " +
           std::string(__FILE__) + ":" + std::to_string(line) + ")"},
  });
}

}  // namespace kiln::test
