// Shape inference on values: small tensors computed from constants and sizes alone are evaluated to
// dims while the graph is built, so that reshape(x, {shape(x)[0], -1}) keeps its symbols.
//
//   Before: %s = DimSize b            After: elements(%r) = {b, 12}
//           %r = concat (reshape %s) [12]
#pragma once

#include "core/ir/node.h"
#include "core/k/shape/shape_element.h"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace kiln {

/// Evaluates values, and remembers those of the nodes that it met. Not thread-safe.
class ShapeValues {
 public:
  /// At most this many elements of one tensor are evaluated.
  static constexpr std::int64_t kMaxElements = 1024;

  /// The elements of `value`; nullopt if it has unknown sizes, more than kMaxElements elements, or
  /// several results of which it is one.
  std::optional<ShapeElements> elements(const ir::Value& value);
  /// The elements of an integer or bool value; nullopt if one of them depends on data.
  std::optional<ir::Dims> dims(const ir::Value& value);

  /// Evaluates a placeholder to the elements of a constant: what follows from them holds for calls
  /// with this value only.
  void assume(const ir::Value& placeholder, const ir::Value& constant);
  /// The placeholders whose assumed elements something was computed from, in order of first use.
  const std::vector<ir::Value>& used_assumptions() const { return used_assumptions_; }

 private:
  std::optional<ShapeElements> assumed(const ir::Value& placeholder);

  std::unordered_map<ir::Value, ir::Value, ir::ValueHash> assumptions_;
  std::vector<ir::Value> used_assumptions_;
  std::unordered_map<const ir::Node*, std::optional<ShapeElements>> known_;
  std::vector<ir::NodeRef> kept_;  // so that no address in known_ is reused
};

}  // namespace kiln
