// gradients(): the vector-Jacobian product (core/autodiff/vjp.h) with ones as cotangents. A
// variable on which the loss does not depend gets a MissingGradient, which throws when it is used.
#include <kiln/gradients.h>

#include "core/autodiff/vjp.h"
#include "core/ir/traverse.h"
#include "core/k/base/tensor_impl.h"

#include <algorithm>
#include <unordered_set>

namespace kiln {
namespace {

/// Whether no gradient flows through a node: its result is an index or integer, is constant almost
/// everywhere, or comes from a host function other than the identity.
bool blocks_gradient(const ir::Node& node) {
  if (node.op == ir::Op::HostCall && node.types.size() != 1) return true;
  const auto has_float = [](const ir::Type& type) { return is_float(type.dtype); };
  return !def(node).differentiable || std::none_of(node.types.begin(), node.types.end(), has_float);
}

/// The first K function on a path from x to the last node of `order` that blocks the gradient;
/// empty if there is no path.
std::string blocking_function(const std::vector<const ir::Node*>& order, const ir::Value& x) {
  std::unordered_set<const ir::Node*> dependents;
  for (const ir::Node* node : order) {
    const auto depends = [&](const ir::Value& operand) {
      return operand == x || dependents.count(operand.node.get()) != 0;
    };
    if (std::none_of(node->operands.begin(), node->operands.end(), depends)) continue;
    dependents.insert(node);
    if (!blocks_gradient(*node)) continue;
    const std::string function = node->origin.function;
    return function.empty() ? std::string(def(*node).name) : function;
  }
  return "";
}

std::string missing_text(const Tensor& variable, const std::string& blocking) {
  const std::string name = variable.name();
  const std::string shown = name.empty() ? text(variable) : name;
  std::string message = text("the loss does not depend on ", shown, ", so it has no gradient");
  if (!blocking.empty()) {
    message += text("; ", blocking, " on the path to the loss is not differentiable");
  }
  return message;
}

Tensor missing_gradient(std::string reason) {
  return Tensor(std::make_shared<const TensorImpl>(
      TensorImpl{.content = MissingGradient{std::move(reason)}}));
}

}  // namespace

Results<Tensor> gradients(const Operand& loss, const std::vector<Tensor>& variables) {
  return api_call("gradients", loss.where(), [&] {
    const ir::Value y = input_of(loss, "loss");
    if (!is_float(y.dtype())) {
      Call::type_error("loss", text("loss is not floating point (loss ", y.type(), ")"));
    }
    std::vector<ir::Value> x;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      x.push_back(value_of(variables, i, "variables"));
    }
    const ir::Value dy = ir::like(y, 1.0);
    const autodiff::Vjp result = autodiff::vjp({&y, 1}, {&dy, 1}, x);
    const bool all_found = std::all_of(result.dx.begin(), result.dx.end(),
                                       [](const ir::Value& dx) { return bool(dx); });
    const auto order = all_found ? std::vector<const ir::Node*>() : ir::topological_order({&y, 1});
    std::vector<Tensor> gradients;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (result.dx[i]) {
        gradients.push_back(wrap(result.dx[i]));
        continue;
      }
      const std::string blocking = blocking_function(order, x[i]);
      gradients.push_back(missing_gradient(missing_text(variables[i], blocking)));
    }
    return gradients;
  });
}

Tensor stop_gradient(const Operand& x) {
  return api_call("stop_gradient", x.where(),
                  [&] { return wrap(ir::stop_gradient(input_of(x, "variables"))); });
}

Results<Tensor> stop_gradient(const std::vector<Tensor>& variables, Where where) {
  return api_call("stop_gradient", where, [&] {
    std::vector<Tensor> stopped;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      stopped.push_back(wrap(ir::stop_gradient(value_of(variables, i, "variables"))));
    }
    return stopped;
  });
}

}  // namespace kiln
