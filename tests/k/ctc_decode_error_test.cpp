// Tests errors of ctc_decode, word for word: those found when the graph is built, those found at
// the call, and its missing gradient.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/support/misuse.h"
#include "tests/k/ctc.h"

namespace kiln::test {

using testing::throws;

TEST_CASE("ctc_decode: it has no gradient, and the error says so", "[k]") {
  const Tensor w = variable({1., 1., 1.}, {.name = "w"}), y = placeholder({.shape = {1, 4, 3}});
  const Tensor n = constant({4}, {.dtype = "int32"});
  for (const bool greedy : {true, false}) {
    const Tensor cost = sum(ctc_decode(y * w, n, {.greedy = greedy}).log_prob);
    const Tensor slope = gradients(cost, {w})[0];
    CHECK(slope.empty());
    CHECK(testing::error_text<ValueError>([&] { slope + 1; }) ==
          "operator+: x is empty: the loss does not depend on w, so it has no gradient; "
          "ctc_decode on the path to the loss is not differentiable");
  }
}

TEST_CASE("ctc_decode: misuse", "[k]") {
  const auto of = [](const Shape& shape, const char* dtype) {
    return placeholder({.shape = shape, .dtype = dtype, .name = "p"});
  };
  const Tensor y = of({2, 5, 4}, "float32"), n = of({2, 1}, "int32"), flat = of({2}, "int32");
  testing::run({
      {throws<ValueError>(), [&] { ctc_decode(y, n); },
       "ctc_decode: input_length has rank 2, not 1 (input_length int32[2,1])"},
      {throws<TypeError>(), [&] { ctc_decode(y, of({2}, "bool")); },
       "ctc_decode: input_length is bool, not a number (input_length bool[2])"},
      {throws<ValueError>(), [&] { ctc_decode(of({2, 5}, "float32"), flat); },
       "ctc_decode: y_pred has no three axes (y_pred float32[2,5], input_length int32[2])"},
      {throws<TypeError>(), [&] { ctc_decode(of({2, 5, 4}, "int32"), flat); },
       "ctc_decode: y_pred is not floating point (y_pred int32[2,5,4])"},
      {throws<ValueError>(), [&] { ctc_decode(of({2, 5, 0}, "float32"), flat); },
       "ctc_decode: y_pred has no classes (y_pred float32[2,5,0], input_length int32[2])"},
      {throws<ValueError>(), [&] { ctc_decode(y, of({3}, "int32")); },
       "ctc_decode: batch sizes differ (y_pred float32[2,5,4], input_length int32[3])"},
      {throws<ValueError>(), [&] { ctc_decode(Tensor(), flat); },
       "ctc_decode: y_pred is an empty tensor"},
      {throws<ValueError>(), [&] { ctc_decode(y, flat, {.greedy = false, .beam_width = 0}); },
       "ctc_decode: beam_width is 0"},
      {throws<ValueError>(), [&] { ctc_decode(y, flat, {.greedy = false, .top_paths = 0}); },
       "ctc_decode: top_paths is 0"},
      {throws<ValueError>(1),
       [&] { ctc_decode(y, flat, {.greedy = false, .beam_width = 2, .top_paths = 3}); },
       "ctc_decode: top_paths 3 exceeds beam_width 2"},
      {throws<ValueError>(2),
       [&] {
         ctc_decode(of({2, None, 4}, "float32"), flat,
                    {.greedy = false, .beam_width = 1'000'000'000, .top_paths = 1'000'000'000});
       },
       "ctc_decode: top_paths 1000000000 exceeds 65535"},
      {throws<ValueError>(2),
       [&] {
         ctc_decode(of({2, None, 1}, "float32"), flat,
                    {.greedy = false, .beam_width = 9, .top_paths = 2});
       },
       "ctc_decode: top_paths 2 exceeds the 1 possible label sequence (y_pred "
       "float32[2,p.1,1])"},
  });
}

TEST_CASE("ctc_decode: scores and lengths that cannot be decoded are errors of the call", "[k]") {
  const Tensor y = placeholder({.ndim = 3}), n = placeholder({.ndim = 1, .dtype = "int64"});
  const Array good = Array::full({1, 3, 3}, 0.3);
  for (const bool greedy : {true, false}) {
    const Function f = function({y, n}, {ctc_decode(y, n, {.greedy = greedy}).log_prob},
                                {.backend = tested_backend()});
    testing::run({
        {throws<ValueError>(), [&] { f({good, i64({1}, {4})}); },
         "ctc_decode: input_length[0] is 4 but y_pred has 3 steps"},
        {throws<ValueError>(), [&] { f({good, i64({1}, {-1})}); },
         "ctc_decode: input_length[0] is -1 but y_pred has 3 steps"},
        {throws<ValueError>(), [&] { f({Array::zeros({1, 3, 0}), i64({1}, {3})}); },
         "ctc_decode: y_pred has no classes (y_pred has shape [1,3,0])"},
    });
    CHECK(f({good, i64({1}, {3})}).size() == 1);
    const Tensor real = placeholder({.ndim = 1});
    const Function g = function({y, real}, {ctc_decode(y, real, {.greedy = greedy}).log_prob},
                                {.backend = tested_backend()});
    testing::run({
        {throws<ValueError>(), [&] { g({good, f32({1}, {kNaN})}); },
         "ctc_decode: input_length[0] is -1 but y_pred has 3 steps"},
        {throws<ValueError>(), [&] { g({good, f32({1}, {4})}); },
         "ctc_decode: input_length[0] is 4 but y_pred has 3 steps"},
        {throws<ValueError>(), [&] { g({good, f32({1}, {kInf})}); },
         "ctc_decode: input_length[0] is 9223372036854775807 but y_pred has 3 steps"},
    });
    CHECK(g({good, f32({1}, {2.9f})})[0] == f({good, i64({1}, {2})})[0]);
  }
}

}  // namespace kiln::test
