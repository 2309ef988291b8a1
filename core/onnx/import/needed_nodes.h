// Which nodes of a graph its outputs depend on, and which operators those need.
#pragma once

#include "core/onnx/file/model.h"
#include "core/onnx/import/import.h"

#include <string_view>
#include <unordered_set>
#include <vector>

namespace kiln::onnx {

/// The names of the graph's outputs.
std::vector<std::string_view> outputs_of(const GraphProto& graph);

/// The nodes that `outputs` depend on, in the order of the graph. Throws MalformedModel if two
/// nodes make one name.
std::vector<NodeProto> needed_nodes(const GraphProto& graph,
                                    const std::vector<std::string_view>& outputs);

/// The names that nodes, and graphs inside them, use.
std::unordered_set<std::string_view> used_names(const std::vector<NodeProto>& nodes);

/// Throws ValueError with a table of the operators that the nodes, the graphs inside them and the
/// functions that they call need and the importer lacks: op, count, first node, reason.
void require_operators(const ModelProto& model, const std::vector<NodeProto>& nodes,
                       const ImportOptions& options);

/// Throws ValueError unless the version of the default domain, in which `subject` is written, is
/// one that the table covers.
void require_opset(std::int64_t opset, const std::string& subject, const ImportOptions& options);

}  // namespace kiln::onnx
