// References to attributes and left-out inputs of a call are replaced in copies of the nodes.
#include "core/onnx/import/functions.h"

#include <algorithm>

namespace kiln::onnx {
namespace {

const AttributeProto* named(const std::vector<AttributeProto>& attributes, std::string_view name) {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const auto& attribute) { return attribute.name == name; });
  return found == attributes.end() ? nullptr : &*found;
}

struct Bound {
  const FunctionProto& function;
  const NodeProto& call;

  /// Whether it is an input of the function that the call leaves out.
  bool is_left_out(std::string_view name) const {
    const auto found = std::find(function.input.begin(), function.input.end(), name);
    if (found == function.input.end()) return false;
    const auto i = static_cast<std::size_t>(found - function.input.begin());
    return i >= call.input.size() || call.input[i].empty();
  }
};

std::vector<NodeProto> bound_nodes(const std::vector<NodeProto>& nodes, const Bound& bound);

/// The attribute itself, or the one that it refers to; nullopt if the call leaves that out.
std::optional<AttributeProto> bound_attribute(const AttributeProto& attribute, const Bound& bound) {
  if (!attribute.ref_attr_name.empty()) {
    const AttributeProto* given = named(bound.call.attribute, attribute.ref_attr_name);
    if (!given) given = named(bound.function.attribute_proto, attribute.ref_attr_name);
    if (!given) return std::nullopt;
    AttributeProto renamed = *given;
    renamed.name = attribute.name;
    return renamed;
  }
  if (!attribute.g) return attribute;
  AttributeProto copy = attribute;
  GraphProto graph = *attribute.g;
  graph.node = bound_nodes(graph.node, bound);
  copy.g = std::make_shared<const GraphProto>(std::move(graph));
  return copy;
}

std::vector<NodeProto> bound_nodes(const std::vector<NodeProto>& nodes, const Bound& bound) {
  std::vector<NodeProto> result;
  for (const NodeProto& node : nodes) {
    NodeProto copy = node;
    for (std::string_view& input : copy.input) {
      if (bound.is_left_out(input)) input = {};
    }
    copy.attribute.clear();
    for (const AttributeProto& attribute : node.attribute) {
      if (auto one = bound_attribute(attribute, bound)) copy.attribute.push_back(std::move(*one));
    }
    result.push_back(std::move(copy));
  }
  return result;
}

}  // namespace

FunctionTable::FunctionTable(const ModelProto& model) {
  for (const FunctionProto& function : model.functions) {
    functions_.emplace(Key{function.domain, function.name, function.overload}, &function);
  }
}

const FunctionProto* FunctionTable::find(const NodeProto& node) const {
  const auto found = functions_.find({node.domain, node.op_type, node.overload});
  return found == functions_.end() ? nullptr : found->second;
}

std::int64_t opset_of(const std::vector<OperatorSet>& sets, std::string_view domain) {
  for (const OperatorSet& set : sets) {
    if (set.domain == domain) return set.version;
  }
  return 0;
}

std::vector<NodeProto> function_nodes(const FunctionProto& function, const NodeProto& call) {
  return bound_nodes(function.node, {function, call});
}

}  // namespace kiln::onnx
