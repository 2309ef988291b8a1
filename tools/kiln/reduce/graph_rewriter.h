// Rebuilds graphs, bodies included, with other dims and values.
#pragma once

#include "core/ir/graph.h"
#include "core/ir/lambda.h"
#include "core/ir/node_map.h"
#include "core/ops/lambda_builder.h"

#include <functional>
#include <vector>

namespace kiln::tool {

/// Throws ValueError or TypeError of a type rule.
class GraphRewriter {
 public:
  using MapDim = std::function<ir::Dim(const ir::Dim&)>;
  /// `replacements` are taken as they are; `map_dim`: of every dim of types and attributes, null
  /// for none. Inputs, variables and constants of another type become new ones; constants keep
  /// their leading elements.
  explicit GraphRewriter(ir::Replacements replacements, MapDim map_dim = nullptr)
      : replacements_(std::move(replacements)), map_dim_(std::move(map_dim)) {}

  ir::Value operator()(const ir::Value& root);
  /// The node that replaces a node which was rebuilt; null for any other.
  const ir::Node* rebuilt(const ir::Node& node) const;

 private:
  ir::Value mapped(const ir::Value& value) const;
  ir::NodeRef rebuild(const ir::Node& node);
  bool change(ir::Dim& dim) const;
  bool change(ir::Type& type) const { return change(type.dims); }
  bool change(ir::LambdaRef& body);
  template <class Item>
  bool change(std::vector<Item>& items) const;
  template <class Other>
  bool change(Other&) const {
    return false;
  }

  ir::Replacements replacements_;
  MapDim map_dim_;
  ir::NodeMap<ir::NodeRef> nodes_;
};

/// The leading elements of a tensor along each axis, as bytes in row-major order. REQUIRES: static
/// dims; no size of `smaller` exceeds that of `from`.
std::vector<std::byte> leading_elements(const std::byte* elements, const ir::Type& from,
                                        const ir::Dims& smaller);

}  // namespace kiln::tool
