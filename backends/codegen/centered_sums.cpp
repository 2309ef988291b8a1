// What lies around its mean sums up to zero: gradients of variances add that up over everything, a
// pass over memory for the rounding errors of another one. NaN and infinities spread without it, as
// deviations have them already.
#include "backends/codegen/passes.h"

#include "backends/codegen/view.h"
#include "core/ops/build.h"
#include "core/ops/rewrite_graph.h"

#include <algorithm>
#include <cstring>

namespace kiln::codegen {
namespace {

using ir::Dim;
using ir::Ints;
using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;

constexpr int kDeepest = 8;

bool has(const Ints& axes, std::size_t axis) {
  return std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end();
}

View seen_through(const Value& value) {
  const SizeNames names;
  return trace(value, identity_map(value.dims()), names, [](const Value&) { return false; });
}

/// Whether `value` is the number of elements along those axes of x.
bool counts(Value value, const Value& x, const Ints& axes) {
  Dim count = 1;
  for (const std::int64_t axis : axes) count = count * x.dims()[static_cast<std::size_t>(axis)];
  while (value.node->op == Op::Broadcast || value.node->op == Op::Cast) {
    const Value operand = value.node->operands[0];
    value = operand;
  }
  if (value.node->op == Op::DimSize) return value.node->as<ir::DimAttrs>().dim == count;
  if (value.node->op != Op::Constant || value.rank() != 0 || !count.is_static()) return false;
  const auto& bytes = *value.node->as<ir::ConstantAttrs>().data.bytes;
  float single = 0;
  double number = 0;
  if (value.dtype() == DType::Float32) {
    std::memcpy(&single, bytes.data(), sizeof single);
    number = static_cast<double>(single);
  } else if (value.dtype() == DType::Float64) {
    std::memcpy(&number, bytes.data(), sizeof number);
  }
  return number == static_cast<double>(count.value());
}

/// Whether `value`, with the dims of x, is x's mean over those axes.
bool is_mean(const Value& value, const Value& x, const Ints& axes) {
  const View mean = seen_through(value);
  const Node& div = *mean.source.node;
  if (div.op != Op::Div || !counts(div.operands[1], x, axes)) return false;
  const Node& sum = *div.operands[0].node;
  if (sum.op != Op::Sum || sum.operands[0] != x || sum.as<ir::AxesAttrs>().axes != axes) {
    return false;
  }
  const IndexMap here = identity_map(x.dims());
  IndexMap kept;
  for (std::size_t i = 0; i < here.size(); ++i) {
    if (!has(axes, i)) kept.push_back(here[i]);
  }
  return mean.map == kept;
}

/// Whether `value` is the same along those axes.
bool is_constant_along(const Value& value, const Ints& axes) {
  const IndexMap here = identity_map(value.dims());
  bool varies = false;
  for (const AxisMap& entry : seen_through(value).map) {
    entry.for_each_term([&](int axis, std::int64_t) {
      for (const std::int64_t along : axes) {
        varies |= here[static_cast<std::size_t>(along)].axis == axis;
      }
    });
  }
  return !varies;
}

/// Whether `value` is a sum of deviations from means over those axes, scaled by what is the same
/// along them.
bool is_centered(const Value& value, const Ints& axes, int depth = 0) {
  if (depth == kDeepest) return false;
  const Node& node = *value.node;
  const auto centered = [&](std::size_t i) {
    return is_centered(node.operands[i], axes, depth + 1);
  };
  switch (node.op) {
    case Op::Neg: return centered(0);
    case Op::Add: return centered(0) && centered(1);
    case Op::Mul:
      return (centered(0) && is_constant_along(node.operands[1], axes)) ||
             (is_constant_along(node.operands[0], axes) && centered(1));
    case Op::Sub: return is_mean(node.operands[1], node.operands[0], axes);
    default: return false;
  }
}

}  // namespace

std::vector<Value> drop_centered_sums(const std::vector<Value>& results,
                                      const ProductLibrary* library) {
  const auto of_body = [&](const std::vector<Value>& body) {
    return drop_centered_sums(body, library);
  };
  return ir::rewrite_nodes(results, [&](const NodeRef& given) -> std::vector<Value> {
    const NodeRef node = ir::change_lambdas(given, of_body);
    const bool wide = node->types[0].dtype == DType::Float32 ||
                      node->types[0].dtype == DType::Float64;
    if (node->op != Op::Sum || !wide) return ir::results_of(node);
    if (!is_centered(node->operands[0], node->as<ir::AxesAttrs>().axes)) {
      return ir::results_of(node);
    }
    return {ir::zeros_like(node->result())};
  });
}

}  // namespace kiln::codegen
