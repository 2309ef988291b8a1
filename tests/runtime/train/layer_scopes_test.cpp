// Tests the name scopes of nodes: those of layers, of helper functions and of gradients.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"

#include "core/ir/lambda.h"
#include "core/ir/scope.h"
#include "core/ir/traverse.h"
#include "core/k/base/tensor_impl.h"

#include <kiln/train.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace kiln {
namespace {

namespace L = layers;
using testing::error_of;

/// The nodes of a graph, also those in bodies.
std::vector<const ir::Node*> nodes_of(const std::vector<Tensor>& results) {
  std::vector<const ir::Node*> nodes;
  const std::function<void(const std::vector<ir::Value>&)> add = [&](const auto& roots) {
    for (const ir::Node* node : ir::topological_order(roots)) {
      nodes.push_back(node);
      ir::for_each_lambda(*node, [&](const ir::Lambda& lambda) { add(lambda.results); });
    }
  };
  std::vector<ir::Value> roots;
  for (const Tensor& result : results) roots.push_back(value_of(result, "results"));
  add(roots);
  return nodes;
}

/// The paths of the scopes of the nodes of one op.
std::multiset<std::string> scopes_of(ir::Op op, const std::vector<Tensor>& results) {
  std::multiset<std::string> paths;
  for (const ir::Node* node : nodes_of(results)) {
    if (node->op == op) paths.insert(ir::scope_path(node->origin.scope));
  }
  return paths;
}

std::string source_of(const Tensor& result) {
  const ir::Node& node = *value_of(result, "result").node;
  return ir::source_text(node.origin, "");
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// A user's helper function, which passes its caller's line on.
Tensor linear(const Tensor& x, const Tensor& w, Where where = Where::here()) {
  const auto scope = name_scope("linear", where);
  return dot(x, w);
}

Tensor block(const Tensor& x, const Tensor& w, Where where = Where::here()) {
  const auto scope = name_scope("block", where);
  return linear(x, w);
}

}  // namespace

TEST_CASE("layer scopes: nodes of each layer have its name, also in its loops") {
  const Tensor flat = placeholder({.shape = {2, 6}}), steps = placeholder({.shape = {2, 5, 6}});
  const Tensor image = placeholder({.shape = {2, 8, 8, 3}});
  const Tensor indices = placeholder({.shape = {2, 5}, .dtype = "int32"});
  const std::map<std::string, std::function<Tensor()>> layers{
      {"activation", [&] { return L::Activation("tanh", {.name = "activation"})(flat); }},
      {"attention",
       [&] { return L::MultiHeadAttention(2, 3, {.name = "attention"})(steps, steps); }},
      {"batch", [&] { return L::BatchNormalization({.name = "batch"})(flat, {.training = 1}); }},
      {"conv", [&] { return L::Conv2D(4, 3, {.name = "conv"})(image); }},
      {"dense", [&] { return L::Dense(3, {.activation = "relu", .name = "dense"})(flat); }},
      {"dropout", [&] { return L::Dropout(0.5, {.name = "dropout"})(flat, {.training = 1}); }},
      {"embedding", [&] { return L::Embedding(10, 4, {.name = "embedding"})(indices); }},
      {"flatten", [&] { return L::Flatten({.name = "flatten"})(image); }},
      {"group", [&] { return L::GroupNormalization({.groups = 3, .name = "group"})(image); }},
      {"layer", [&] { return L::LayerNormalization({.name = "layer"})(flat); }},
      {"lstm", [&] { return L::LSTM(4, {.name = "lstm"})(steps); }},
      {"mean", [&] { return L::GlobalAveragePooling2D({.name = "mean"})(image); }},
      {"pool", [&] { return L::MaxPooling2D(2, {.name = "pool"})(image); }},
      {"prelu", [&] { return L::PReLU({.name = "prelu"})(flat); }},
      {"separable", [&] { return L::SeparableConv2D(4, 3, {.name = "separable"})(image); }},
      {"transposed", [&] { return L::Conv2DTranspose(4, 3, {.name = "transposed"})(image); }}};
  for (const auto& [name, call] : layers) {
    INFO(name);
    const auto scope = name_scope("net");
    const Tensor y = call();
    CHECK(ir::scope_path(value_of(y, "y").node->origin.scope) == "net/" + name);
    for (const ir::Node* node : nodes_of({y})) {
      if (node->operands.empty()) continue;  // a constant may be another graph's, too
      const bool is_constant = std::all_of(
          node->operands.begin(), node->operands.end(),
          [](const ir::Value& operand) { return operand.node->op == ir::Op::Constant; });
      if (is_constant) continue;
      INFO(ir::def(node->op).name << " " << ir::source_text(node->origin, ""));
      CHECK(ir::scope_path(node->origin.scope) == "net/" + name);
      CHECK(std::string(node->origin.where.file) == __FILE__);
    }
  }
}

TEST_CASE("layer scopes: a layer's parts and its calls within a scope are apart") {
  const Tensor x = placeholder({.shape = {2, 5, 6}});
  const L::Bidirectional both(L::GRU(4, {.name = "gru"}), {.name = "both"});
  const auto paths = scopes_of(ir::Op::Scan, {both(x)});
  CHECK(paths == std::multiset<std::string>{"both/backward_gru", "both/forward_gru"});
  const L::Dense shared(6, {.name = "shared"});
  const auto in = [&](const char* name, const Tensor& input) {
    const auto scope = name_scope(name);
    return shared(input);
  };
  CHECK(scopes_of(ir::Op::Dot, {in("decoder", in("encoder", x))}) ==
        std::multiset<std::string>{"decoder/shared", "encoder/shared"});
}

TEST_CASE("layer scopes: gradients have the scope of the node that they differentiate") {
  const Tensor x = placeholder({.shape = {8, 4}});
  const L::Dense first(3, {.name = "first"}), second(2, {.name = "second"});
  const Tensor loss = sum(second(first(x)));
  const std::vector<Tensor> gradients = kiln::gradients(loss, L::weights({first, second}));
  // Of each matmul, the gradient of its weights; of the second one, that of its input, too.
  auto expected = std::multiset<std::string>{"first", "second", "second"};
  auto found = scopes_of(ir::Op::Dot, gradients);
  found.erase(found.find("first"));  // the forward pass, which the second's gradient reads
  CHECK(found == expected);
}

TEST_CASE("layer scopes: a helper function names its callers") {
  const Tensor x = placeholder({.shape = {2, 3}}), w = placeholder({.shape = {3, 3}});
  const auto line = [](unsigned number) { return text(__FILE__, ":", number); };
  const unsigned here = __LINE__;
  const Tensor one = linear(x, w), two = linear(one, w);
  const Tensor inner = block(two, w);
  CHECK(ends_with(source_of(one), text(" in linear (", line(here + 1), ")")));
  CHECK(source_of(one) == source_of(two));
  // The scopes are within each other: their callers are the line in block, then the line here.
  CHECK(ends_with(source_of(inner), text(", ", line(here + 2), ")")));
  CHECK(source_of(inner).find(" in block/linear (") != std::string::npos);
}

TEST_CASE("layer scopes: errors of steps name them") {
  const Tensor indices = placeholder({.shape = {2}, .dtype = "int32", .name = "indices"});
  const Tensor x = placeholder({.shape = {2}});
  const L::Embedding table(10, 4, {.name = "table"});
  const auto scope = name_scope("net");
  const Tensor rows = table(indices), y = log(x);
  for (const char* backend : {"cpu", "reference"}) {
    INFO(backend);
    const Function lookup = function({indices}, {rows}, {.backend = backend});
    const std::string outside = error_of<Error>([&] { lookup({Array{1, 11}}); });
    INFO(outside);
    CHECK(ends_with(outside.substr(0, outside.find(')') + 1), " in net/table)"));
    const Function checked = function({x}, {y}, {.backend = backend, .check_numerics = true});
    const std::string infinite = error_of<Error>([&] { checked({Array{0.f, 1.f}}); });
    INFO(infinite);
    CHECK(infinite.find(" in net gives -inf at [0]") != std::string::npos);
  }
}

TEST_CASE("layer scopes: names of variables are as without them") {
  const auto scope = name_scope("net");
  const L::Dense out(1, {.name = "out"});
  out(placeholder({.shape = {2, 3}}));
  CHECK(out.weights()[0].name() == "net/out/kernel");
}

TEST_CASE("layer scopes: they end with an error, and with names that are no scope's") {
  const L::Dense out(1, {.name = "out"}), broken(1, {.name = "a\nb"});
  const Tensor x = placeholder({.shape = {2, 3}});
  CHECK_THROWS_AS(out(placeholder({.shape = {3}})), ValueError);
  CHECK(ir::current_origin().scope == nullptr);
  CHECK_THROWS_AS(broken(x), ValueError);
  CHECK(ir::current_origin().scope == nullptr);
  CHECK(scopes_of(ir::Op::Dot, {dot(x, transpose(x))}) == std::multiset<std::string>{""});
}

}  // namespace kiln
