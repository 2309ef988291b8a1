// Lines of boxes for nodes.
#pragma once

#include "core/ir/node.h"

#include <string>
#include <vector>

namespace kiln::picture {

/// The text for a node without operands: "0.5", "dense/kernel float32[784,64]".
std::string leaf_text(const ir::Node& node);
/// The same without names and sizes.
std::string leaf_structure(const ir::Node& node);

/// The op, with what matters of its attributes: "sum axes 0,1"; with its operands if one of them
/// has a text: "mul(·, 0.5)", where "·" is an operand that an arrow leads to.
std::string work_text(const ir::Node& node, const std::vector<std::string>& operands);

/// The types of the results.
std::string types_text(const ir::Node& node);
/// "dense at train.cpp:88", by the name of the file without its folders; empty if unknown.
std::string source_text(const ir::Origin& origin);

}  // namespace kiln::picture
