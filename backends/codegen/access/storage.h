// Materialisation: which values are tensors in memory, and which tensor holds the elements of a
// value that is not.
#pragma once

#include "backends/codegen/access/view.h"

#include <unordered_set>

namespace kiln::codegen {

struct Storage {
  /// Values that are materialised, themselves or through an alias; see storage_of.
  std::unordered_set<ir::Value, ir::ValueHash> stored;
  /// Views and rematerialised values that are copied to a dense tensor, because a reader needs
  /// them dense.
  std::unordered_set<ir::Value, ir::ValueHash> dense;
};

/// Whether a value has its operand's elements in the same order: Reshape and the like.
bool is_alias(const ir::Node& node);
/// The value whose memory holds this one: follows aliases, up to one that `dense` contains.
ir::Value storage_of(const ir::Value& value, const Storage& storage);
/// Whether nothing computes the node: arguments and constants.
bool is_leaf(const ir::Node& node);
/// Follows views from `value`, read at `map`, to a value that a kernel loads or computes.
View trace(const ir::Value& value, AccessMap map, const SizeNames& names, const Storage& storage);

}  // namespace kiln::codegen
