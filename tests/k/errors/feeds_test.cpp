// Tests mistakes of a call: feeds that do not fit, sizes that disagree, indices out of range. The
// line is that of the call, or, where a guard fails, the line that needs the guard.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/support/misuse.h"

#include <array>
#include <cmath>
#include <utility>

namespace kiln::test {
namespace {

using testing::Bystanders;
using testing::throws;
using testing::throws_at;
using testing::Misuse;

Tensor input(const Shape& shape, const char* name, const char* dtype = "float32") {
  return placeholder({.shape = shape, .dtype = dtype, .name = name});
}

}  // namespace

TEST_CASE("feeds: another shape, dtype or number") {
  const Variable w = variable(Array(0.f), {.name = "w"});
  const Tensor x = input({None, 3}, "x"), i = input({2}, "i", "int32"), b = input({}, "", "bool");
  const Function f = function({x, i, b}, {sum(x)}, {.updates = {update_add(w, 1)}, .name = "f"});
  const Array good = Array::full({2, 3}, 1), index{0, 1}, yes(true);
  testing::run({
      {throws<ValueError>(), [&] { f({}); }, "f: takes 3 inputs but 0 were given"},
      {throws<ValueError>(), [&] { f({good}); }, "f: takes 3 inputs but 1 was given"},
      {throws<ValueError>(), [&] { f({good, index, yes, good}); },
       "f: takes 3 inputs but 4 were given"},
      {throws<ValueError>(), [&] { f({Array::full({2, 4}, 1), index, yes}); },
       "f: inputs[0] (x float32[x.0,3]) was fed an array of shape [2,4]"},
      {throws<ValueError>(), [&] { f({Array::full({3}, 1), index, yes}); },
       "f: inputs[0] (x float32[x.0,3]) was fed an array of shape [3]"},
      {throws<ValueError>(), [&] { f({good, Array{1, 2, 3}, yes}); },
       "f: inputs[1] (i int32[2]) was fed an array of shape [3]"},
      {throws<ValueError>(), [&] { f({good, index, Array{true, true}}); },
       "f: input 2 (unnamed) bool[] was fed an array of shape [2]"},
      {throws<ValueError>(), [&] { f({good, Array{0.5f, NAN}, yes}); },
       "f: inputs[1] (i int32[2]) was fed nan at [1], which int32 cannot hold"},
      {throws<ValueError>(), [&] { f({good, Array{-3e9, 0.}, yes}); },
       "f: inputs[1] (i int32[2]) was fed -3e+09 at [0], which int32 cannot hold"},
      {throws<ValueError>(), [&] { f({index, index, yes}); },
       "f: inputs[0] (x float32[x.0,3]) was fed an array of shape [2]"},
  });
  CHECK(f({good, index, yes})[0] == Array(6.f));
  CHECK(f({good, Array{0.5, 1.9}, Array(0.5)})[0] == Array(6.f));
  CHECK(get_value(w) == Array(2.f));
}

TEST_CASE("feeds: sparse matrices are named as the user's inputs") {
  const Tensor a = input({2}, "a");
  const Tensor s = placeholder({.shape = {None, 2}, .dtype = "int32", .sparse = true, .name = "s"});
  const Tensor unnamed = placeholder({.shape = {None, 2}, .dtype = "int32", .sparse = true});
  const Tensor last = input({3}, "last");
  const Function f =
      function({a, s, unnamed, last}, {to_dense(s), to_dense(unnamed), a, last}, {.name = "f"});
  const Array two{1.f, 2.f}, three{1.f, 2.f, 3.f}, good{{1, 2}, {3, 4}}, wide{{1, 2, 3}};
  const SparseArray nan = SparseArray::of(Array{{0, 0}, {1, 1}}, Array{1.f, NAN}, {2, 2});
  const std::string is_fed_nan = " was fed nan at values[1], which int32 cannot hold";
  testing::run({
      {throws<ValueError>(), [&] { f({two, wide, good, three}); },
       "f: inputs[1] (s sparse int32[s.0,2]) was fed a matrix of shape [1,3]"},
      {throws<ValueError>(), [&] { f({two, SparseArray::of_dense(wide), good, three}); },
       "f: inputs[1] (s sparse int32[s.0,2]) was fed a matrix of shape [1,3]"},
      {throws<ValueError>(), [&] { f({two, Array{{1.f, 2.f}, {3.f, NAN}}, good, three}); },
       "f: inputs[1] (s sparse int32[s.0,2]) was fed nan at [1,1], which int32 cannot hold"},
      {throws<ValueError>(), [&] { f({two, nan, good, three}); },
       "f: inputs[1] (s sparse int32[s.0,2])" + is_fed_nan},
      {throws<ValueError>(), [&] { f({two, good, good, two}); },
       "f: inputs[3] (last float32[3]) was fed an array of shape [2]"},
  });
  const std::string message = testing::error_text<ValueError>([&] { f({two, good, nan, three}); });
  CHECK_THAT(message, Catch::Matchers::StartsWith("f: input 2 (unnamed) sparse int32["));
  CHECK_THAT(message, Catch::Matchers::EndsWith(is_fed_nan));
  CHECK(f({two, good, SparseArray::of_dense(good), three})[1] == good);
}

TEST_CASE("feeds: a moved-from sparse matrix keeps its value") {
  const Tensor s = placeholder({.shape = {None, 2}, .sparse = true});
  const Function f = function({s}, {to_dense(s)}, {.name = "f"});
  SparseArray from = SparseArray::of_dense(Array{{1.f, 2.f}});
  const SparseArray to = std::move(from);
  CHECK(f({from})[0] == Array{{1.f, 2.f}});  // NOLINT(bugprone-use-after-move)
  CHECK(eval(to_dense(variable(from))) == Array{{1.f, 2.f}});
  SparseArray assigned = to;
  assigned = std::move(from);
  CHECK(f({from})[0] == f({assigned})[0]);
}

TEST_CASE("views: another shape, dtype or number") {
  const Tensor x = input({None, 2}, "x");
  const Function f = function({x}, {x * 2}, {.name = "f", .backend = "reference"});
  const std::vector<std::int64_t> dims{2, 2}, odd{2, 3};
  std::array<float, 6> in{1, 2, 3, 4}, out{};
  const ArrayView good[] = {{DType::Float32, in.data(), dims}};
  const ArrayView wide[] = {{DType::Float32, in.data(), odd}};
  const ArrayView whole[] = {{DType::Int32, in.data(), dims}};
  const std::vector<std::int64_t> below{-1, 2};
  const ArrayView negative[] = {{DType::Float32, in.data(), below}};
  const MutableArrayView negative_to[] = {{DType::Float32, out.data(), below}};
  const MutableArrayView to[] = {{DType::Float32, out.data(), dims}};
  const MutableArrayView wide_to[] = {{DType::Float32, out.data(), odd}};
  const MutableArrayView half_to[] = {{DType::Float16, out.data(), dims}};
  testing::run({
      {throws<ValueError>(), [&] { f.call_into({}, to); }, "f: takes 1 input but 0 were given"},
      {throws<ValueError>(), [&] { f.call_into(good, {}); },
       "f: gives 1 output but 0 views were given"},
      {throws<ValueError>(), [&] { f.call_into(wide, to); },
       "f: inputs[0] (x float32[x.0,2]) was fed an array of shape [2,3]"},
      {throws<ValueError>(), [&] { f.call_into(negative, negative_to); },
       "f: inputs[0] (x float32[x.0,2]) was fed an array of shape [-1,2]; dim -1 is negative"},
      {throws<TypeError>(), [&] { f.call_into(whole, to); },
       "f: inputs[0] (x float32[x.0,2]) was fed a view of dtype int32"},
      {throws<ValueError>(), [&] { f.call_into(good, wide_to); },
       "f: outputs[0] is float32[2,2] but the view is float32[2,3]"},
      {throws<TypeError>(), [&] { f.call_into(good, half_to); },
       "f: outputs[0] is float32[2,2] but the view is float16[2,2]"},
  });
  CHECK(out == std::array<float, 6>{});
  f.call_into(good, to);
  CHECK(out == std::array<float, 6>{2, 4, 6, 8});
}

TEST_CASE("sizes: unknown ones that disagree at the call name the line that needs them") {
  Bystanders& by = Bystanders::here();
  const Tensor x = input({None}, "x"), y = input({None}, "y"), z = input({None, 2}, "z");
  const unsigned added = __LINE__ + 1;
  const Tensor total = x + y;
  const unsigned joined = __LINE__ + 1;
  const Tensor both = concatenate({expand_dims(x, {.axis = 1}), z}, {.axis = 1});
  const unsigned shaped = __LINE__ + 1;
  const Tensor pairs = reshape(x, {-1, 2});
  const unsigned update_line = __LINE__ + 1;
  const UpdateOp grown = update(by.weights, x);
  const auto of = [&](const Tensor& result) {
    return function({x, y, z}, {result}, {.updates = {update_add(by.count, 1)}, .name = "f"});
  };
  const Array two{1.f, 2.f}, three{1.f, 2.f, 3.f}, by_two = Array::full({2, 2}, 1);
  const unsigned free_line = __LINE__ + 1;
  const Tensor per_row = reshape(z, {size(x), -1});
  const unsigned chosen_line = __LINE__ + 1;
  const Tensor chosen = switch_(
      sum(z) > 0., [&] { return reshape(z, {size(x), -1}); }, [&] { return reshape(z, {1, -1}); });
  const Function chooses = of(chosen);
  const Function sums = of(total), joins = of(both), shapes = of(pairs), frees = of(per_row);
  const Function updates = function({x}, {}, {.updates = {grown}, .name = "f"});
  testing::run({
      {throws_at<ValueError>(added), [&] { sums({two, three, by_two}); },
       "operator+: size y.0 of axis 0 is not x.0 (float32[y.0]); in this call y.0 is 3 and "
       "x.0 is 2"},
      {throws_at<ValueError>(added), [&] { sums({two, Array{1.f}, by_two}); },
       "operator+: size y.0 of axis 0 is not x.0 (float32[y.0]); in this call y.0 is 1 and "
       "x.0 is 2; unknown sizes do not broadcast: where one should, declare it as 1 (of an ONNX "
       "model by the option dims) or use pattern_broadcast"},
      {throws_at<ValueError>(joined), [&] { joins({three, three, by_two}); },
       "concatenate: sizes x.0 and z.0 of axis 0 differ (float32[x.0,1], float32[z.0,2]); in this "
       "call x.0 is 3 and z.0 is 2"},
      {throws_at<ValueError>(shaped), [&] { shapes({three, three, by_two}); },
       "reshape: cannot reshape to [floordiv(x.0,2),2]: x.0 elements are not 2*floordiv(x.0,2) (x "
       "float32[x.0]); in this call x.0 is 3 and 2*floordiv(x.0,2) is 2"},
      {throws_at<ValueError>(free_line), [&] { frees({Array::zeros({0}), two, by_two}); },
       "reshape: cannot reshape to [x.0,floordiv(2*z.0,x.0)]: 2*z.0 elements are not "
       "x.0*floordiv(2*z.0,x.0) (x float32[z.0,2]); in this call a dimension is divided by zero"},
      {throws<ValueError>(), [&] { chooses({Array::zeros({0}), two, by_two}); },
       "f: outputs[0] float32[x.0,floordiv(2*z.0,x.0)] has no size, a dimension is divided by "
       "zero (switch at " __FILE__ ":" +
           std::to_string(chosen_line) + ")"},
      {throws_at<ValueError>(update_line), [&] { updates({three}); },
       "update: size x.0 of axis 0 is not 2 (float32[x.0]); in this call x.0 is 3"},
  });
  CHECK(function({x, y}, {total})({two, two})[0] == Array{2.f, 4.f});
}

TEST_CASE("indices: one out of range at the call") {
  Bystanders& by = Bystanders::here();
  const Tensor table = variable(Array{1.f, 2.f}), i = input({1}, "i", "int32");
  for (const char* backend : {"reference", "cpu"}) {
    INFO(backend);
    const std::string rest = " outside of an axis of size 2 (op gather at " +
                             std::string(__FILE__) + ":" + std::to_string(__LINE__ + 1) + ")";
    const Tensor chosen = gather(table, i);
    const Function f = function(
        {i}, {chosen}, {.updates = {update_add(by.count, 1)}, .name = "f", .backend = backend});
    testing::run({
        {throws<ValueError>(), [&] { f({Array{5}}); }, "f: index 5 is" + rest},
        {throws<ValueError>(), [&] { f({Array{-3}}); }, "f: index -3 is" + rest},
    });
  }
  CHECK(function({i}, {gather(table, i)})({Array{1}})[0] == Array{2.f});
}

}  // namespace kiln::test
