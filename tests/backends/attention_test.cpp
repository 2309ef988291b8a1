// Tests attention and its gradient on the tested backend against plain loops in float64: sizes
// around the blocks of `cpu` and `cuda`, biases, masks, values that are not finite, threads,
// claims, memory.
#include "tests/support/catch.h"
#include "tests/core/ops/attention_loops.h"
#include "tests/support/has.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <cmath>
#include <random>

namespace kiln::attention_test {
namespace {

using test::AttentionLoops;
using testing::contents_of;
using testing::has;
using testing::Scratch;

using Doubles = std::vector<double>;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Array uniform(const std::vector<std::int64_t>& dims, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> numbers(-1, 1);
  Array array = Array::zeros(dims);
  for (float& number : array.as<float>()) number = numbers(generator);
  return array;
}

Doubles doubles(const Array& array) { return {array.as<float>().begin(), array.as<float>().end()}; }

/// Two matrices of an attention, with a scale of 0.5.
struct Sizes {
  std::int64_t t, s, d, e;
};
enum class Mask { None, Causal, Bias, BiasOfKeys };

struct Attention {
  Array q, k, v, bias, d_result;
  bool causal, has_bias;

  Attention(const Sizes& n, Mask mask)
      : q(uniform({2, n.t, n.d}, 1)),
        k(uniform({2, n.s, n.d}, 2)),
        v(uniform({2, n.s, n.e}, 3)),
        bias(mask == Mask::Bias ? uniform({2, n.t, n.s}, 4) : Array::zeros({1, 1, n.s})),
        d_result(uniform({2, n.t, n.e}, 5)),
        causal(mask == Mask::Causal),
        has_bias(mask == Mask::Bias || mask == Mask::BiasOfKeys) {
    if (mask == Mask::BiasOfKeys) bias = uniform({1, 1, n.s}, 6);
  }

  AttentionLoops loops() const {
    const auto t = q.dims()[1], s = k.dims()[1];
    Doubles each;
    for (std::int64_t i = 0; i < 2 * t * s; ++i) {
      const bool is_whole = bias.dims()[0] == 2;
      each.push_back(bias.as<float>()[static_cast<std::size_t>(is_whole ? i : i % s)]);
    }
    return {.batch = 2,
            .t = t,
            .s = s,
            .d = q.dims()[2],
            .e = v.dims()[2],
            .divides = false,
            .causal = causal,
            .q = doubles(q),
            .k = doubles(k),
            .v = doubles(v),
            .scale = 0.5,
            .bias = each};
  }
};

/// With unknown sizes but the last: claims then do not depend on them.
Tensor placeholder_of(const Array& array, bool is_known) {
  std::vector<ShapeEntry> shape(array.dims().begin(), array.dims().end());
  for (std::size_t i = 0; !is_known && i < 2; ++i) {
    if (array.dims()[i] != 1) shape[i] = None;
  }
  return placeholder({.shape = Shape(shape)});
}

/// The result and the gradients of its sum, weighted by d_result. Options of the function may be
/// given.
Function compiled(const Attention& a, const FunctionOptions& options, bool is_known) {
  const Tensor q = placeholder_of(a.q, is_known), k = placeholder_of(a.k, is_known);
  const Tensor v = placeholder_of(a.v, is_known);
  const Tensor bias = placeholder_of(a.bias, is_known);
  const Tensor d_result = placeholder_of(a.d_result, is_known);
  AttentionOptions of_y{.scale = 0.5, .causal = a.causal};
  if (a.has_bias) of_y.bias = bias;
  const Tensor y = dot_product_attention(q, k, v, of_y);
  std::vector<Tensor> outputs = gradients(sum(y * d_result), {q, k, v});
  outputs.insert(outputs.begin(), y);
  return function({q, k, v, bias, d_result}, outputs, options);
}

std::vector<Array> results(const Attention& a, bool is_known = false) {
  return compiled(a, {}, is_known)({a.q, a.k, a.v, a.bias, a.d_result});
}

void check_close(const Array& actual, const Doubles& expected) {
  const auto values = actual.as<float>();
  REQUIRE(values.size() == expected.size());
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(expected[i]) || std::isinf(expected[i])) {
      INFO("element " << i << ": " << values[i] << " for " << expected[i]);
      CHECK((std::isnan(expected[i]) ? std::isnan(values[i]) : values[i] == expected[i]));
      continue;
    }
    const double difference = std::fabs(values[i] - expected[i]) / (1 + std::fabs(expected[i]));
    worst = std::isnan(values[i]) ? kInf : std::max(worst, difference);
  }
  CHECK(worst < 4e-6);
}

void check(const Attention& a) {
  const std::vector<Array> actual = results(a);
  const AttentionLoops loops = a.loops();
  check_close(actual[0], loops.forward().o);
  const AttentionLoops::Gradients gradients = loops.backward(doubles(a.d_result));
  check_close(actual[1], gradients.q);
  check_close(actual[2], gradients.k);
  check_close(actual[3], gradients.v);
}

}  // namespace

TEST_CASE("attention: sizes around the blocks") {
  for (const std::int64_t t : {1, 63, 64, 65, 200}) {
    for (const std::int64_t s : {1, 64, 65, 127, 128, 130, 300}) {
      INFO("t " << t << ", s " << s);
      check(Attention({t, s, 16, 32}, Mask::None));
      check(Attention({t, s, 16, 16}, Mask::Causal));
    }
  }
  for (const std::int64_t depth : {1, 8, 20, 64, 80, 128}) {
    INFO("depth " << depth);
    check(Attention({66, 131, depth, depth}, Mask::None));
    check(Attention({7, 131, depth, 3}, Mask::Causal));
  }
}

TEST_CASE("attention: a bias of each score, and of the keys") {
  for (const Mask mask : {Mask::Bias, Mask::BiasOfKeys}) {
    check(Attention({70, 140, 16, 16}, mask));
    check(Attention({5, 9, 3, 2}, mask));
  }
}

TEST_CASE("attention: no queries, no keys, no depth") {
  CHECK(results(Attention({0, 5, 16, 16}, Mask::None))[3] == Array::zeros({2, 5, 16}));
  CHECK(results(Attention({3, 4, 16, 0}, Mask::None))[1] == Array::zeros({2, 3, 16}));
  const std::vector<Array> without_keys = results(Attention({3, 0, 16, 16}, Mask::None));
  CHECK(without_keys[1] == Array::zeros({2, 3, 16}));
}

TEST_CASE("attention: keys that are masked, all keys of a query, and infinite scores") {
  for (const float masked : {-kInf, -1e9f}) {
    Attention a({70, 300, 16, 16}, Mask::Bias);
    const auto bias = a.bias.as<float>();
    for (std::size_t i = 0; i < bias.size(); ++i) {
      const std::size_t row = i / 300 % 70, key = i % 300;
      if (key > row + 100 || (row == 3 && masked == -kInf)) bias[i] = masked;
    }
    bias[300 * 5 + 7] = kInf;
    bias[300 * 6 + 7] = kNaN;
    check(a);
  }
}

TEST_CASE("attention: a query whose keys all have a large finite mask attends to all of them") {
  // In float32 such a mask absorbs the scores, in float64, too.
  for (const float masked : {-1e30f, -3e38f, std::numeric_limits<float>::lowest(), 1e30f}) {
    for (const std::int64_t t : {5, 70}) {
      for (const Mask mask : {Mask::Bias, Mask::Causal, Mask::BiasOfKeys}) {
        INFO("mask " << masked << ", " << t << " queries");
        Attention a({t, 1500, 16, 16}, mask);
        if (mask == Mask::Causal) {
          a.bias = Array::zeros({2, t, 1500});
          a.has_bias = true;
        }
        const auto bias = a.bias.as<float>();
        const std::size_t first = mask == Mask::BiasOfKeys ? 0 : 3 * 1500;
        for (std::size_t key = 0; key < 1500; ++key) bias[first + key] = masked;
        check(a);
      }
    }
  }
}

TEST_CASE("attention: few queries of many keys, which are summed in groups") {
  for (const std::int64_t t : {1, 3, 16}) {
    for (const std::int64_t s : {1023, 1024, 1025, 3000}) {
      INFO("t " << t << ", s " << s);
      check(Attention({t, s, 16, 32}, Mask::None));
      check(Attention({t, s, 16, 16}, Mask::BiasOfKeys));
      check(Attention({t, s, 16, 16}, Mask::Causal));
    }
  }
  Attention a({5, 3000, 16, 16}, Mask::Bias);
  const auto bias = a.bias.as<float>();
  for (std::size_t key = 0; key < 3000; ++key) {
    if (key < 1100) bias[key] = -kInf;                   // of query 0: a group and a part
    if (key >= 1024) bias[3000 + key] = -kInf;           // of query 1: all groups but one
    bias[2 * 3000 + key] = -kInf;                        // of query 2: all
  }
  bias[3 * 3000 + 2999] = kInf;
  bias[4 * 3000 + 5] = kNaN;
  check(a);
  a.v.as<float>()[7] = kInf;
  check(a);
}

TEST_CASE("attention: values and keys that are not finite, behind a mask and before it") {
  for (const std::int64_t key : {2, 60, 250}) {
    for (const float value : {kInf, kNaN}) {
      INFO("key " << key << ", value " << value);
      Attention a({70, 300, 16, 16}, Mask::Causal);
      a.v.as<float>()[static_cast<std::size_t>(key * 16 + 3)] = value;
      check(a);
      Attention b({70, 300, 16, 16}, Mask::Causal);
      b.k.as<float>()[static_cast<std::size_t>(key * 16 + 3)] = value;
      check(b);
      Attention c({70, 300, 16, 16}, Mask::Bias);
      for (float& one : c.bias.as<float>()) one = -kInf;
      for (std::size_t i = 0; i < c.bias.as<float>().size(); i += 300) c.bias.as<float>()[i] = 0;
      c.v.as<float>()[static_cast<std::size_t>(key * 16 + 3)] = value;
      check(c);
    }
  }
  Attention a({70, 300, 16, 16}, Mask::Causal);
  a.d_result.as<float>()[20] = kInf;
  a.q.as<float>()[40] = kNaN;
  check(a);
}

TEST_CASE("attention: the same bits with one and with three threads") {
  for (const Mask mask : {Mask::None, Mask::Causal}) {
    const Attention a({300, 1000, 64, 64}, mask);
    set_threads(1);
    const std::vector<Array> alone = results(a);
    set_threads(3);
    const std::vector<Array> shared = results(a);
    set_threads(2);
    for (std::size_t i = 0; i < alone.size(); ++i) CHECK(alone[i] == shared[i]);
  }
}

TEST_CASE("attention: the second derivative is that of the definition") {
  const Attention a({3, 4, 16, 16}, Mask::None);
  const auto second = [&](const FunctionOptions& options) {
    const Tensor q = placeholder({.shape = {2, 3, 16}});
    const Tensor y = dot_product_attention(q, constant(a.k), constant(a.v));
    const Tensor slope = gradients(sum(square(y)), {q})[0];
    return function({q}, gradients(sum(square(slope)), {q}), options)({a.q})[0];
  };
  check_close(second({}), doubles(second({.backend = "reference"})));
}

TEST_CASE("attention on cpu: claims, plans and memory") {
  const Scratch scratch;
  const auto claims_of = [&](const Attention& a, const std::string& name) {
    const Function f = compiled(a, {.backend = "cpu"}, /*is_known=*/true);
    f({a.q, a.k, a.v, a.bias, a.d_result});
    f.dump(scratch.path(name), Stage::Claims | Stage::Plan);
    return contents_of(scratch.path(name + "/50-claims.txt")) +
           contents_of(scratch.path(name + "/50-claims-sizes_1.txt"));
  };
  const std::string taken = claims_of(Attention({128, 256, 64, 64}, Mask::Causal), "taken");
  INFO(taken);
  CHECK(has(taken, "attention: taken"));
  CHECK(has(taken, "attention_gradient: taken"));
  CHECK(has(taken, "attention in 4 parts by the native loops of "));
  const std::string plan = contents_of(scratch.path("taken/52-plan.txt"));
  INFO(plan);
  CHECK(has(plan, "queries 128 keys 256 depths 64 and 64, causal, for each of 2"));
  CHECK_FALSE(has(plan, "matmul"));
  const std::string few = claims_of(Attention({8, 4096, 16, 16}, Mask::None), "few");
  INFO(few);
  CHECK(has(few, "matmuls are faster for 2 to 32 queries, here 8"));
  const std::string keys = claims_of(Attention({300, 64, 16, 16}, Mask::None), "keys");
  INFO(keys);
  CHECK(has(keys, "matmuls are faster for at most 64 keys, here 64"));
  const std::string small = claims_of(Attention({64, 100, 16, 16}, Mask::None), "small");
  INFO(small);
  CHECK(has(small, "which stay in the L1 cache: 64 x 100"));
  const std::string kept = claims_of(Attention({256, 256, 16, 16}, Mask::None), "kept");
  INFO(kept);
  CHECK(has(kept, "for a gradient of less than 262144 scores: 256 x 256"));
  const std::string narrow = claims_of(Attention({200, 100, 5, 6}, Mask::Causal), "narrow");
  INFO(narrow);
  CHECK(has(narrow, "multiples of 16, not 5 and 6"));
  CHECK(has(narrow, "its gradient is expanded and computes the same probabilities"));
}

}  // namespace kiln::attention_test
