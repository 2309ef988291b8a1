// Tests the kernels of attention on the fakes, which run their text: claims, memory, bits, biases
// of several batch axes, graphs, errors and data races. Values: tests/backends/attention_test.cpp.
#include "tests/support/catch.h"
#include "tests/backends/cuda/fake_device.h"
#include "tests/backends/cuda/library_operands.h"
#include "tests/core/ops/attention_loops.h"
#include "tests/core/ops/evaluate.h"
#include "tests/support/child.h"
#include "tests/support/error_text.h"
#include "tests/support/has.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <algorithm>
#include <cmath>

using namespace kiln;
using namespace cuda_test;
using kiln::testing::contents_of;
using kiln::testing::has;
using kiln::testing::Scratch;

namespace {

using Dims = std::vector<std::int64_t>;

/// An attention of these sizes and its gradients, with a bias if it has dims.
struct Program {
  Dims q, k, v, bias = {};
  AttentionOptions options = {};
  bool has_gradient = true;

  Function compile(const std::string& backend, bool is_known = true) const {
    std::vector<Tensor> inputs;
    for (const Dims& dims : all()) inputs.push_back(placeholder({.shape = shape(dims, is_known)}));
    AttentionOptions chosen = options;
    if (!bias.empty()) chosen.bias = inputs[3];
    const Tensor y = dot_product_attention(inputs[0], inputs[1], inputs[2], chosen);
    std::vector<Tensor> outputs{y};
    if (has_gradient) {
      for (const Tensor& one : gradients(sum(sin(y)), {inputs[0], inputs[1], inputs[2]})) {
        outputs.push_back(one);
      }
    }
    return function(inputs, outputs, {.backend = backend});
  }
  std::vector<Array> feeds() const {
    std::vector<Array> arrays;
    for (const Dims& dims : all()) {
      arrays.push_back(drawn(dims, static_cast<unsigned>(arrays.size())));
    }
    return arrays;
  }
  std::vector<Array> run(const std::string& backend) const { return compile(backend)(feeds()); }

 private:
  std::vector<Dims> all() const {
    std::vector<Dims> list{q, k, v};
    if (!bias.empty()) list.push_back(bias);
    return list;
  }
  /// With unknown sizes but the last, where the size is not 1.
  static Shape shape(const Dims& dims, bool is_known) {
    std::vector<ShapeEntry> entries(dims.begin(), dims.end());
    for (std::size_t i = 0; !is_known && i + 1 < dims.size(); ++i) {
      if (dims[i] != 1) entries[i] = None;
    }
    return Shape(entries);
  }
};

void check_values(const Program& program) {
  const std::vector<Array> found = program.run("cuda"), wanted = program.run("reference");
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    INFO("result " << i);
    CHECK(test::difference(found[i], wanted[i], 4e-6, 4e-6) == "");
  }
}

std::string claims_of(const Program& program) {
  const Scratch scratch;
  program.compile("cuda").dump(scratch.path("f"), Stage::Claims);
  return contents_of(scratch.path("f/50-claims.txt"));
}

std::vector<double> doubles(const Array& array) {
  return {array.as<float>().begin(), array.as<float>().end()};
}

double error_of(const Array& found, const std::vector<double>& exact) {
  double worst = 0;
  const auto values = found.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    worst = std::max(worst, std::abs(values[i] - exact[i]));
  }
  return worst;
}

/// 0 where query i sees key j, else -1e9.
Tensor causal_mask(std::int64_t queries, std::int64_t keys) {
  const Tensor seen = greater_equal(expand_dims(arange(queries)), arange(keys));
  return (1 - cast(seen, "float32")) * -1e9;
}

/// The result and the cotangents of q, k and v, where d_result is an input. `is_fused`: false
/// computes the probabilities as a result, too, so that matmuls and a softmax compute all.
std::vector<Array> attend(const Program& program, const Array& d_result, bool is_fused) {
  std::vector<Tensor> inputs, more;
  std::vector<Array> feeds = program.feeds();
  feeds.push_back(d_result);
  for (const Array& feed : feeds) inputs.push_back(input(Shape(feed.dims())));
  Tensor y;
  if (is_fused) {
    y = dot_product_attention(inputs[0], inputs[1], inputs[2], program.options);
  } else {
    Tensor scores = batch_dot(inputs[0], inputs[1], {.axes = {2, 2}}) * 0.5;
    if (program.options.causal) scores = scores + causal_mask(program.q[1], program.k[1]);
    more = {softmax(scores)};
    y = batch_dot(more[0], inputs[2], {.axes = {2, 1}});
  }
  std::vector<Tensor> outputs = gradients(sum(y * inputs[3]), {inputs[0], inputs[1], inputs[2]});
  outputs.insert(outputs.begin(), y);
  outputs.insert(outputs.end(), more.begin(), more.end());
  return function(inputs, outputs, {.backend = is_fused ? "cuda" : "cpu"})(feeds);
}

int launches_of(const Function& f, const std::vector<Array>& feeds) {
  const int before = control().calls("cuLaunchKernel");
  f(feeds);
  return control().calls("cuLaunchKernel") - before;
}

}  // namespace

TEST_CASE("attention: which the kernels take, and why not") {
  control();
  const struct {
    Program program;
    const char* reason;  // null: taken
  } rows[] = {
      {{{2, 64, 16}, {2, 70, 16}, {2, 70, 16}}, nullptr},
      {{{2, 17, 128}, {2, 1, 128}, {2, 1, 1}}, nullptr},
      {{{2, 16, 8}, {2, 70, 8}, {2, 70, 8}},
       "64 queries at a time, matmuls fewer than 17, here 16"},
      {{{2, 64, 129}, {2, 70, 129}, {2, 70, 8}},
       "at most 128 elements in registers, not depths of 129 and 8"},
      {{{2, 64, 8}, {2, 70, 8}, {2, 70, 129}}, "not depths of 8 and 129"},
      {{{2, 64, 129}, {2, 70, 129}, {2, 70, 128}, {}, {}, false}, nullptr},
      {{{2, 2, 2, 2, 2, 20, 4},
        {2, 2, 2, 2, 2, 9, 4},
        {2, 2, 2, 2, 2, 9, 4},
        {2, 1, 2, 1, 2, 1, 9}},
       "a bias of at most 4 batch axes, not 5"},
      {{{2, 2, 2, 2, 2, 20, 4},
        {2, 2, 2, 2, 2, 9, 4},
        {2, 2, 2, 2, 2, 9, 4},
        {2, 1, 2, 2, 1, 1, 9}},
       nullptr},
  };
  for (const auto& row : rows) {
    const std::string claims = claims_of(row.program);
    INFO(&row - rows << "\n" << claims);
    if (row.reason != nullptr) CHECK(has(claims, row.reason));
    CHECK(has(claims, "attention: taken") == (row.reason == nullptr));
    const bool has_taken = has(claims, "attention_gradient: taken");
    CHECK(has_taken == (row.reason == nullptr && row.program.has_gradient));
  }
}

TEST_CASE("attention: float16 is computed in float32 if cuDNN rejects it, float64 is expanded") {
  control();
  for (const char* dtype : {"float16", "bfloat16", "float64"}) {
    const Tensor q = input({2, 20, 9}, dtype), k = input({2, 30, 9}, dtype);
    const std::string claims = cuda_test::claims_of({q, k}, dot_product_attention(q, k, k));
    INFO(claims);
    CHECK(has(claims, "attention: taken") == (dtype != std::string("float64")));
    CHECK(has(claims, "only in float32") == (dtype == std::string("float64")));
  }
}

TEST_CASE("attention: a cotangent of the bias expands the gradient") {
  control();
  const auto run = [](const char* backend) {
    const Tensor q = input({2, 20, 8}), k = input({2, 30, 8}), bias = input({2, 1, 30});
    const Tensor y = dot_product_attention(q, k, k, {.bias = bias});
    const Function f =
        function({q, k, bias}, gradients(sum(sin(y)), {q, k, bias}), {.backend = backend});
    const Scratch scratch;
    f.dump(scratch.path("f"), Stage::Claims);
    if (backend == std::string("cuda")) {
      CHECK(has(contents_of(scratch.path("f/50-claims.txt")), "the cotangent of the bias is read"));
    }
    return f({drawn({2, 20, 8}, 1), drawn({2, 30, 8}, 2), drawn({2, 1, 30}, 3)});
  };
  const std::vector<Array> found = run("cuda"), wanted = run("reference");
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(test::difference(found[i], wanted[i], 4e-6, 4e-6) == "");
  }
}

TEST_CASE("attention: a bias of any of the batch axes, and of any of queries and keys") {
  control();
  const Dims q{2, 3, 20, 8}, k{2, 3, 70, 8}, v{2, 3, 70, 5};
  for (const Dims& bias : {Dims{2, 3, 20, 70}, Dims{1, 3, 20, 70}, Dims{2, 1, 1, 70},
                           Dims{1, 1, 20, 70}, Dims{2, 3, 20, 1}, Dims{1, 3, 1, 1}}) {
    INFO("bias " << bias[0] << " " << bias[1] << " " << bias[2] << " " << bias[3]);
    check_values({q, k, v, bias});
    check_values({q, k, v, bias, {.scale = 0.25, .causal = true}});
  }
  check_values({{2, 3, 2, 2, 17, 4}, {2, 3, 2, 2, 9, 4}, {2, 3, 2, 2, 9, 4}, {2, 1, 2, 1, 17, 9}});
  check_values({{20, 8}, {30, 8}, {30, 8}, {20, 30}});
}

TEST_CASE("attention: widths and depths around those of the kernels") {
  control();
  for (const std::int64_t d : {1, 31, 32, 33, 64, 65, 96, 97, 128}) {
    INFO("depth " << d);
    check_values({{1, 66, d}, {1, 67, d}, {1, 67, d}});
    check_values({{1, 18, d}, {1, 67, d}, {1, 67, 129 - d}, {}, {.causal = true}});
  }
  check_values({{1, 66, 300}, {1, 67, 300}, {1, 67, 7}, {}, {}, false});
}

TEST_CASE("attention: errors of at most 4 times those of matmuls and a softmax on cpu") {
  control();
  for (const Dims& sizes :
       {Dims{63, 64, 8}, Dims{64, 200, 64}, Dims{200, 65, 80}, Dims{65, 200, 128}}) {
    for (const bool causal : {false, true}) {
      const std::int64_t t = sizes[0], s = sizes[1], d = sizes[2];
      INFO("queries " << t << ", keys " << s << ", depth " << d << ", causal " << causal);
      const Program program{{2, t, d}, {2, s, d}, {2, s, d}, {}, {.scale = 0.5, .causal = causal}};
      const std::vector<Array> feeds = program.feeds();
      const Array d_result = drawn({2, t, d}, 9);
      const test::AttentionLoops loops{.batch = 2,
                                       .t = t,
                                       .s = s,
                                       .d = d,
                                       .e = d,
                                       .divides = false,
                                       .causal = causal,
                                       .q = doubles(feeds[0]),
                                       .k = doubles(feeds[1]),
                                       .v = doubles(feeds[2]),
                                       .scale = 0.5,
                                       .bias = {}};
      const auto exact = loops.backward(doubles(d_result));
      const std::vector<double>* const wanted[] = {&exact.q, &exact.k, &exact.v};
      const std::vector<Array> fused = attend(program, d_result, true);
      const std::vector<Array> apart = attend(program, d_result, false);
      const std::vector<double> o = loops.forward().o;
      CHECK(error_of(fused[0], o) <= 4 * error_of(apart[0], o));
      for (std::size_t i = 0; i < 3; ++i) {
        const double own = error_of(fused[i + 1], *wanted[i]);
        const double other = error_of(apart[i + 1], *wanted[i]);
        INFO("cotangent " << i << ": " << own << " and " << other);
        CHECK(own <= 4 * other);
      }
    }
  }
}

TEST_CASE("attention: the second derivative is that of the definition") {
  control();
  const auto run = [](const char* backend) {
    const Tensor q = input({1, 20, 4}), k = input({1, 30, 4});
    const Tensor slope = gradients(sum(sin(dot_product_attention(q, k, k))), {q})[0];
    return function({q, k}, gradients(sum(square(slope)), {q, k}),
                    {.backend = backend})({drawn({1, 20, 4}, 1), drawn({1, 30, 4}, 2)});
  };
  const std::vector<Array> found = run("cuda"), wanted = run("reference");
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CHECK(test::difference(found[i], wanted[i], 1e-5, 1e-5) == "");
  }
}

TEST_CASE("attention: groups of keys, whose sums of dq are added in order") {
  control();
  for (const std::int64_t batch : {1, 3, 140}) {
    const Program program{{batch, 20, 8}, {batch, 200, 8}, {batch, 200, 8}};
    const Function f = program.compile("cuda");
    INFO("batch " << batch);
    f(program.feeds());
    const std::int64_t groups = batch == 140 ? 2 : 4;  // of 4 tiles
    CHECK(f.stats().peak_bytes >= batch * 20 * (3 + groups * 8) * 4);
    check_values(program);
  }
}

TEST_CASE("attention: calls have equal bits, as graphs and as launches, whatever the batch") {
  control();
  const Program program{{2, 130, 16}, {2, 200, 16}, {2, 200, 32}, {}, {.causal = true}};
  const std::vector<Array> first = program.run("cuda");
  const Function f = program.compile("cuda");
  for (int call = 0; call < 4; ++call) CHECK(f(program.feeds()) == first);
  CHECK(launches_of(f, program.feeds()) == 0);
  // A row does not depend on the other matrices of the batch.
  const Program alone{{1, 130, 16}, {1, 200, 16}, {1, 200, 32}, {}, {.causal = true}, false};
  std::vector<Array> feeds = alone.feeds();
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const Array all = program.feeds()[i];
    const auto to = feeds[i].as<float>();
    std::copy_n(all.as<float>().begin(), to.size(), to.begin());
  }
  const Array part = alone.compile("cuda")(feeds)[0];
  const auto whole = first[0].as<float>(), own = part.as<float>();
  CHECK(std::equal(own.begin(), own.end(), whole.begin()));
}

TEST_CASE("attention: temporaries grow with the queries and keys, not with their product") {
  control();
  const auto planned_bytes = [](std::int64_t t) {
    const Program program{{300, t, 8}, {300, t, 8}, {300, t, 8}};
    const Function f = program.compile("cuda", /*is_known=*/false);
    f({Array::zeros({300, t, 8}), Array::zeros({300, t, 8}), Array::zeros({300, t, 8})});
    return f.stats().peak_bytes;
  };
  const std::int64_t small = planned_bytes(64), large = planned_bytes(128);
  CHECK(large <= 2 * small + 4096);
  CHECK(large < 300 * 128 * 128 * 4);
  // The sums of dq of each group of keys, and the facts of the queries.
  const Program few{{1, 64, 8}, {1, 640, 8}, {1, 640, 8}};
  const Function f = few.compile("cuda");
  f(few.feeds());
  CHECK(f.stats().peak_bytes >= 10 * 64 * 8 * 4 + 64 * 3 * 4);
}

TEST_CASE("attention: no queries, no keys, no matrices, no depth") {
  control();
  for (const bool is_known : {false, true}) {
    for (const Program& program :
         {Program{{2, 0, 8}, {2, 30, 8}, {2, 30, 8}}, Program{{2, 20, 8}, {2, 0, 8}, {2, 0, 8}},
          Program{{0, 20, 8}, {0, 30, 8}, {0, 30, 8}}, Program{{2, 20, 8}, {2, 30, 8}, {2, 30, 0}},
          Program{{2, 20, 0}, {2, 30, 0}, {2, 30, 8}, {}, {.scale = 1.0}},
          Program{{2, 20, 8}, {2, 0, 8}, {2, 0, 8}, {2, 20, 0}}}) {
      INFO("queries " << program.q[1] << ", keys " << program.k[1] << ", known " << is_known);
      const std::vector<Array> found = program.compile("cuda", is_known)(program.feeds());
      const std::vector<Array> wanted = program.run("reference");
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        CHECK(test::difference(found[i], wanted[i], 4e-6, 4e-6) == "");
      }
    }
  }
}

TEST_CASE("attention: in the body of a loop, and as a variable's update") {
  control();
  const auto run = [](const char* backend) {
    const Tensor x = input({3, 20, 8}), k = input({30, 8});
    const auto step = [&](const Tensor& state, const Tensor& row) {
      return dot_product_attention(state + row, k, k);
    };
    const Tensor last = foldl(step, x, {.initializer = zeros({20, 8})});
    const Variable w = variable(Array::zeros({20, 8}));
    const Tensor next = dot_product_attention(last - w, k, k, {.causal = true});
    const Function f = function({x, k}, {last, gradients(sum(square(last)), {k})[0]},
                                {.updates = {update(w, next)}, .backend = backend});
    std::vector<Array> results;
    for (int call = 0; call < 3; ++call) results = f({drawn({3, 20, 8}, 1), drawn({30, 8}, 2)});
    results.push_back(get_value(w));
    return results;
  };
  const std::vector<Array> found = run("cuda"), wanted = run("reference");
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(test::difference(found[i], wanted[i], 1e-5, 1e-5) == "");
  }
}

TEST_CASE("attention: dumps name the steps, their memory and their text") {
  control();
  const Scratch scratch;
  const Program program{{2, 64, 8}, {2, 70, 8}, {2, 70, 8}};
  const Function f = program.compile("cuda");
  f(program.feeds());
  f.dump(scratch.path("f"), Stage::All);
  CHECK(has(contents_of(scratch.path("f/52-plan.txt")),
            "queries 64 keys 70 depths 8 and 8, for each of 2"));
  const std::string memory = contents_of(scratch.path("f/53-memory_plan-sizes_1.txt"));
  INFO(memory);
  CHECK(has(memory, "scratch of step 2  # dot_product_attention at"));
  CHECK(has(contents_of(scratch.path("f/55-cuda_c-attention_32.cu")), "attention_forward_32("));
  CHECK(has(contents_of(scratch.path("f/55-cuda_c-attention_gradient_32.cu")),
            "attention_gradient_32("));
  CHECK(has(contents_of(scratch.path("f/56-ptx-attention_gradient_32.ptx")),
            ".entry attention_add_groups"));
}

TEST_CASE("attention: a launch that fails is an error, and the next call works") {
  control();
  for (const int nth : {1, 2, 3}) {
    const Program program{{2, 60 + nth, 8}, {2, 70, 8}, {2, 70, 8}};
    const Function f = program.compile("cuda");
    for (const int call : {nth, nth + 1}) REQUIRE(control().fail("cuLaunchKernel", call, 304) == 1);
    CHECK_THROWS_AS(f(program.feeds()), Error);
    control().reset();
    check_values(program);
  }
}

TEST_CASE("attention: no data race in shared memory, or in the results") {
  fake_device(KILN_BINARY_DIR);
  CHECK(testing::in_new_process("[.attention_races]", "KILN_TEST_FIND_RACES", "1") == 0);
}

TEST_CASE("child: attention with all accesses watched", "[.attention_races]") {
  control();
  for (const bool causal : {false, true}) {
    check_values({{1, 66, 3}, {1, 67, 3}, {1, 67, 34}, {1, 1, 67}, {.causal = causal}});
  }
  // All keys masked by a large number, whose probabilities are computed again.
  Program program{{1, 17, 3}, {1, 67, 3}, {1, 67, 3}, {1, 1, 67}};
  std::vector<Array> feeds = program.feeds();
  feeds[3] = Array::full({1, 1, 67}, -1e9);
  const std::vector<Array> found = program.compile("cuda")(feeds);
  const std::vector<Array> wanted = program.compile("reference")(feeds);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CHECK(test::difference(found[i], wanted[i], 4e-6, 4e-6) == "");
  }
}
