// Tests all passes on the training function of an LSTM: the loop that computes the loss and the
// loop that stores the gradient's operands become one.
#include "core/ir/traverse.h"
#include "core/k/base/tensor_impl.h"
#include "core/passes/pipeline.h"
#include "runtime/function/compile/build_graph.h"
#include "tests/support/catch.h"

#include <kiln/k.h>

#include <algorithm>
#include <string>
#include <vector>

namespace kiln::test {
namespace {

constexpr std::int64_t kHidden = 3, kCharacters = 5;

Tensor weight(std::vector<std::int64_t> shape) {
  return random_uniform_variable(shape, -0.5, 0.5, {.seed = 1});
}

struct Gate {
  Tensor w = weight({kHidden, kHidden}), u = weight({kHidden, kHidden}), b = zeros({kHidden});
};

ir::Graph training_graph() {
  const Tensor embedding = weight({kCharacters, kHidden}), out = weight({kHidden, kCharacters});
  const Gate gates[4];
  const Tensor x = placeholder({.shape = {None, None}, .dtype = "int32", .name = "x"});
  const Tensor y = placeholder({.shape = {None, None}, .dtype = "int32", .name = "y"});
  const Tensor h0 = placeholder({.shape = {None, kHidden}, .name = "h"});
  const Tensor c0 = placeholder({.shape = {None, kHidden}, .name = "c"});
  const auto step = [&](const Tensor& in, const std::vector<Tensor>& state) -> StepResult {
    const auto gate = [&](const Gate& g) { return dot(in, g.w) + dot(state[0], g.u) + g.b; };
    const Tensor c =
        sigmoid(gate(gates[1]) + 1.0) * state[1] + sigmoid(gate(gates[0])) * tanh(gate(gates[3]));
    const Tensor h = sigmoid(gate(gates[2])) * tanh(c);
    return {h, {h, c}};
  };
  const Tensor logits = dot(rnn(step, gather(embedding, x), {h0, c0}).outputs, out);
  const Tensor loss = mean(sparse_categorical_crossentropy(y, logits, {.from_logits = true}));
  std::vector<Tensor> weights{embedding, out};
  for (const Gate& gate : gates) weights.insert(weights.end(), {gate.w, gate.u, gate.b});
  const std::vector<Tensor> slopes = gradients(loss, weights);
  std::vector<UpdateOp> updates;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    updates.push_back(update_sub(weights[i], 0.1 * slopes[i]));
  }
  return runtime::build_graph({x, y, h0, c0}, {loss}, updates);
}

std::size_t count_scans(const ir::Graph& graph, bool reverse) {
  std::size_t count = 0;
  for (const ir::Node* node : ir::topological_order(graph.roots())) {
    count += node->op == ir::Op::Scan && node->as<ir::ScanAttrs>().reverse == reverse;
  }
  return count;
}

/// The carries and the matmuls in the body of each loop.
std::vector<std::pair<std::int64_t, std::size_t>> loops_of(const ir::Graph& graph) {
  std::vector<std::pair<std::int64_t, std::size_t>> found;
  for (const ir::Node* node : ir::topological_order(graph.roots())) {
    if (node->op != ir::Op::Scan) continue;
    const auto& attrs = node->as<ir::ScanAttrs>();
    std::size_t matmuls = 0;
    for (const ir::Node* inner : ir::topological_order(attrs.body->results)) {
      matmuls += inner->op == ir::Op::Dot;
    }
    found.emplace_back(attrs.carry, matmuls);
  }
  return found;
}

TEST_CASE("passes: an LSTM trains in one loop forwards and one backwards") {
  const ir::Graph before = training_graph();
  CHECK(count_scans(before, false) > 1);
  const ir::Graph after = passes::run_pipeline(before);
  CHECK(count_scans(after, false) == 1);
  CHECK(count_scans(after, true) == 1);
  // Both carry h and c, or their gradients; all gates are one matmul.
  CHECK(loops_of(after) == std::vector{std::pair<std::int64_t, std::size_t>{2, 1}, {2, 1}});
}

TEST_CASE("passes: a loop that occurs only in a branch is optimised") {
  const Tensor x = placeholder({.shape = {None, 4, 2}, .name = "x"});
  const Tensor h0 = placeholder({.shape = {None, 2}, .name = "h"});
  const Tensor w = weight({2, 2}), use = placeholder({.shape = Shape{}, .dtype = "bool"});
  const auto step = [&](const Tensor& in, const std::vector<Tensor>& state) -> StepResult {
    const Tensor h = tanh(dot(in, w) + state[0]);  // the product of all steps is one matmul
    return {h, {h}};
  };
  const auto loop = [&] { return rnn(step, x, {h0}).last_output; };
  std::vector<std::string> changed;
  const auto optimise = [&](const Tensor& y) {
    changed.clear();
    passes::run_pipeline(runtime::build_graph({x, h0, use}, {y}, {}),
                         {.disabled = {}, .report = [&](const passes::PassReport& report) {
                            if (report.changed) changed.emplace_back(report.pass.name);
                          }});
    return std::find(changed.begin(), changed.end(), "scan_batch_inputs") != changed.end();
  };
  CHECK(optimise(switch_(use, loop, [&] { return Tensor(h0); })));
  CHECK(optimise(loop()));
  CHECK_FALSE(optimise(tanh(h0)));
}

}  // namespace
}  // namespace kiln::test
