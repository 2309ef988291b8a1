// Checks the graph in one walk and rebuilds its nodes over [n] in a second one.
#include "runtime/function/compile/lift_arguments.h"

#include "core/ir/traverse.h"
#include "core/k/base/tensor_impl.h"
#include "core/ops/rewrite_graph.h"

#include <algorithm>

namespace kiln::runtime {
namespace {

using ir::Dims;
using ir::Node;
using ir::Op;
using ir::Value;

bool is_scalar_constant(const Node& node) {
  return node.op == Op::Constant && node.types[0].dims.empty();
}

/// Whether the node is elementwise. REQUIRES: its result is a scalar or has the output's dims.
bool is_pointwise(const Node& node) {
  switch (node.op) {
    case Op::Constant:
    case Op::Identity:
    case Op::StopGradient: return true;
    case Op::Broadcast: return node.operands[0].rank() == 0;
    case Op::RandomUniform:
      return !node.types[0].dims.empty() && is_scalar_constant(*node.operands[0].node);
    default: return def(node).lowering == ir::Lowering::Elementwise;
  }
}

const std::vector<std::byte>& bytes_of(const Node& constant) {
  return *constant.as<ir::ConstantAttrs>().data.bytes;
}

class Lift {
 public:
  explicit Lift(const ir::Graph& graph) { lifted_.source = graph; }

  LiftedProgram run() {
    const std::vector<Value>& outputs = lifted_.source.outputs;
    const std::int64_t count = ir::product(outputs[0].dims()).value();
    add(ir::Type{DType::Bool, {count_, 0}}, Array::zeros({count, 0}, DType::Bool));
    lifted_.graph.outputs =
        ir::rewrite_nodes(outputs, [&](const ir::NodeRef& node) { return changed(node); });
    return std::move(lifted_);
  }

 private:
  std::vector<Value> changed(const ir::NodeRef& node) {
    switch (node->op) {
      case Op::Constant: return {constant(node)};
      case Op::RandomUniform: return {draw(*node)};
      case Op::Broadcast: {
        const ir::BroadcastAttrs attrs{.dims = {count_}, .axes = {}};
        return {ir::make(Op::Broadcast, attrs, {node->operands[0]})};
      }
      default: return ir::results_of(node);
    }
  }

  Value constant(const ir::NodeRef& node) {
    const DType dtype = node->types[0].dtype;
    const std::vector<std::byte>& bytes = bytes_of(*node);
    if (is_scalar_constant(*node)) {
      if (!is_float(dtype)) return node->result();
      return add({dtype, {}}, Array::copy_of(bytes.data(), {}, dtype));
    }
    const std::int64_t count = ir::product(node->types[0].dims).value();
    return add({dtype, {count_}},
               count == 0 ? Array::zeros({0}, dtype) : Array::view(bytes.data(), {count}, dtype));
  }

  Value draw(const Node& node) {
    auto attrs = node.as<ir::RandomAttrs>();
    const auto seed = static_cast<std::uint64_t>(attrs.seed);
    if (!has_seed_) lifted_.seed = seed;
    has_seed_ = true;
    attrs.seed = static_cast<std::int64_t>(seed ^ lifted_.seed);
    attrs.type.dims = {count_};
    return ir::make(Op::RandomUniform, attrs, node.operands);
  }

  Value add(ir::Type type, Array argument) {
    lifted_.graph.inputs.push_back(fresh_placeholder(std::move(type), ""));
    lifted_.arguments.push_back(std::move(argument));
    return lifted_.graph.inputs.back();
  }

  const ir::Dim count_ = ir::Dim::fresh("n");
  bool has_seed_ = false;
  LiftedProgram lifted_;
};

/// Whether a tensor of these dims and any dtype has at most 2^62 bytes.
bool is_countable(const Dims& dims) {
  std::int64_t bytes = sizeof(double);
  if (std::find(dims.begin(), dims.end(), ir::Dim(0)) != dims.end()) return true;
  for (const ir::Dim& dim : dims) {
    if (__builtin_mul_overflow(bytes, dim.value(), &bytes)) return false;
  }
  return bytes <= std::int64_t{1} << 62;
}

}  // namespace

bool is_pointwise(const ir::Graph& graph) {
  const bool is_value = graph.inputs.empty() && graph.updates.empty() && graph.sizes.empty() &&
                        graph.outputs.size() == 1 && graph.outputs[0].rank() != 0;
  if (!is_value) return false;
  const Dims& dims = graph.outputs[0].dims();
  for (const ir::Dim& dim : dims) {
    if (!dim.is_static()) return false;
  }
  for (const Node* node : ir::topological_order(graph.outputs)) {
    if (node->types.size() != 1 || !is_pointwise(*node)) return false;
    const Dims& own = node->types[0].dims;
    if (!own.empty() && own != dims) return false;
  }
  return true;
}

std::optional<LiftedProgram> lift_arguments(const ir::Graph& graph) {
  if (!is_countable(graph.outputs[0].dims())) return std::nullopt;
  return Lift(graph).run();
}

}  // namespace kiln::runtime
