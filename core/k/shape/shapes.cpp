// Shape arguments: their entries as dims, symbolic or data-dependent.
#include "core/k/shape/data_dependent_impl.h"
#include "core/k/shape/shape_values.h"

namespace kiln {

using ir::Dim;
using ir::Dims;
using ir::Value;

std::optional<Dim> dim_of(const Value& scalar) {
  const auto dims = ShapeValues().dims(scalar);
  return dims && dims->size() == 1 ? std::optional(dims->front()) : std::nullopt;
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
