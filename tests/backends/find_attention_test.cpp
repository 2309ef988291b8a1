// Tests which spellings of attention become the op, by the dump of the pass, and that results and
// gradients are those of the graph as written.
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>
#include <kiln/layers.h>

#include <cmath>
#include <limits>
#include <random>

namespace kiln::find_attention_test {
namespace {

using testing::contents_of;
using testing::has;
using testing::Scratch;
using Tensors = std::vector<Tensor>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::int64_t kBatch = 2, kQueries = 5, kKeys = 7, kDepth = 8, kWidth = 6;

struct Spelling {
  const char* name;
  Tensor (*build)(const Tensors& x);  // of q, k and v
  const char* why_not = "";  // empty: found, with the gradient
  bool is_found_forward = *why_not == '\0';  // without the gradient
};

Tensor scores_of(const Tensors& x) { return batch_dot(x[0], x[1], {.axes = {2, 2}}); }
Tensor values_of(const Tensor& p, const Tensors& x) { return batch_dot(p, x[2], {.axes = {2, 1}}); }
Tensor result_of(const Tensor& scores, const Tensors& x) { return values_of(softmax(scores), x); }
/// 1 where query i sees key j.
Tensor seen() {
  return cast(greater_equal(expand_dims(arange(kQueries)), arange(kKeys)), "float32");
}
Tensor four(const Tensor& x) { return expand_dims(x, {.axis = 1}); }

const Spelling kSpellings[] = {
    {"plain", [](const Tensors& x) { return result_of(scores_of(x), x); }},
    {"scaled", [](const Tensors& x) { return result_of(scores_of(x) * 0.3, x); }},
    {"scaled on the left", [](const Tensors& x) { return result_of(0.3 * scores_of(x), x); }},
    {"divided", [](const Tensors& x) { return result_of(scores_of(x) / 2.5, x); }},
    {"divided by a power of two",
     [](const Tensors& x) { return result_of(scores_of(x) / 4.0, x); }},
    {"queries scaled",
     [](const Tensors& x) { return result_of(batch_dot(x[0] * 0.3, x[1], {.axes = {2, 2}}), x); }},
    {"queries and keys scaled, as ONNX has it",
     [](const Tensors& x) {
       return result_of(batch_dot(x[0] * 0.55, x[1] * 0.55, {.axes = {2, 2}}), x);
     }},
    {"keys transposed",
     [](const Tensors& x) {
       return result_of(batch_dot(x[0], permute_dimensions(x[1], {0, 2, 1}), {.axes = {2, 1}}), x);
     }},
    {"matmul",
     [](const Tensors& x) {
       return matmul(softmax(matmul(x[0], permute_dimensions(x[1], {0, 2, 1})) * 0.4), x[2]);
     }},
    {"matmul of four axes",
     [](const Tensors& x) {
       const Tensor k = permute_dimensions(four(x[1]), {0, 1, 3, 2});
       return matmul(softmax(matmul(four(x[0]), k) * 0.4), four(x[2]));
     }},
    {"a bias of the keys",
     [](const Tensors& x) {
       return result_of(scores_of(x) * 0.3 + sin(cast(arange(kKeys), "float32")), x);
     }},
    {"a bias on the left",
     [](const Tensors& x) {
       return result_of(sin(cast(arange(kKeys), "float32")) + scores_of(x) * 0.3, x);
     }},
    {"a bias without a scale",
     [](const Tensors& x) {
       return result_of(scores_of(x) + sin(cast(arange(kKeys), "float32")), x);
     }},
    {"a causal mask as Keras adds it",
     [](const Tensors& x) { return result_of(scores_of(x) / 2.5 + (1 - seen()) * -1e9, x); }},
    {"a causal mask that is subtracted",
     [](const Tensors& x) { return result_of(scores_of(x) / 2.5 - (1 - seen()) * 1e9, x); },
     "a difference is not the sum of the definition"},
    {"a mask between reshapes of heads",
     [](const Tensors& x) {
       const Tensor all = reshape(scores_of(x) * 0.3, {-1, 2, kQueries, kKeys});
       return result_of(reshape(all + (1 - seen()) * -1e9, {-1, kQueries, kKeys}), x);
     }},
    {"the result transposed",
     [](const Tensors& x) { return permute_dimensions(result_of(scores_of(x), x), {1, 0, 2}); }},
    {"a result that is used twice",
     [](const Tensors& x) {
       const Tensor o = result_of(scores_of(x), x);
       return sin(o) * o;
     }},
    {"values that are the keys",
     [](const Tensors& x) { return result_of(scores_of(x), {x[0], x[1], x[1]}); }},
    {"self-attention",
     [](const Tensors& x) {
       return result_of(batch_dot(x[1], x[1], {.axes = {2, 2}}), {x[1], x[1], x[1]});
     }},
    {"two layers",
     [](const Tensors& x) {
       const Tensor h = result_of(batch_dot(x[0], x[1], {.axes = {2, 2}}), {x[0], x[1], x[1]});
       return result_of(batch_dot(h, x[1], {.axes = {2, 2}}) * 0.3, x);
     }},
    {"keys scaled",
     [](const Tensors& x) { return result_of(batch_dot(x[0], x[1] * 0.3, {.axes = {2, 2}}), x); }},
    {"scores transposed",
     [](const Tensors& x) {
       const Tensor scores = batch_dot(x[1], x[0], {.axes = {2, 2}});
       return result_of(permute_dimensions(scores, {0, 2, 1}) * 0.3, x);
     },
     "permutations between the matmuls are not looked through"},
    {"probabilities transposed",
     [](const Tensors& x) {
       const Tensor p = permute_dimensions(softmax(scores_of(x) * 0.3), {0, 2, 1});
       return batch_dot(p, x[2], {.axes = {1, 1}});
     },
     "permutations between the matmuls are not looked through"},
    {"heads between queries and depths",
     [](const Tensors& x) {
       const auto split = [](const Tensor& y, std::int64_t count, std::int64_t depth) {
         return permute_dimensions(reshape(y, {kBatch, count, 2, depth / 2}), {0, 2, 1, 3});
       };
       const Tensor q = split(x[0], kQueries, kDepth), k = split(x[1], kKeys, kDepth);
       const Tensor p = softmax(matmul(q, permute_dimensions(k, {0, 1, 3, 2})) / 2.0);
       const Tensor o = matmul(p, split(x[2], kKeys, kWidth));
       return reshape(permute_dimensions(o, {0, 2, 1, 3}), {kBatch, kQueries, kWidth});
     }},
    {"a mask of the keys, as exported encoders have it",
     [](const Tensors& x) {
       const Tensor kept = cast(less(arange(kKeys), 5), "float32");
       const Tensor low = (1 - reshape(kept, {1, 1, 1, kKeys})) * -3.4028234e38;
       const Tensor k = permute_dimensions(four(x[1]), {0, 1, 3, 2});
       return squeeze(matmul(softmax(matmul(four(x[0]), k) / 2.8 + low), four(x[2])), 1);
     }},
    {"probabilities with dropout",
     [](const Tensors& x) {
       const Tensor kept = cast(greater(sin(cast(arange(kKeys), "float32")), 0), "float32");
       return values_of(softmax(scores_of(x)) * kept, x);
     },
     "the probabilities are changed before the matmul"},
    {"a bias of the queries' own",
     [](const Tensors& x) {
       return result_of(scores_of(x) * 0.3 + sum(x[0], {.axis = 2, .keepdims = true}), x);
     },
     "the cotangent of the bias reads the probabilities", true},
    {"a bias of the scores' own",
     [](const Tensors& x) { return result_of(scores_of(x) + sin(scores_of(x)), x); },
     "the cotangent of the matmul has a part from the bias"},
    {"a scale that is data",
     [](const Tensors& x) { return result_of(scores_of(x) * stop_gradient(mean(x[0])), x); }},
    {"a learnt scale", [](const Tensors& x) { return result_of(scores_of(x) * mean(x[0]), x); },
     "the cotangent of the scale reads the probabilities", true},
    {"a mask by selection",
     [](const Tensors& x) {
       const Tensor low = zeros({kBatch, kQueries, kKeys}) - 1e9;
       const Tensor mask = greater(ones({kBatch, 1, 1}) * seen(), 0.5);
       return result_of(where(mask, scores_of(x), low), x);
     },
     "a selection is not the sum of the definition"},
    {"probabilities scaled",
     [](const Tensors& x) { return values_of(softmax(scores_of(x)) * 0.5, x); },
     "the probabilities are changed before the matmul"},
    {"probabilities that are read, too",
     [](const Tensors& x) {
       const Tensor p = softmax(scores_of(x));
       return values_of(p, x) + mean(square(p));
     },
     "something else reads the probabilities"},
    {"probabilities of two products",
     [](const Tensors& x) {
       const Tensor p = softmax(scores_of(x));
       return values_of(p, x) * values_of(p, {x[0], x[1], x[2] * 0.5});
     },
     "something else reads the probabilities"},
    {"softmax over the queries",
     [](const Tensors& x) { return values_of(softmax(scores_of(x), {.axis = 1}), x); },
     "the softmax is not over the keys"},
    {"a softcap", [](const Tensors& x) { return result_of(tanh(scores_of(x)), x); },
     "a function of the scores"},
    {"two scales",
     [](const Tensors& x) { return result_of(scores_of(x) * 0.3 / mean(square(x[2])), x); },
     "the definition has one scale"},
    {"two biases",
     [](const Tensors& x) {
       const Tensor bias = sin(cast(arange(kKeys), "float32"));
       return result_of(scores_of(x) + bias + (1 - seen()) * -1e9, x);
     },
     "the definition has one bias"},
    {"a bias before the scale",
     [](const Tensors& x) {
       return result_of((scores_of(x) + sin(cast(arange(kKeys), "float32"))) * 0.3, x);
     },
     "the definition adds the bias last"},
    {"normalised by hand",
     [](const Tensors& x) {
       const Tensor e = exp(scores_of(x));
       return values_of(e / sum(e, {.axis = 2, .keepdims = true}), x);
     },
     "there is no softmax"},
    {"sigmoid", [](const Tensors& x) { return values_of(sigmoid(scores_of(x)), x); },
     "there is no softmax"},
    {"elementwise scores",
     [](const Tensors& x) { return values_of(softmax(sin(scores_of(x) * 0.0 + mean(x[1]))), x); },
     "the scores are no matmul"},
};

Array uniform(const std::vector<std::int64_t>& dims, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> numbers(-1, 1);
  Array array = Array::zeros(dims);
  for (float& number : array.as<float>()) number = numbers(generator);
  return array;
}

/// The graph after the pass.
std::string dumped(const Scratch& scratch, const std::string& name) {
  const std::string text = contents_of(scratch.path(name + "/11-find_attention.kir"));
  REQUIRE(has(text, "find_attention: "));
  return has(text, "(unchanged)") ? "" : text;
}

/// Infinite if an element of either is NaN.
double largest_difference(const std::vector<Array>& x, const std::vector<Array>& y) {
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto a = x[i].as<float>(), b = y[i].as<float>();
    for (std::size_t j = 0; j < a.size(); ++j) {
      const double difference = std::fabs(a[j] - b[j]);
      worst = std::isnan(difference) ? kInf : std::max(worst, difference);
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("find_attention: spellings, forward alone and with the gradient") {
  const std::vector<Array> fed{uniform({kBatch, kQueries, kDepth}, 1),
                               uniform({kBatch, kKeys, kDepth}, 2),
                               uniform({kBatch, kKeys, kWidth}, 3)};
  const Scratch scratch;
  int number = 0;
  for (const Spelling& one : kSpellings) {
    INFO(one.name << ": " << one.why_not);
    const Tensors x{placeholder({.shape = {kBatch, kQueries, kDepth}}),
                    placeholder({.shape = {kBatch, kKeys, kDepth}}),
                    placeholder({.shape = {kBatch, kKeys, kWidth}})};
    const Tensor y = one.build(x);
    const Tensor loss = sum(square(y) * 0.5 + y);
    Tensors with_gradient{y};
    for (const Tensor& slope : gradients(loss, x)) {
      if (!slope.empty()) with_gradient.push_back(slope);
    }
    const std::string name = "trained" + std::to_string(number++);
    const Function f = function(x, with_gradient, {.dump = scratch.path(name)});
    const Function as_written =
        function(x, with_gradient, {.backend = "reference", .optimize = false});
    CHECK(largest_difference(f(fed), as_written(fed)) < 2e-5);
    const std::string text = dumped(scratch, name);
    INFO(text);
    const bool is_found = *one.why_not == '\0';
    CHECK(has(text, " = attention ") == is_found);
    CHECK(has(text, " = attention_gradient ") == is_found);
    const Function alone = function(x, {y}, {.dump = scratch.path(name + "f")});
    const std::string forward = dumped(scratch, name + "f");
    CHECK(has(forward, " = attention ") == one.is_found_forward);
  }
}

TEST_CASE("find_attention: MultiHeadAttention, with masks, in training") {
  const Scratch scratch;
  int number = 0;
  for (const bool is_causal : {false, true}) {
    for (const std::int64_t depth : {4, 5}) {
      const layers::MultiHeadAttention layer(2, depth, {.seed = 3});
      const Tensor x = placeholder({.shape = {None, 6, 8}});
      const Tensor y = layer(x, x, {.use_causal_mask = is_causal});
      std::vector<Tensor> outputs = gradients(sum(square(y)), {x});
      outputs.push_back(y);
      const std::string name = std::to_string(number++);
      const Function f = function({x}, outputs, {.dump = scratch.path(name)});
      const Function as_written =
          function({x}, outputs, {.backend = "reference", .optimize = false});
      const Array fed = uniform({3, 6, 8}, 4);
      CHECK(largest_difference(f({fed}), as_written({fed})) < 2e-5);
      const std::string text = dumped(scratch, name);
      INFO(text);
      CHECK(has(text, " = attention "));
      CHECK(has(text, " = attention_gradient "));
      CHECK_FALSE(has(text, " = softmax "));
    }
  }
}

}  // namespace kiln::find_attention_test
