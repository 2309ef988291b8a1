// Affine access maps, and movement ops as functions on them. A movement op copies nothing: a reader
// follows it to the tensor that stores the elements.
//
// Before: %1 = permute %0 axes=[1,0]; %2 = slice %1 start=[4,0];
//         a kernel over (i, j) reads %2[i, j]
// After:  the kernel reads %0[j, i + 4]
#pragma once

#include "backends/codegen/access/sizes.h"

#include <functional>
#include <vector>

namespace kiln::codegen {

/// step * (index along domain axis `axis`)
struct AffineTerm {
  int axis = -1;
  std::int64_t step = 0;
  bool operator==(const AffineTerm&) const = default;
};

/// The index along one axis of a tensor as an affine function of the domain's indices:
/// offset + step * (index along domain axis `axis`) + the terms of `more`, which only windows have.
struct AffineIndex {
  int axis = -1;  // -1: the index is `offset`
  std::int64_t step = 0;
  ir::Dim offset = 0;
  std::vector<AffineTerm> more = {};  // empty where axis < 0

  /// Calls visit(axis, step) for every term; both may be changed.
  template <class Visit>
  void for_each_term(Visit&& visit) {
    if (axis >= 0) visit(axis, step);
    for (AffineTerm& term : more) visit(term.axis, term.step);
  }
  template <class Visit>
  void for_each_term(Visit&& visit) const {
    if (axis >= 0) visit(axis, step);
    for (const AffineTerm& term : more) visit(term.axis, term.step);
  }
  bool operator==(const AffineIndex&) const = default;
};
/// From a point of the domain to an element of a tensor: one index for each axis of the tensor.
using AccessMap = std::vector<AffineIndex>;

/// A value as elements of `source`: element p of the value is source[map(p)].
struct View {
  ir::Value source;
  AccessMap map;
};

/// stride * base + dilation * within: the index of an element of a window.
AffineIndex windowed(const AffineIndex& base, std::int64_t stride, const AffineIndex& within,
                     std::int64_t dilation);
/// Each point reads the element with its own indices. Axes of size 1 have no domain axis; the
/// others take domain axes 0, 1, ... in order.
AccessMap identity_map(const ir::Dims& dims);
/// The dims that are not a literal 1: the domain of a value's points.
ir::Dims domain_of(const ir::Dims& dims);
/// Whether the map is the identity on the domain axes `axes`, in that order, and uses no others.
bool is_identity(const AccessMap& map, const std::vector<int>& axes);

/// Whether an op only renames elements: Permute, Broadcast, Slice, Reverse, Window, Identity,
/// StopGradient, and a Reshape that adds or removes axes of size 1.
bool is_view(const ir::Node& node, const SizeNames& names);
/// The map of a view's operand, given the map of its result. REQUIRES: is_view.
AccessMap operand_map(const ir::Node& view, const AccessMap& map, const SizeNames& names);
/// Follows views from `value`, read at `map`, until `stop` holds or a node is not a view.
View trace(const ir::Value& value, AccessMap map, const SizeNames& names,
           const std::function<bool(const ir::Value&)>& stop);

}  // namespace kiln::codegen
