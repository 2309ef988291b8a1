// Shape inference on integer tensors: scalars and vectors that are computed from constants and
// sizes are evaluated to dims, so that reshape(x, {shape(x)[0], -1}) keeps its symbols. Other sizes
// are data-dependent.
#include "core/ir/traverse.h"
#include "core/k/shape/data_dependent_impl.h"

#include <cstring>
#include <unordered_map>

namespace kiln {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Node;
using ir::Value;

/// The elements of an integer value as dims, in C order; nullopt if they are data-dependent.
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

Elements of_two(ir::Op op, const Dim& x, const Dim& y) {
  switch (op) {
    case ir::Op::Add: return Dims{x + y};
    case ir::Op::Sub: return Dims{x - y};
    case ir::Op::Mul: return Dims{x * y};
    case ir::Op::Maximum: return Dims{max(x, y)};
    case ir::Op::Minimum: return Dims{min(x, y)};
    case ir::Op::Div:
    case ir::Op::Mod:
      // Integers round toward zero, dims down: the same for x >= 0 and y > 0.
      if (!y.is_static() || y.value() <= 0 || less_equal(0, x) != ir::Ternary::Yes) break;
      return Dims{op == ir::Op::Div ? floor_div(x, y) : mod(x, y)};
    default: break;
  }
  return std::nullopt;
}

Elements of_arithmetic(ir::Op op, const Dims& x, const Dims& y) {
  if (x.size() != y.size() || x.empty()) return std::nullopt;
  Dims elements;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Elements one = of_two(op, x[i], y[i]);
    if (!one) return std::nullopt;
    elements.push_back(one->front());
  }
  return elements;
}

Elements of_slice(const ir::SliceAttrs& attrs, const Dims& x) {
  if (attrs.start.size() != 1 || !attrs.start[0].is_static() || !attrs.limit[0].is_static()) {
    return std::nullopt;
  }
  Dims elements;
  for (std::int64_t i = attrs.start[0].value(); i < attrs.limit[0].value(); i += attrs.step[0]) {
    elements.push_back(x[static_cast<std::size_t>(i)]);
  }
  return elements;
}

Elements of_broadcast(const Node& node, const Dims& x) {
  const Dim count = product(node.types[0].dims);
  if (x.size() != 1 || !count.is_static()) return std::nullopt;
  return Dims(static_cast<std::size_t>(count.value()), x.front());
}

Elements of_concat(const std::vector<const Dims*>& parts) {
  Dims elements;
  for (const Dims* part : parts) elements.insert(elements.end(), part->begin(), part->end());
  return elements;
}

Elements of_gather(const Dims& reference, const Dims& indices) {
  Dims elements;
  for (const Dim& index : indices) {
    if (!index.is_static() || index.value() < 0 ||
        index.value() >= static_cast<std::int64_t>(reference.size())) {
      return std::nullopt;
    }
    elements.push_back(reference[static_cast<std::size_t>(index.value())]);
  }
  return elements;
}

Elements of_sum(const Dims& x) {
  Dim sum = 0;
  for (const Dim& dim : x) sum = sum + dim;
  return Dims{sum};
}

/// The elements of an integer node, from those of its operands.
Elements of_node(const Node& node, const std::vector<const Dims*>& x) {
  // Movement is evaluated for vectors only.
  const bool is_vector = node.operands[0].rank() == 1;
  switch (node.op) {
    case ir::Op::Cast:
      return dtype_bytes(node.types[0].dtype) >= 4 ? Elements(*x[0]) : std::nullopt;
    case ir::Op::Reshape:
    case ir::Op::Identity:
    case ir::Op::StopGradient: return *x[0];
    case ir::Op::Broadcast: return of_broadcast(node, *x[0]);
    case ir::Op::Slice: return of_slice(node.as<ir::SliceAttrs>(), *x[0]);
    case ir::Op::Concat: return is_vector ? of_concat(x) : std::nullopt;
    case ir::Op::Reverse:
      return is_vector ? Elements({x[0]->rbegin(), x[0]->rend()}) : std::nullopt;
    case ir::Op::Gather: return is_vector ? of_gather(*x[0], *x[1]) : std::nullopt;
    case ir::Op::Prod: return is_vector ? Elements({product(*x[0])}) : std::nullopt;
    case ir::Op::Sum: return is_vector ? of_sum(*x[0]) : std::nullopt;
    case ir::Op::Neg: return of_arithmetic(ir::Op::Sub, Dims(x[0]->size(), 0), *x[0]);
    default: return x.size() == 2 ? of_arithmetic(node.op, *x[0], *x[1]) : std::nullopt;
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
      const bool is_whole = node->types.size() == 1 && is_integer(node->types[0].dtype);
      if (is_whole && !operands.empty() && operands.size() == node->operands.size()) {
        elements = of_node(*node, operands);
      }
    }
    if (!elements) return std::nullopt;  // then the value is data-dependent, too
    known.emplace(node, std::move(*elements));
  }
  return known.at(value.node.get());
}

}  // namespace

std::optional<Dim> dim_of(const Value& scalar) {
  const Elements elements = evaluate(scalar);
  return elements && elements->size() == 1 ? std::optional(elements->front()) : std::nullopt;
}

Dims dims_of(const Shape& shape, const char* argument) {
  for (std::size_t i = 0; !shape.is_tensor() && i < shape.entries().size(); ++i) {
    if (!shape.entries()[i].is_none()) continue;
    Call::value_error(argument, text(argument, "[", i, "] is None; a size is needed"));
  }
  const std::vector<Value> scalars = integers_in(shape, argument);
  Dims dims;
  bool is_known = true;
  for (const Value& scalar : scalars) {
    const auto dim = dim_of(scalar);
    if (dim && less_equal(0, *dim) == ir::Ternary::No) {
      Call::value_error(argument, text(argument, "[", dims.size(), "] is ", *dim));
    }
    is_known = is_known && dim;
    dims.push_back(dim.value_or(-1));
  }
  if (is_known) return dims;
  const Dims data = data_dependent_dims("sizes", argument, {vector_of(scalars)}, scalars.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == Dim(-1)) dims[i] = data[i];
  }
  return dims;
}

}  // namespace kiln
