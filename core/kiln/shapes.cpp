// Shapes as tensors: integer scalars and vectors that are computed from constants and sizes are
// evaluated back to dims, so that reshape(x, {shape(x)[0], -1}) keeps its symbols.
#include "core/kiln/tensor_impl.h"
#include "core/ir/traverse.h"

#include <cstring>
#include <unordered_map>

namespace kiln {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Node;
using ir::Value;

/// The elements of an integer value, in C order; nothing when they are not dims.
using Elements = std::optional<Dims>;

template <class Integer>
Elements read_integers(const ir::ConstantAttrs& attrs, std::int64_t count) {
  Dims elements;
  for (std::int64_t i = 0; i < count; ++i) {
    Integer value = 0;
    std::memcpy(&value, attrs.data.bytes->data() + static_cast<std::size_t>(i) * sizeof value,
                sizeof value);
    elements.push_back(static_cast<std::int64_t>(value));
  }
  return elements;
}

Elements of_constant(const ir::ConstantAttrs& attrs) {
  const Dim count = product(attrs.type.dims);
  if (count.value() > 64) return std::nullopt;
  if (attrs.type.dtype == DType::Int64) return read_integers<std::int64_t>(attrs, count.value());
  if (attrs.type.dtype == DType::Int32) return read_integers<std::int32_t>(attrs, count.value());
  return std::nullopt;
}

Elements of_arithmetic(ir::Op op, const Dims& x, const Dims& y) {
  Dims elements;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (op == ir::Op::Add) elements.push_back(x[i] + y[i]);
    else if (op == ir::Op::Sub) elements.push_back(x[i] - y[i]);
    else if (op == ir::Op::Mul) elements.push_back(x[i] * y[i]);
    else if (op == ir::Op::Maximum) elements.push_back(max(x[i], y[i]));
    else if (op == ir::Op::Minimum) elements.push_back(min(x[i], y[i]));
    else if (op == ir::Op::Div && y[i].is_static() && y[i].value() > 0 &&
             less_equal(0, x[i]) == ir::Answer::Yes) elements.push_back(floor_div(x[i], y[i]));
    else return std::nullopt;
  }
  return elements;
}

Elements of_node(const Node& node, const std::vector<const Dims*>& x) {
  switch (node.op) {
    case ir::Op::Cast:
      return is_integer(node.types[0].dtype) && dtype_bytes(node.types[0].dtype) >= 4
                 ? Elements(*x[0]) : std::nullopt;
    case ir::Op::Reshape:
    case ir::Op::Identity:
    case ir::Op::StopGradient:
      return *x[0];
    case ir::Op::Broadcast:
      if (x[0]->size() != 1 || !product(node.types[0].dims).is_static()) return std::nullopt;
      return Dims(static_cast<std::size_t>(product(node.types[0].dims).value()), x[0]->front());
    case ir::Op::Slice: {
      const auto& attrs = node.as<ir::SliceAttrs>();
      if (attrs.start.size() != 1 || !attrs.start[0].is_static() || !attrs.limit[0].is_static()) {
        return std::nullopt;
      }
      Dims elements;
      for (std::int64_t i = attrs.start[0].value(); i < attrs.limit[0].value();
           i += attrs.step[0]) {
        elements.push_back((*x[0])[static_cast<std::size_t>(i)]);
      }
      return elements;
    }
    case ir::Op::Concat: {
      if (node.types[0].rank() != 1) return std::nullopt;
      Dims elements;
      for (const Dims* part : x) elements.insert(elements.end(), part->begin(), part->end());
      return elements;
    }
    case ir::Op::Prod: {
      if (node.operands[0].rank() != 1) return std::nullopt;
      return Dims{product(*x[0])};
    }
    default:
      return node.operands.size() == 2 ? of_arithmetic(node.op, *x[0], *x[1]) : std::nullopt;
  }
}

Elements evaluate(const Value& value) {
  if (!is_integer(value.dtype())) return std::nullopt;
  std::unordered_map<const Node*, Dims> known;
  for (const Node* node : ir::topological_order({&value, 1})) {
    Elements elements;
    if (node->op == ir::Op::Constant) {
      elements = of_constant(node->as<ir::ConstantAttrs>());
    } else if (node->op == ir::Op::DimSize) {
      elements = Dims{node->as<ir::DimAttrs>().dim};
    } else {
      std::vector<const Dims*> operands;
      for (const Value& operand : node->operands) {
        const auto found = known.find(operand.node.get());
        if (found != known.end()) operands.push_back(&found->second);
      }
      if (!operands.empty() && operands.size() == node->operands.size()) {
        elements = of_node(*node, operands);
      }
    }
    if (!elements) return std::nullopt;  // everything upstream of a shape has to be one
    known.emplace(node, std::move(*elements));
  }
  return known.at(value.node.get());
}

Dim entry_dim(const ShapeEntry& entry, std::size_t i, const char* argument) {
  if (entry.is_none()) {
    Call::value_error(argument, text(argument, "[", i, "] is None; a size is needed"));
  }
  if (!entry.is_tensor()) return entry.size();
  const auto dim = dim_of(value_of(entry.tensor(), argument));
  if (!dim) {
    Call::value_error(argument, text(argument, "[", i, "] is a tensor that is not computed from "
                                     "shapes (", entry.tensor(), ")"));
  }
  return *dim;
}

}  // namespace

std::optional<Dim> dim_of(const Value& scalar) {
  const Elements elements = evaluate(scalar);
  return elements && elements->size() == 1 ? std::optional(elements->front()) : std::nullopt;
}

std::optional<Dims> dims_of_vector(const Value& vector) {
  return vector.rank() == 1 ? evaluate(vector) : std::nullopt;
}

Dims dims_of(const Shape& shape, const char* argument) {
  if (!shape.is_tensor()) {
    Dims dims;
    for (const ShapeEntry& entry : shape.entries()) {
      dims.push_back(entry_dim(entry, dims.size(), argument));
    }
    return dims;
  }
  const auto dims = dims_of_vector(value_of(shape.tensor(), argument));
  if (!dims) {
    Call::value_error(argument, text(argument, " is a tensor that is not computed from shapes (",
                                     shape.tensor(), ")"));
  }
  return *dims;
}

}  // namespace kiln
