// Movement as index maps: where the element of a value at a point of a domain lies in the tensor
// that holds it. Movement ops are followed, never copied.
#pragma once

#include "backends/codegen/access/sizes.h"

#include <functional>
#include <vector>

namespace kiln::codegen {

/// step * (index along domain axis `axis`)
struct AxisTerm {
  int axis = -1;
  std::int64_t step = 0;
  bool operator==(const AxisTerm&) const = default;
};

/// The index along one axis of a tensor: offset + step * (index along domain axis `axis`), and for
/// windows `more` such terms.
struct AxisMap {
  int axis = -1;  // none: the index is `offset`
  std::int64_t step = 0;
  ir::Dim offset = 0;
  std::vector<AxisTerm> more = {};  // empty where axis < 0

  /// Calls visit(axis, step) for every term; both may be changed.
  template <class Visit>
  void for_each_term(Visit&& visit) {
    if (axis >= 0) visit(axis, step);
    for (AxisTerm& term : more) visit(term.axis, term.step);
  }
  template <class Visit>
  void for_each_term(Visit&& visit) const {
    if (axis >= 0) visit(axis, step);
    for (const AxisTerm& term : more) visit(term.axis, term.step);
  }
  bool operator==(const AxisMap&) const = default;
};
using IndexMap = std::vector<AxisMap>;  // one per axis of the tensor

/// A value as an index map into `source`.
struct View {
  ir::Value source;
  IndexMap map;
};

/// stride * place + dilation * within: where an element of a window lies.
AxisMap windowed(const AxisMap& place, std::int64_t stride, const AxisMap& within,
                 std::int64_t dilation);
/// Axes of size 1 have no domain axis; the others take domain axes 0, 1, ... in order.
IndexMap identity_map(const ir::Dims& dims);
/// The dims that are not a literal 1: what the points of a value run over.
ir::Dims domain_of(const ir::Dims& dims);
/// Whether a map takes domain axes first .. first + count - 1 in order, whole, and no others.
bool is_identity(const IndexMap& map, const std::vector<int>& axes);

/// Whether an op only says where elements are: Permute, Broadcast, Slice, Reverse, Window,
/// and Reshape when it adds or removes axes of size 1, Identity and StopGradient.
bool is_view(const ir::Node& node, const SizeNames& names);
/// The map of a view's operand from that of its result. REQUIRES: is_view.
IndexMap operand_map(const ir::Node& view, const IndexMap& map, const SizeNames& names);
/// Follows views from `value`, reached by `map`, until `stop` or a node that is none.
View trace(const ir::Value& value, IndexMap map, const SizeNames& names,
           const std::function<bool(const ir::Value&)>& stop);

}  // namespace kiln::codegen
