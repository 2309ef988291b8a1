// Tests permutations of channels-first programs: one remains at each edge, whatever ops stand
// between the convolutions, and values do not change.
#include "tests/support/catch.h"
#include "tests/backends/codegen/lowered.h"

#include "backends/codegen/host/prepared/matmul.h"
#include "backends/codegen/plan/plan.h"
#include "core/ir/traverse.h"
#include "core/ops/build.h"

#include <algorithm>

using namespace kiln;
using namespace kiln::codegen;
using ir::ConvRole;
using ir::Dims;
using ir::Op;
using ir::Value;

namespace {

/// Takes all convolutions and nothing else.
class Convolutions final : public HostLibrary {
 public:
  std::optional<std::string> rejection_of_matmul(const MatmulRequest&) const override {
    return "not wanted";
  }
  std::shared_ptr<const PreparedMatmul> prepare(const MatmulShape&, RhsUse) override {
    return nullptr;
  }
  std::optional<std::string> rejection_of_convolution(const ir::Node&) const override {
    return std::nullopt;
  }
};

Value input(const Dims& dims) {
  static std::int64_t id = 900;
  return ir::make(Op::Placeholder, ir::PlaceholderAttrs{id++, "x", {DType::Float32, dims}}, {});
}

/// A 3x3 convolution that keeps the spatial sizes; channels first.
Value conv(const Value& x, const Value& kernel) {
  const Value last = ir::permute(x, {0, 2, 3, 1});
  const ir::ConvAttrs attrs{ConvRole::Output, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {8, 8}, 1};
  return ir::permute(ir::make(Op::Conv, attrs, {last, kernel}), {0, 3, 1, 2});
}

/// Bias and relu, with a bias of shape (1, channels, 1, 1).
Value biased(const Value& x, const Value& bias) {
  const Value whole = ir::broadcast_to(ir::reshape(bias, {1, x.dims()[1], 1, 1}), x.dims());
  return ir::binary(Op::Maximum, x + whole, ir::zeros_like(x));
}

std::vector<Value> passed(std::vector<Value> results) {
  const Convolutions library;
  return rewritten(std::move(results), &library);
}

long count(const std::vector<Value>& results, Op op) {
  const auto nodes = ir::topological_order(results);
  return std::count_if(nodes.begin(), nodes.end(),
                       [&](const ir::Node* node) { return node->op == op; });
}

}  // namespace

TEST_CASE("data formats: permutations cancel between convolutions") {
  const Value x = input({2, 3, 8, 8}), first = input({3, 3, 3, 4}), second = input({3, 3, 4, 5});
  const Value bias = input({4});
  const Value y = conv(biased(conv(x, first), bias), second);
  CHECK(count({y}, Op::Permute) == 4);
  const std::vector<Value> results = passed({y});
  CHECK(count(results, Op::Conv) == 2);
  CHECK(results[0].type() == y.type());
  // One at each edge, and one of the bias, which is a view of axes of size 1.
  CHECK(count(results, Op::Permute) <= 3);
  const Value& edge = results[0];
  REQUIRE(edge.node->op == Op::Permute);
  CHECK(edge.node->operands[0].node->op == Op::Conv);
}

TEST_CASE("data formats: a sum over permuted axes reads memory in its order") {
  const Value x = input({2, 3, 8, 8}), y = conv(x, input({3, 3, 3, 4}));
  const Value whole = passed({ir::reduce_sum(y, {0, 2, 3})})[0];
  REQUIRE(whole.node->op == Op::Sum);
  CHECK(whole.type().dims == Dims{4});
  CHECK(whole.node->as<ir::AxesAttrs>().axes == ir::Ints{0, 1, 2});
  CHECK(whole.node->operands[0].node->op == Op::Conv);

  // Kept axes may be permuted, too: (2, 4, rows) is a permutation of (2, rows, 4).
  const Value rows = passed({ir::reduce_max(y, {3})})[0];
  REQUIRE(rows.node->op == Op::Permute);
  CHECK(rows.node->as<ir::AxesAttrs>().axes == ir::Ints{0, 2, 1});
  CHECK(rows.type().dims == Dims{2, 4, 8});
  CHECK(rows.node->operands[0].node->as<ir::AxesAttrs>().axes == ir::Ints{2});
}

TEST_CASE("data formats: a batch normalisation between convolutions keeps no permutation") {
  const Value x = input({2, 3, 8, 8});
  const Value y = conv(x, input({3, 3, 3, 4}));
  const auto spread = [&](const Value& v) { return ir::broadcast(v, y.dims(), {1}); };
  const Value centred = y - spread(ir::reduce_sum(y, {0, 2, 3}));
  const Value var = ir::reduce_sum(centred * centred, {0, 2, 3});
  const std::vector<Value> results = passed({conv(centred * spread(var), input({3, 3, 4, 5}))});
  CHECK(count(results, Op::Permute) == 2);
}

TEST_CASE("data formats: a mask in the program's format is read with permuted strides") {
  const Value x = input({2, 3, 8, 8}), y = conv(x, input({3, 3, 3, 4}));
  const Value mask =
      ir::make(Op::Placeholder, ir::PlaceholderAttrs{890, "mask", {DType::Bool, {2, 4, 8, 8}}}, {});
  const Value kept = ir::make(Op::Select, {}, {mask, y, ir::zeros_like(y)});
  const std::vector<Value> results = passed({conv(kept, input({3, 3, 4, 5}))});
  const auto nodes = ir::topological_order(results);
  std::vector<Value> permuted;
  for (const ir::Node* node : nodes) {
    if (node->op == Op::Permute) permuted.push_back(node->operands[0]);
  }
  REQUIRE(permuted.size() == 3);
  CHECK(std::count(permuted.begin(), permuted.end(), x) == 1);
  CHECK(std::count(permuted.begin(), permuted.end(), mask) == 1);
}

TEST_CASE("data formats: without convolutions permutations stay") {
  const Value x = input({2, 3, 8, 8});
  const Value y = biased(ir::permute(x, {0, 3, 1, 2}), input({8}));
  CHECK(passed({y})[0] == y);
}

TEST_CASE("data formats: a convolution that the library takes is one step, others become windows") {
  const Value x = input({2, 8, 8, 3}), kernel = input({3, 3, 3, 4});
  const ir::ConvAttrs attrs{ConvRole::Output, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {6, 6}, 1};
  const Value y = ir::make(Op::Conv, attrs, {x, kernel});
  const Convolutions library;
  const Program program = lowered({x, kernel}, {y}, &library);
  CHECK(program.kernels.empty());
  CHECK(print(program).find("convolution %2 = %0, %1") != std::string::npos);
  CHECK(print_claims(program).find("convolution: taken") != std::string::npos);
  const std::vector<Value> results = rewritten({y});
  CHECK(count(results, Op::Conv) == 0);
  CHECK(count(results, Op::Window) == 1);
}
