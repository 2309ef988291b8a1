// Which values of a graph lie in memory, and which memory holds the elements of the others.
#pragma once

#include "backends/codegen/access/view.h"

#include <unordered_set>

namespace kiln::codegen {

struct Storage {
  /// Values that must lie in memory, as what they are or by an alias of it; see storage_of.
  std::unordered_set<ir::Value, ir::ValueHash> stored;
  /// Views and index expressions that are written out because somebody needs them dense.
  std::unordered_set<ir::Value, ir::ValueHash> dense;
};

/// Whether a value is the same elements in the same order as its operand: Reshape and the like.
bool is_alias(const ir::Node& node);
/// The value whose memory holds this one: through aliases, unless `dense` says it is copied.
ir::Value storage_of(const ir::Value& value, const Storage& storage);
/// Arguments and constants: nothing computes them.
bool is_leaf(const ir::Node& node);
/// Follows views from `value` to what a kernel reads or computes.
View trace(const ir::Value& value, IndexMap map, const SizeNames& names, const Storage& storage);

}  // namespace kiln::codegen
