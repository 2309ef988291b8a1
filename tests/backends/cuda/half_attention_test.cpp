// Tests attention of float16 and bfloat16 by the fake cuDNN, which interprets the operation graph:
// claims, values, sizes, addresses, parts of a batch, graphs, errors.
#include "backends/cuda/libraries/attention_description.h"
#include "tests/support/catch.h"
#include "tests/backends/cuda/fake_convolutions.h"
#include "tests/backends/cuda/library_operands.h"
#include "tests/backends/cuda_fakes/cudnn/problem.h"
#include "tests/core/ops/evaluate.h"
#include "tests/support/error_text.h"
#include "tests/support/has.h"
#include "tests/support/scratch.h"

#include "core/ops/build.h"
#include "core/ops/op.h"

#include <kiln/k.h>

#include <cmath>
#include <limits>

using namespace kiln;
using namespace kiln::cuda;
using namespace cuda_test;
using kiln::testing::contents_of;
using kiln::testing::has;
using kiln::testing::Scratch;

namespace {

using Dims = std::vector<std::int64_t>;

/// An attention of these sizes, and its gradients.
struct Program {
  Dims q, k, v;
  std::string dtype = "bfloat16";
  AttentionOptions options = {};
  bool has_gradient = true, is_known = true;

  Function compile(const std::string& backend) const {
    std::vector<Tensor> inputs;
    for (const Dims* dims : {&q, &k, &v}) inputs.push_back(input(shape(*dims), dtype));
    const Tensor y = dot_product_attention(inputs[0], inputs[1], inputs[2], options);
    std::vector<Tensor> outputs{y};
    if (has_gradient) {
      for (const Tensor& one : gradients(sum(sin(cast(y, "float32"))), inputs)) {
        outputs.push_back(one);
      }
    }
    return function(inputs, outputs, {.backend = backend});
  }
  std::vector<Array> feeds() const {
    const DType type = dtype == "float16" ? DType::Float16 : DType::BFloat16;
    return {drawn(q, 1, type), drawn(k, 2, type), drawn(v, 3, type)};
  }
  std::vector<Array> run(const std::string& backend) const { return compile(backend)(feeds()); }

 private:
  Shape shape(const Dims& dims) const {
    std::vector<ShapeEntry> entries(dims.begin(), dims.end());
    for (std::size_t i = 0; !is_known && i + 1 < dims.size(); ++i) entries[i] = None;
    return Shape(entries);
  }
};

ir::Type half(const std::vector<int>& dims) {
  return {DType::BFloat16, ir::Dims(dims.begin(), dims.end())};
}

/// With the operands q (2, 7, d), k (2, 9, d), v (2, 9, e), the scale and others.
ir::NodeRef attention_node(std::int64_t d, std::int64_t e, double scale,
                           const std::vector<ir::Value>& others = {}) {
  const int depth = static_cast<int>(d), width = static_cast<int>(e);
  std::vector<ir::Value> operands;
  for (const std::vector<int>& dims :
       {std::vector{2, 7, depth}, std::vector{2, 9, depth}, std::vector{2, 9, width}}) {
    operands.push_back(test::placeholder(half(dims)));
  }
  operands.push_back(ir::scalar_constant(DType::BFloat16, scale));
  operands.insert(operands.end(), others.begin(), others.end());
  return ir::make(ir::Op::Attention, ir::AttentionAttrs{}, operands).node;
}

ir::NodeRef gradient_node(const ir::NodeRef& forward) {
  std::vector<ir::Value> operands = forward->operands;
  for (std::uint32_t i = 0; i < 2; ++i) operands.push_back(forward->result(i));
  operands.push_back(forward->result(0));
  return ir::make(ir::Op::AttentionGradient, ir::AttentionAttrs{}, operands).node;
}

/// The library rounds probabilities and cotangents of scores to the dtype, the definition does not.
void check_values(const Program& program) {
  const int before = convolutions().calls("cudnnBackendExecute");
  const std::vector<Array> found = program.run("cuda"), wanted = program.run("reference");
  CHECK(convolutions().calls("cudnnBackendExecute") > before);
  const double bound = program.dtype == "float16" ? 0x1p-9 : 0x1p-6;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    INFO("result " << i << " of " << program.dtype);
    CHECK(test::difference(found[i], wanted[i], bound, bound) == "");
  }
}

std::string claims_of(const Program& program) {
  const Scratch scratch;
  program.compile("cuda").dump(scratch.path("f"), Stage::Claims);
  return contents_of(scratch.path("f/50-claims.txt"));
}

}  // namespace

TEST_CASE("half attention: which cuDNN rejects, and why") {
  const auto rejection = [](const ir::Node& node) {
    return rejection_of_half_attention(node).value_or("");
  };
  const struct {
    std::int64_t d, e;
    double scale;
    std::string forward, gradient;  // empty: taken
  } rows[] = {
      {8, 8, 0.5, "", ""},
      {128, 24, 1, "", ""},
      {256, 136, 1, "",
       "cuDNN takes depths that are multiples of 8 up to 128 in bfloat16, not 256 and 136"},
      {264, 8, 1, "cuDNN takes depths that are multiples of 8 up to 256 in bfloat16, not 264 and 8",
       "cuDNN takes depths that are multiples of 8 up to 128 in bfloat16, not 264 and 8"},
      {16, 12, 1, "cuDNN takes depths that are multiples of 8 up to 256 in bfloat16, not 16 and 12",
       "cuDNN takes depths that are multiples of 8 up to 128 in bfloat16, not 16 and 12"},
      {8, 8, -0.5, "cuDNN takes a positive constant as the scale in bfloat16",
       "cuDNN takes a positive constant as the scale in bfloat16"},
  };
  for (const auto& row : rows) {
    INFO("depths " << row.d << " and " << row.e << ", scale " << row.scale);
    const ir::NodeRef forward = attention_node(row.d, row.e, row.scale);
    CHECK(rejection(*forward) == row.forward);
    CHECK(rejection(*gradient_node(forward)) == row.gradient);
  }
  const ir::NodeRef with_bias = attention_node(8, 8, 1, {test::placeholder(half({1, 1, 9}))});
  CHECK(rejection(*with_bias) ==
        "a bias may mask all keys of a query, for which cuDNN is not used in bfloat16");
}

TEST_CASE("half attention: where cuDNN rejects it, it is computed in float32") {
  convolutions();
  const Program taken{{2, 20, 16}, {2, 30, 16}, {2, 30, 24}};
  const Program rejected{{2, 20, 12}, {2, 30, 12}, {2, 30, 12}};
  for (const Program* program : {&taken, &rejected}) {
    const std::string claims = claims_of(*program);
    INFO(claims);
    const std::string dtype = program == &taken ? "bfloat16" : "float32";
    CHECK(has(claims, ": attention(" + dtype + "["));
    CHECK(has(claims, ": attention_gradient(" + dtype + "["));
    CHECK(has(claims, "attention: taken"));
    CHECK(has(claims, "attention_gradient: taken"));
  }
}

TEST_CASE("half attention: values and gradients") {
  convolutions();
  for (const char* dtype : {"float16", "bfloat16"}) {
    for (const std::int64_t t : {1, 17, 70}) {
      for (const std::int64_t s : {1, 65}) {
        check_values({{2, t, 8}, {2, s, 8}, {2, s, 24}, dtype});
        check_values({{1, t, 40}, {1, s, 40}, {1, s, 8}, dtype, {.causal = true}});
      }
    }
    check_values({{3, 2, 20, 16}, {3, 2, 30, 16}, {3, 2, 30, 16}, dtype, {.scale = 0.75}});
    check_values({{20, 16}, {30, 16}, {30, 16}, dtype});
  }
  check_values({{2, 9, 256}, {2, 5, 256}, {2, 5, 8}, "bfloat16", {}, false});
}

TEST_CASE("half attention: unknown sizes, and none") {
  convolutions();
  Program program{{2, 20, 8}, {2, 30, 8}, {2, 30, 16}};
  program.is_known = false;
  check_values(program);
  for (const Dims& sizes : {Dims{0, 20, 30}, Dims{2, 0, 30}, Dims{2, 20, 0}}) {
    const std::int64_t n = sizes[0], t = sizes[1], s = sizes[2];
    const Program empty{{n, t, 8}, {n, s, 8}, {n, s, 16}};
    const std::vector<Array> found = empty.run("cuda"), wanted = empty.run("reference");
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      INFO(n << " x " << t << " x " << s << ", result " << i);
      CHECK(test::difference(found[i], wanted[i], 0, 0) == "");
    }
  }
}

TEST_CASE("half attention: NaN of an operand reaches the results that it reaches by definition") {
  convolutions();
  const Tensor q = input({1, 4, 8}), k = input({1, 5, 8}, "bfloat16");
  const Tensor y = dot_product_attention(cast(q, "bfloat16"), k, k);
  Array feed = drawn({1, 4, 8}, 1);
  feed.as<float>()[8] = std::numeric_limits<float>::quiet_NaN();
  const Array found = function({q, k}, {cast(y, "float32")}, {.backend = "cuda"})(
      {feed, drawn({1, 5, 8}, 2, DType::BFloat16)})[0];
  for (std::size_t i = 0; i < 32; ++i) {
    CHECK(std::isnan(found.as<float>()[i]) == (i / 8 == 1));
  }
}

TEST_CASE("half attention: operands at addresses of any alignment") {
  convolutions();
  // Each iteration keeps the logarithms of 3 queries, 12 bytes, for its gradient; that of the last
  // rows is queued last.
  const Tensor x = input({4, 1, 3, 8}, "bfloat16");
  const auto step = [&](const Tensor& state, const Tensor& row) {
    return dot_product_attention(state + row, row, row);
  };
  const Tensor end = foldr(step, x, {.initializer = cast(zeros({1, 3, 8}), "bfloat16")});
  const std::vector<Tensor> outputs{end, gradients(sum(sin(cast(end, "float32"))), {x})[0]};
  const Array feed = drawn({4, 1, 3, 8}, 1, DType::BFloat16);
  const std::vector<Array> found = function({x}, outputs, {.backend = "cuda"})({feed});
  CHECK(convolutions().engine() == kiln::fake_cudnn::kGeneral);
  const std::vector<Array> wanted = function({x}, outputs, {.backend = "reference"})({feed});
  for (const std::size_t i : {0, 1}) {
    CHECK(test::difference(found[i], wanted[i], 0x1p-5, 0x1p-5) == "");
  }
}

TEST_CASE("half attention: large batches are computed in parts") {
  convolutions();
  const Program program{{33000, 1, 8}, {33000, 1, 8}, {33000, 1, 8}};
  const int before = convolutions().calls("cudnnBackendExecute");
  check_values(program);
  CHECK(convolutions().calls("cudnnBackendExecute") == before + 4);
}

TEST_CASE("half attention: calls replay graphs, and functions share plans") {
  convolutions();
  const Program program{{2, 20, 8}, {2, 30, 8}, {2, 30, 8}};
  const std::vector<Array> feeds = program.feeds();
  program.compile("cuda")(feeds);  // opens the library
  const std::size_t objects = convolutions().objects();
  {
    const Function one = program.compile("cuda"), two = program.compile("cuda");
    const std::vector<Array> first = one(feeds);
    const std::size_t with_one = convolutions().objects();
    const int before = convolutions().calls("cudnnBackendExecute");
    for (int call = 0; call < 4; ++call) {
      const std::vector<Array> again = one(feeds);
      for (std::size_t i = 0; i < first.size(); ++i) {
        CHECK(test::difference(again[i], first[i], 0, 0) == "");
      }
    }
    CHECK(convolutions().calls("cudnnBackendExecute") == before + 2);  // of the capture
    two(feeds);
    CHECK(convolutions().objects() == with_one);
  }
  CHECK(convolutions().objects() == objects);
}

TEST_CASE("half attention: errors of the library name the line, and the next call works") {
  convolutions();
  const Program program{{2, 20, 8}, {2, 30, 8}, {2, 30, 8}};
  const std::vector<Array> feeds = program.feeds();
  for (const char* name : {"cudnnBackendCreateDescriptor", "cudnnBackendSetAttribute",
                           "cudnnBackendFinalize", "cudnnBackendExecute"}) {
    for (const int nth : {1, 2}) {
      const Function f = program.compile("cuda");
      REQUIRE(convolutions().fail(name, nth, 4003) == 1);
      const std::string text = testing::error_of<Error>([&] { f(feeds); });
      convolutions().reset();
      INFO(name << ": " << text);
      CHECK(has(text, "(4003): as the test asked"));
      CHECK(has(text, "half_attention_test.cpp"));
      CHECK_NOTHROW(f(feeds));
    }
  }
  const Function f = program.compile("cuda");
  convolutions().reject_plans(1);
  const std::string text = testing::error_of<Error>([&] { f(feeds); });
  convolutions().reset();
  INFO(text);
  CHECK(has(text, "cuDNN has no engine for the attention bfloat16, q 2x20x8, k 2x30x8, v 2x30x8"));
}
