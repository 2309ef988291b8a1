// Imports operators that move elements: reshapes, permutations, joins and repetitions.
#include "core/k/shape/data_dependent_impl.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/onnx/import/operands.h"
#include "core/onnx/import/shape_input.h"
#include "core/types/at.h"
#include "core/types/counted.h"

#include <kiln/shape_ops.h>

#include <numeric>

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Value;
using Values = std::vector<Value>;

/// A shape that depends on data, whose zeros take the sizes of x.
Value shape_with_sizes(const Value& x, const Value& shape) {
  const Value wide = ir::cast(shape, DType::Int64);
  const bool has_known_rank =
      wide.rank() == 1 && wide.dims()[0].is_static() && wide.dims()[0].value() <= ir::kMaxRank;
  if (!has_known_rank) return wide;  // which reshape rejects
  Values sizes;
  for (std::int64_t i = 0; i < wide.dims()[0].value(); ++i) {
    sizes.push_back(ir::dim_size(i < x.rank() ? x.dims()[at(i)] : Dim(0)));
  }
  const Value is_zero = ir::equal_to(wide, ir::zeros_like(wide));
  return ir::select(is_zero, vector_of(sizes), wide);
}

/// 0 takes the size of x, unless allowzero; -1 is what is left over.
Values import_reshape(NodeContext& node) {
  const Value x = node.input(0);
  const auto attribute = node.integers("shape");
  auto dims = attribute ? std::optional(Dims(attribute->begin(), attribute->end())) : node.dims(1);
  const bool takes_zero = node.integer("allowzero", 0) != 0;
  if (!dims) {
    const Value shape = takes_zero ? node.input(1) : shape_with_sizes(x, node.input(1));
    return {value_of(kiln::reshape(wrap(x), Shape(wrap(shape))), "x")};
  }
  std::optional<std::size_t> inferred;
  Dim rest = 1;
  for (std::size_t i = 0; i < dims->size(); ++i) {
    Dim& dim = (*dims)[i];
    if (dim == Dim(0) && !takes_zero) {
      if (i >= x.dims().size()) node.fail(text("shape[", i, "] is 0, but x has no axis ", i));
      dim = x.dims()[i];
    }
    if (dim == Dim(-1)) {
      if (inferred) node.fail(text("shape has more than one -1: ", to_string(*dims)));
      inferred = i;
    } else {
      rest = rest * dim;
    }
  }
  if (inferred) {
    // An empty x leaves 0 elements over whatever the other sizes are.
    const bool is_empty = rest.is_static() && rest.value() == 0;
    (*dims)[*inferred] = is_empty ? Dim(0) : floor_div(product(x.dims()), rest);
  }
  return {ir::reshape(x, *dims)};
}

Values import_transpose(NodeContext& node) {
  const Value x = node.input(0);
  Ints reversed = ir::all_axes(x);
  std::reverse(reversed.begin(), reversed.end());
  const Ints axes = node.integers("perm").value_or(reversed);
  Ints sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != ir::all_axes(x)) {
    node.fail(
        text("perm (", join_text(axes), ") is not a permutation of the axes (x ", x.type(), ")"));
  }
  return {ir::permute(x, axes)};
}

/// Drops the given axes, whose sizes a guard requires to be 1; without axes those known to be 1.
Values import_squeeze(NodeContext& node) {
  Value x = node.input(0);
  const auto given = node.attribute_or_input("axes", 1);
  Ints axes = given ? node.axes(*given, x.rank()) : Ints();
  Dims smallest(x.dims().size(), 0);
  for (int i = 0; !given && i < x.rank(); ++i) {
    const Dim& size = x.dims()[at(i)];
    if (size.is_one()) axes.push_back(i);
    if (equal(size, 1) == ir::Ternary::Unknown) smallest[at(i)] = 2;
  }
  x = ir::fits(x, smallest);
  Dims kept, ones = x.dims();
  for (int i = 0; i < x.rank(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) {
      kept.push_back(x.dims()[at(i)]);
      continue;
    }
    if (equal(x.dims()[at(i)], 1) == ir::Ternary::No) {
      node.fail(text("axis ", i, " has size ", x.dims()[at(i)], ", not 1 (x ", x.type(), ")"));
    }
    ones[at(i)] = 1;
  }
  return {ir::reshape(ir::with_dims(x, ones), kept)};
}

Values import_unsqueeze(NodeContext& node) {
  const Value x = node.input(0);
  const auto given = node.attribute_or_input("axes", 1);
  if (!given) node.fail("neither the attribute nor the input axes is given");
  const int rank = x.rank() + static_cast<int>(given->size());
  Dims dims = x.dims();
  for (const std::int64_t axis : node.axes(*given, rank)) dims.insert(dims.begin() + axis, 1);
  return {ir::reshape(x, dims)};
}

Values import_flatten(NodeContext& node) {
  const Value x = node.input(0);
  std::int64_t axis = node.integer("axis", 1);
  if (axis < 0) axis += x.rank();
  if (axis < 0 || axis > x.rank()) {
    node.fail(text("axis ", axis, " is out of range (x ", x.type(), ")"));
  }
  const auto middle = x.dims().begin() + axis;
  const Dims rows(x.dims().begin(), middle), columns(middle, x.dims().end());
  return {ir::reshape(x, {product(rows), product(columns)})};
}

Values import_concat(NodeContext& node) {
  std::vector<Tensor> parts;
  for (const Value& part : node.inputs()) parts.push_back(wrap(part));
  return {value_of(kiln::concatenate(parts, {.axis = node.integer("axis", 1)}), "x")};
}

/// Broadcasts both ways. An axis of unknown size is not stretched: guards require the entry of
/// shape to be 1 or that size.
Values import_expand(NodeContext& node) {
  Value x = node.input(0);
  const Dims shape = shape_input(node, 1, "shape");
  const Dims dims = broadcast_dims(x.type(), {x.dtype(), shape}, {"input", "shape"});
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const Dim &entry = shape[i], &size = dims[dims.size() - shape.size() + i];
    if (entry.is_one() || entry == size) continue;
    const std::string message = text("entry ", i, " of shape, ", entry, ", is neither 1 nor ", size,
                                     ", the size of its axis, which does not broadcast unless it "
                                     "is 1 by the option dims");
    x = ir::require(x, {.kind = ir::Guard::Kind::LessEqual,
                        .left = entry,
                        .right = max(size, 1),
                        .message = message});
    x = ir::require(x, {.left = (entry - 1) * (entry - size), .right = 0, .message = message});
  }
  return {ir::broadcast_to(x, dims)};
}

/// Repeats the whole tensor repeats[i] times along axis i.
Values import_tile(NodeContext& node) {
  const Value x = node.input(0);
  const Dims repeats = shape_input(node, 1, "repeats");
  if (static_cast<int>(repeats.size()) != x.rank()) {
    node.fail(
        text("repeats has ", repeats.size(), " entries, not ", x.rank(), " (x ", x.type(), ")"));
  }
  Dims pairs, result;
  Ints axes;
  for (int i = 0; i < x.rank(); ++i) {
    const Dim &size = x.dims()[at(i)], &count = repeats[at(i)];
    pairs.push_back(count);
    pairs.push_back(size);
    axes.push_back(2 * i + 1);
    result.push_back(size * count);
  }
  return {ir::reshape(ir::broadcast(x, pairs, axes), result)};
}

/// Sizes of the parts: given, or equal ones, of which the last may be smaller.
Dims split_sizes(NodeContext& node, const Dim& size) {
  if (const auto sizes = node.integers("split")) return {sizes->begin(), sizes->end()};
  if (node.has(1)) return shape_input(node, 1, "split");
  const auto count = static_cast<std::int64_t>(node.output_count());
  const std::int64_t given = node.integer("num_outputs", count);
  if (given != count) {
    node.fail(text("num_outputs is ", given, ", but the node has ", counted(at(count), "output")));
  }
  const Dim part = ceil_div(size, Dim(count));
  Dims sizes(at(count), part);
  sizes.back() = size - part * Dim(count - 1);
  return sizes;
}

Values import_split(NodeContext& node) {
  Value x = node.input(0);
  const int axis = node.axis(node.integer("axis", 0), x.rank());
  const Dims sizes = split_sizes(node, x.dims()[at(axis)]);
  const Dim total = std::accumulate(sizes.begin(), sizes.end(), Dim(0));
  if (equal(total, x.dims()[at(axis)]) == ir::Ternary::No) {
    node.fail(text("the parts add up to ", total, ", but axis ", axis, " has size ",
                   x.dims()[at(axis)], " (x ", x.type(), ")"));
  }
  x = ir::require(x, {.left = total,
                      .right = x.dims()[at(axis)],
                      .message = text("the parts add up to ", total, ", but axis ", axis,
                                      " has size ", x.dims()[at(axis)])});
  Values parts;
  Dim start = 0;
  for (const Dim& size : sizes) {
    parts.push_back(ir::slice_axis(x, axis, start, start + size));
    start = start + size;
  }
  return parts;
}

/// (n, c, h, w) with blocks of the spatial axes from or to the channels.
struct Blocks {
  Value x;
  Dim size, n, c, h, w;
};

Blocks blocks_of(NodeContext& node) {
  const Value x = node.input(0);
  const std::int64_t size = node.integer("blocksize");
  if (x.rank() != 4 || size < 1) {
    node.fail(text("blocksize ", size, " is below 1, or x is not of rank 4 (x ", x.type(), ")"));
  }
  return {x, size, x.dims()[0], x.dims()[1], x.dims()[2], x.dims()[3]};
}

Values import_depth_to_space(NodeContext& node) {
  const auto [x, b, n, c, h, w] = blocks_of(node);
  const Dim rest = floor_div(c, b * b);
  const bool is_crd = node.string("mode", "DCR") == "CRD";
  const Value parts =
      is_crd ? ir::reshape(x, {n, rest, b, b, h, w}) : ir::reshape(x, {n, b, b, rest, h, w});
  const Value moved = ir::permute(parts, is_crd ? Ints{0, 1, 4, 2, 5, 3} : Ints{0, 3, 4, 1, 5, 2});
  return {ir::reshape(moved, {n, rest, h * b, w * b})};
}

Values import_space_to_depth(NodeContext& node) {
  const auto [x, b, n, c, h, w] = blocks_of(node);
  const Dim rows = floor_div(h, b), columns = floor_div(w, b);
  const Value parts = ir::reshape(x, {n, c, rows, b, columns, b});
  const bool is_crd = node.string("mode", "DCR") == "CRD";
  const Value moved = ir::permute(parts, is_crd ? Ints{0, 1, 3, 5, 2, 4} : Ints{0, 3, 5, 1, 2, 4});
  return {ir::reshape(moved, {n, c * b * b, rows, columns})};
}

Values import_trilu(NodeContext& node) {
  const std::int64_t k = node.has(1) ? known_integer(node, 1, "k") : 0;
  const bool is_upper = node.integer("upper", 1) != 0;
  const Tensor x = node.tensor(0);
  return {value_of(is_upper ? kiln::triu(x, {.k = k}) : kiln::tril(x, {.k = k}), "x")};
}

constexpr OperatorRow kMovementRows[] = {
    {"Concat", {4, 11, 13}, import_concat},
    {"DepthToSpace", {1, 11, 13, 28}, import_depth_to_space},
    {"Expand", {8, 13}, import_expand},
    {"Flatten", {1, 9, 11, 13, 21, 23, 24, 25}, import_flatten},
    {"Reshape", {5, 13, 14, 19, 21, 23, 24, 25}, import_reshape},
    {"SpaceToDepth", {1, 13, 28}, import_space_to_depth},
    {"Split", {2, 11, 13, 18}, import_split},
    {"Squeeze", {1, 11, 13, 21, 23, 24, 25}, import_squeeze},
    {"Tile", {6, 13}, import_tile},
    {"Transpose", {1, 13, 21, 23, 24, 25}, import_transpose},
    {"Trilu", {14}, import_trilu},
    {"Unsqueeze", {1, 11, 13, 21, 23, 24, 25}, import_unsqueeze},
};

}  // namespace

std::span<const OperatorRow> movement_operators() { return kMovementRows; }

}  // namespace kiln::onnx
