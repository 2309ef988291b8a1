// Index arithmetic on small tensors, one function a kind of op.
#include "core/k/shape/shape_values.h"

#include "core/ir/traverse.h"
#include "core/k/shape/shape_arithmetic.h"
#include "core/ops/convert.h"
#include "core/types/at.h"

#include <numeric>

namespace kiln {
namespace {

using ir::Dims;
using ir::Ints;
using ir::Node;
using ir::Op;
using ir::Value;

/// The sizes of a tensor that may be evaluated; nullopt if it may not.
std::optional<Ints> small_sizes(const ir::Type& type) {
  Ints sizes;
  std::int64_t count = 1;
  for (const ir::Dim& dim : type.dims) {
    if (!dim.is_static() || dim.value() > ShapeValues::kMaxElements) return std::nullopt;
    sizes.push_back(dim.value());
    count *= dim.value();
    if (count > ShapeValues::kMaxElements) return std::nullopt;
  }
  return sizes;
}

std::int64_t count_of(const Ints& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

/// The linear index of `index` in a tensor of these sizes.
std::size_t linear(const Ints& index, const Ints& sizes) {
  std::int64_t position = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) position = position * sizes[i] + index[i];
  return at(position);
}

/// Calls visit(index) for each index of a tensor of these sizes, in C order.
template <class Visit>
void for_each_index(const Ints& sizes, const Visit& visit) {
  Ints index(sizes.size(), 0);
  for (std::int64_t left = count_of(sizes); left > 0; --left) {
    visit(index);
    for (std::size_t axis = sizes.size(); axis-- > 0;) {
      if (++index[axis] < sizes[axis]) break;
      index[axis] = 0;
    }
  }
}

/// An evaluated operand.
struct Evaluated {
  const ShapeElements& elements;
  Ints sizes;
};

ShapeElements constant_elements(const ir::ConstantAttrs& attrs, std::int64_t count) {
  ShapeElements elements;
  const std::byte* bytes = attrs.data.bytes->data();
  const DType dtype = attrs.type.dtype;
  for (std::int64_t i = 0; i < count; ++i, bytes += dtype_bytes(dtype)) {
    if (is_float(dtype)) {
      double number = 0;
      ir::load_floating(dtype, bytes, &number, 1);
      elements.push_back(ShapeElement{.dim = {}, .number = number});
    } else {
      std::int64_t number = 0;
      ir::convert_elements(dtype, bytes, DType::Int64, reinterpret_cast<std::byte*>(&number), 1);
      elements.push_back(ShapeElement{.dim = number});
    }
  }
  return elements;
}

/// The index into the operand for an index of the result, of an op that only moves elements; its
/// attributes must be static.
std::optional<std::size_t> source_of(const Node& node, const Ints& sizes, const Ints& index) {
  Ints source = index;
  switch (node.op) {
    case Op::Permute: {
      const Ints& axes = node.as<ir::AxesAttrs>().axes;
      for (std::size_t i = 0; i < axes.size(); ++i) source[at(axes[i])] = index[i];
      break;
    }
    case Op::Broadcast: {
      const Ints& axes = node.as<ir::BroadcastAttrs>().axes;
      source.assign(sizes.size(), 0);
      for (std::size_t i = 0; i < axes.size(); ++i) {
        source[i] = sizes[i] == 1 ? 0 : index[at(axes[i])];
      }
      break;
    }
    case Op::Slice: {
      const auto& attrs = node.as<ir::SliceAttrs>();
      for (std::size_t i = 0; i < source.size(); ++i) {
        if (!attrs.start[i].is_static()) return std::nullopt;
        source[i] = attrs.start[i].value() + index[i] * attrs.step[i];
      }
      break;
    }
    case Op::Reverse:
      for (const std::int64_t axis : node.as<ir::AxesAttrs>().axes) {
        source[at(axis)] = sizes[at(axis)] - 1 - index[at(axis)];
      }
      break;
    default: return std::nullopt;
  }
  return linear(source, sizes);
}

ShapeElements moved(const Node& node, const Ints& sizes, const Evaluated& x) {
  ShapeElements elements;
  for_each_index(sizes, [&](const Ints& index) {
    const auto source = source_of(node, x.sizes, index);
    elements.push_back(source ? x.elements[*source] : std::nullopt);
  });
  return elements;
}

ShapeElements concatenated(std::size_t axis, const Ints& sizes,
                           const std::vector<Evaluated>& parts) {
  ShapeElements elements;
  for_each_index(sizes, [&](Ints index) {
    std::size_t part = 0;
    while (index[axis] >= parts[part].sizes[axis]) index[axis] -= parts[part++].sizes[axis];
    elements.push_back(parts[part].elements[linear(index, parts[part].sizes)]);
  });
  return elements;
}

ShapeElements gathered(std::size_t axis, const Ints& sizes, const Evaluated& x,
                       const Evaluated& indices) {
  ShapeElements elements;
  const auto first = static_cast<std::ptrdiff_t>(axis);
  const auto end = first + static_cast<std::ptrdiff_t>(indices.sizes.size());
  for_each_index(sizes, [&](const Ints& index) {
    const Ints of_indices(index.begin() + first, index.begin() + end);
    const auto& entry = indices.elements[linear(of_indices, indices.sizes)];
    const bool is_inside = entry && entry->dim.is_static() && entry->dim.value() >= 0 &&
                           entry->dim.value() < x.sizes[axis];
    if (!is_inside) return elements.push_back(std::nullopt);
    Ints source(index.begin(), index.begin() + first);
    source.push_back(entry->dim.value());
    source.insert(source.end(), index.begin() + end, index.end());
    elements.push_back(x.elements[linear(source, x.sizes)]);
  });
  return elements;
}

/// Sum, Prod, Max or Min over axes.
ShapeElements reduced(const Node& node, const Ints& sizes, const Evaluated& x) {
  const Ints& axes = node.as<ir::AxesAttrs>().axes;
  const Op combine = node.op == Op::Sum    ? Op::Add
                     : node.op == Op::Prod ? Op::Mul
                     : node.op == Op::Max  ? Op::Maximum
                                           : Op::Minimum;
  const bool has_identity = node.op == Op::Sum || node.op == Op::Prod;
  const DType dtype = node.types[0].dtype;
  ShapeElements elements(at(count_of(sizes)));
  std::vector<bool> begun(elements.size(), false);
  if (has_identity) {
    const double identity = node.op == Op::Sum ? 0 : 1;
    const ShapeElement first = is_float(dtype) ? ShapeElement{.dim = {}, .number = identity}
                                               : ShapeElement{.dim = static_cast<int>(identity)};
    std::fill(elements.begin(), elements.end(), first);
    begun.assign(elements.size(), true);
  }
  for_each_index(x.sizes, [&](const Ints& index) {
    Ints target;
    for (std::size_t i = 0; i < index.size(); ++i) {
      const bool is_dropped =
          std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) != axes.end();
      if (!is_dropped) target.push_back(index[i]);
    }
    const std::size_t to = linear(target, sizes);
    const auto& element = x.elements[linear(index, x.sizes)];
    elements[to] =
        begun[to] ? shape_arithmetic(combine, dtype, dtype, {elements[to], element}) : element;
    begun[to] = true;
  });
  return elements;
}

ShapeElements elementwise(const Node& node, std::int64_t count,
                          const std::vector<Evaluated>& operands) {
  ShapeElements elements;
  const DType from = node.operands.back().dtype(), to = node.types[0].dtype;
  for (std::int64_t i = 0; i < count; ++i) {
    ShapeElements x;
    for (const Evaluated& operand : operands) x.push_back(operand.elements[at(i)]);
    elements.push_back(shape_arithmetic(node.op, from, to, x));
  }
  return elements;
}

std::optional<ShapeElements> of_node(const Node& node, const Ints& sizes,
                                     const std::vector<Evaluated>& operands) {
  switch (node.op) {
    case Op::Reshape:
    case Op::Identity:
    case Op::StopGradient:
    case Op::Require: return operands[0].elements;
    case Op::Permute:
    case Op::Broadcast:
    case Op::Slice:
    case Op::Reverse: return moved(node, sizes, operands[0]);
    case Op::Concat: return concatenated(at(node.as<ir::AxisAttrs>().axis), sizes, operands);
    case Op::Gather:
      return gathered(at(node.as<ir::AxisAttrs>().axis), sizes, operands[0], operands[1]);
    case Op::Sum:
    case Op::Prod:
    case Op::Max:
    case Op::Min: return reduced(node, sizes, operands[0]);
    default: break;
  }
  if (ir::def(node.op).lowering != ir::Lowering::Elementwise) return std::nullopt;
  return elementwise(node, count_of(sizes), operands);
}

std::optional<ShapeElements> of_leaf(const Node& node, const Ints& sizes) {
  if (node.op == Op::Constant) {
    return constant_elements(node.as<ir::ConstantAttrs>(), count_of(sizes));
  }
  if (node.op == Op::DimSize) {
    return ShapeElements{ShapeElement{.dim = node.as<ir::DimAttrs>().dim}};
  }
  if (node.op != Op::Iota || is_float(node.types[0].dtype)) return std::nullopt;
  ShapeElements elements;
  const std::size_t axis = at(node.as<ir::IotaAttrs>().axis);
  for_each_index(sizes,
                 [&](const Ints& index) { elements.push_back(ShapeElement{.dim = index[axis]}); });
  return elements;
}

}  // namespace

std::optional<ShapeElements> ShapeValues::elements(const Value& value) {
  const auto can_evaluate = [](const Value& x) {
    return x.node->types.size() == 1 && small_sizes(x.type());
  };
  if (!can_evaluate(value)) return std::nullopt;
  const auto stop = [&](const Value& x) {
    return known_.count(x.node.get()) != 0 || !can_evaluate(x);
  };
  for (const Node* node : ir::topological_order({&value, 1}, stop)) {
    const Ints sizes = *small_sizes(node->types[0]);
    std::vector<Evaluated> operands;
    for (const Value& operand : node->operands) {
      const auto found = known_.find(operand.node.get());
      if (found == known_.end() || !found->second) break;
      operands.push_back({*found->second, *small_sizes(operand.type())});
    }
    std::optional<ShapeElements> elements;
    if (assumptions_.count(node->result()) != 0) {
      elements = assumed(node->result());
    } else if (node->operands.empty()) {
      elements = of_leaf(*node, sizes);
    } else if (operands.size() == node->operands.size()) {
      elements = of_node(*node, sizes, operands);
    }
    known_.emplace(node, std::move(elements));
    kept_.push_back(node->result().node);
  }
  return known_.at(value.node.get());
}

void ShapeValues::assume(const Value& placeholder, const Value& constant) {
  assumptions_.emplace(placeholder, constant);
}

std::optional<ShapeElements> ShapeValues::assumed(const Value& placeholder) {
  used_assumptions_.push_back(placeholder);
  const Value& constant = assumptions_.at(placeholder);
  return constant_elements(constant.node->as<ir::ConstantAttrs>(),
                           count_of(*small_sizes(placeholder.type())));
}

std::optional<Dims> ShapeValues::dims(const Value& value) {
  if (is_float(value.dtype())) return std::nullopt;
  const auto all = elements(value);
  if (!all) return std::nullopt;
  Dims dims;
  for (const auto& element : *all) {
    if (!element) return std::nullopt;
    dims.push_back(element->dim);
  }
  return dims;
}

}  // namespace kiln
