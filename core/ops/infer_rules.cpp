// Type rules that several ops share; errors name the types of all operands.
#include "core/ops/infer_rules.h"

#include "core/types/text.h"

namespace kiln::ir {

void require_same_types(Inference& in, std::size_t from) {
  const Type& first = in.type(from);
  for (std::size_t i = from + 1; i < in.count(); ++i) {
    const Type& other = in.type(i);
    if (other.dtype != first.dtype) {
      in.type_error(text("operands have different dtypes ", first.dtype, " and ", other.dtype));
    }
    if (other.rank() != first.rank()) {
      in.value_error(text("operands have different ranks ", first.rank(), " and ", other.rank()));
    }
    for (std::size_t axis = 0; axis < first.dims.size(); ++axis) {
      in.require_equal(first.dims[axis], other.dims[axis], "sizes ", first.dims[axis], " and ",
                       other.dims[axis], " of axis ", axis, " differ");
    }
  }
}

std::vector<Type> same_type(Inference& in) {
  require_same_types(in);
  return {in.type(0)};
}

std::vector<Type> comparison(Inference& in) {
  require_same_types(in);
  return {{DType::Bool, in.type(0).dims}};
}

void require_axis(Inference& in, std::int64_t axis, int rank) {
  if (axis >= 0 && axis < rank) return;
  in.value_error(text("axis ", axis, " is out of range for rank ", rank));
}

}  // namespace kiln::ir
