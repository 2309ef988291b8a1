// Tests dot_product_attention (kiln/attention.h). Expected values are of NumPy 2.4, by the formula
// in float64.
#include "tests/support/catch.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

namespace kiln::test {
namespace {

using testing::Misuse;
using testing::throws;

const Array kQueries = pattern({2, 2, 3}, 5, 7), kKeys = pattern({2, 4, 3}, 3, 5);
const Array kValues = pattern({2, 4, 2}, 7, 11);

/// q and k are halves of the inputs.
Tensor attend(const Tensors& x, const AttentionOptions& options = {}) {
  return dot_product_attention(x[0] / 2, x[1] / 2, x[2], options);
}

}  // namespace

std::vector<Row> attention_rows() {
  return {
      {"dot_product_attention",
       {kQueries, kKeys, kValues},
       [](const Tensors& x) { return attend(x); },
       f32({2, 2, 2}, {-3.01122884f, 1.50645108f, -2.57750951f, 1.24914706f, 2.57750951f,
                       -0.0632578621f, 3.01122884f, 0.341806707f})},
      {"dot_product_attention scale",
       {kQueries, kKeys, kValues},
       [](const Tensors& x) { return attend(x, {.scale = 0.25}); },
       f32({2, 2, 2}, {-1.50044865f, 1.18006714f, -1.3216696f, 1.04224131f, 1.3216696f,
                       -0.50497529f, 1.50044865f, -0.272339263f})},
      {"dot_product_attention scale, a tensor",
       {kQueries, kKeys, kValues, f32({}, {0.25f})},
       [](const Tensors& x) { return attend(x, {.scale = x[3]}); },
       f32({2, 2, 2}, {-1.50044865f, 1.18006714f, -1.3216696f, 1.04224131f, 1.3216696f,
                       -0.50497529f, 1.50044865f, -0.272339263f})},
      {"dot_product_attention causal",
       {kQueries, kKeys, kValues},
       [](const Tensors& x) { return attend(x, {.causal = true}); },
       f32({2, 2, 2}, {-5, 2, -4.54902366f, 2.45097634f, -4, 3, -2.60806563f, -0.711824996f})},
      {"dot_product_attention bias of the keys alone",
       {kQueries, kKeys, kValues, pattern({4}, 3, 5)},
       [](const Tensors& x) { return attend(x, {.bias = x[3]}); },
       f32({2, 2, 2}, {2.09118738f, 1.02368443f, 2.02206936f, 1.06616132f, 4.40493755f,
                       0.441939162f, 4.63703038f, 0.670462581f})},
      {"dot_product_attention bias that masks",
       {kQueries, kKeys, kValues, f32({1, 2, 4}, {0, -kInf, 1, -kInf, -kInf, 0, 0, 0})},
       [](const Tensors& x) { return attend(x, {.bias = x[3]}); },
       f32({2, 2, 2}, {-3.23643947f, 0.530366225f, 1.12599423f, 0.101243005f, 0.210521698f,
                       -0.508768082f, 3.97602134f, -0.0239786638f})},
      {"dot_product_attention heads, bias and causal",
       {pattern({1, 2, 2, 3}, 5, 7), pattern({1, 2, 2, 3}, 3, 5), pattern({1, 2, 2, 1}, 7, 11),
        pattern({2, 1, 2}, 3, 5)},
       [](const Tensors& x) { return attend(x, {.bias = x[3], .causal = true}); },
       f32({1, 2, 2, 1}, {-5, 0.462740369f, -2, 4.61927451f})},
      {"dot_product_attention without a batch",
       {pattern({2, 3}, 5, 7), pattern({4, 3}, 3, 5), pattern({4, 2}, 7, 11)},
       [](const Tensors& x) { return attend(x); },
       f32({2, 2}, {-3.01122884f, 1.50645108f, -2.57750951f, 1.24914706f})},
      {"dot_product_attention all keys of a query masked",
       {f32({2, 1}, {1, 2}), f32({2, 1}, {3, 4}), f32({2, 1}, {5, 6}),
        f32({2, 2}, {-kInf, -kInf, -kInf, 0})},
       [](const Tensors& x) { return dot_product_attention(x[0], x[1], x[2], {.bias = x[3]}); },
       f32({2, 1}, {kNaN, 6})},
      {"dot_product_attention a masked infinite value is 0 inf",
       {f32({1, 1}, {1}), f32({2, 1}, {1, 1}), f32({2, 2}, {1, 2, 3, kInf}), f32({2}, {0, -kInf})},
       [](const Tensors& x) { return dot_product_attention(x[0], x[1], x[2], {.bias = x[3]}); },
       f32({1, 2}, {1, kNaN})},
      {"dot_product_attention of no queries",
       {none({2, 0, 3}), none({2, 4, 3}), none({2, 4, 2})},
       [](const Tensors& x) { return attend(x); },
       none({2, 0, 2})},
      {"dot_product_attention of no batches",
       {none({0, 2, 3}), none({0, 4, 3}), none({0, 4, 2})},
       [](const Tensors& x) { return attend(x); },
       none({0, 2, 2})},
      {"dot_product_attention one key",
       {f32({2, 1}, {1, 2}), f32({1, 1}, {3}), f32({1, 2}, {5, 6})},
       [](const Tensors& x) { return dot_product_attention(x[0], x[1], x[2]); },
       f32({2, 2}, {5, 6, 5, 6})},
  };
}

namespace {

const SmoothRow kAttentionGradients[] = {
    {"attention",
     {{2, 3, 2}, {2, 4, 2}, {2, 4, 3}},
     [](const Tensors& x) { return dot_product_attention(x[0], x[1], x[2]); }},
    {"attention with bias and scale",
     {{1, 2, 3, 2}, {1, 2, 3, 2}, {1, 2, 3, 1}, {2, 1, 3}, {}},
     [](const Tensors& x) {
       return dot_product_attention(x[0], x[1], x[2],
                                    {.bias = x[3], .scale = x[4], .causal = true});
     }},
    {"self-attention",
     {{4, 2}},
     [](const Tensors& x) { return square(dot_product_attention(x[0], x[0], x[0])); }},
};

const std::vector<Misuse> kAttentionErrors = {
    {throws<TypeError>(1),
     [] { return dot_product_attention(of({2, 3}, "int32"), of({2, 3}), of({2, 3})); },
     "dot_product_attention: q is not floating point (q int32[2,3])"},
    {throws<TypeError>(1),
     [] { return dot_product_attention(of({2, 3}), of({2, 3}, "float64"), of({2, 3})); },
     "dot_product_attention: q has dtype float32 but k has dtype float64 (q float32[2,3], k "
     "float64[2,3], v float32[2,3])"},
    {throws<ValueError>(), [] { return dot_product_attention(of({3}), of({3}), of({3})); },
     "dot_product_attention: q has rank 1, not 2 or more (q float32[3], k float32[3], v "
     "float32[3])"},
    {throws<ValueError>(1),
     [] { return dot_product_attention(of({2, 3}), of({2, 3}), of({1, 2, 3})); },
     "dot_product_attention: q has rank 2 but v has rank 3 (q float32[2,3], k float32[2,3], v "
     "float32[1,2,3])"},
    {throws<ValueError>(1),
     [] { return dot_product_attention(of({2, 4, 3}), of({1, 5, 3}), of({2, 5, 3})); },
     "dot_product_attention: axis 0 of q has size 2 but axis 0 of k has size 1 (q float32[2,4,3], "
     "k float32[1,5,3], v float32[2,5,3])"},
    {throws<ValueError>(1),
     [] { return dot_product_attention(of({4, 3}), of({5, 2}), of({5, 3})); },
     "dot_product_attention: axis 1 of q has size 3 but axis 1 of k has size 2 (q float32[4,3], k "
     "float32[5,2], v float32[5,3])"},
    {throws<ValueError>(1),
     [] { return dot_product_attention(of({4, 3}), of({5, 3}), of({6, 3})); },
     "dot_product_attention: axis 0 of k has size 5 but axis 0 of v has size 6 (q float32[4,3], k "
     "float32[5,3], v float32[6,3])"},
    {throws<ValueError>(1),
     [] { return dot_product_attention(of({4, 3}), of({5, 3}), of({5, 3}), {.scale = of({1})}); },
     "dot_product_attention: scale is not a scalar (scale float32[1])"},
    {throws<ValueError>(1),
     [] { return dot_product_attention(of({4, 3}), of({5, 3}), of({5, 3}), {.bias = of({4})}); },
     "dot_product_attention: bias does not broadcast to the scores: sizes 4 and 5 (bias "
     "float32[4], scores float32[4,5])"},
    {throws<ValueError>(2),
     [] {
       return dot_product_attention(of({4, 3}), of({5, 3}), of({5, 3}), {.bias = of({1, 4, 5})});
     },
     "dot_product_attention: bias has more axes than the scores (bias float32[1,4,5], scores "
     "float32[4,5])"},
    {throws<TypeError>(2),
     [] {
       return dot_product_attention(of({4, 3}), of({5, 3}), of({5, 3}),
                                    {.bias = of({4, 5}, "bool")});
     },
     "dot_product_attention: q has dtype float32 but bias has dtype bool (bias bool[4,5], scores "
     "float32[4,5])"},
};

}  // namespace

TEST_CASE("dot_product_attention: values", "[k]") { run(attention_rows()); }

TEST_CASE("dot_product_attention: gradients", "[k]") {
  for (const SmoothRow& row : kAttentionGradients) run(row);
}

TEST_CASE("dot_product_attention: misuse", "[k]") { run(kAttentionErrors); }

TEST_CASE("dot_product_attention: sizes are checked at the call", "[k]") {
  const Tensor q = of({None, None}), k = of({None, None}), v = of({None, 2});
  const Function call =
      function({q, k, v}, {dot_product_attention(q, k, v)}, {.backend = tested_backend()});
  CHECK(call({none({1, 3}), none({1, 3}), f32({1, 2}, {4, 5})})[0] == f32({1, 2}, {4, 5}));
  CHECK_THROWS_AS(call({none({1, 3}), none({1, 2}), none({1, 2})}), ValueError);
  CHECK_THROWS_AS(call({none({1, 3}), none({1, 3}), none({2, 2})}), ValueError);
}

}  // namespace kiln::test
