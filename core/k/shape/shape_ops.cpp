// Shape operations: compute the dims of the result, then build movement nodes.
#include <kiln/shape_ops.h>

#include "core/k/base/sparse_impl.h"
#include "core/k/math/formulas_impl.h"
#include "core/k/shape/data_dependent_impl.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Value;

/// The dims of a target shape with data-dependent entries, which are -1 in `dims`.
Dims data_dependent_target(const Value& x, const std::vector<Value>& scalars, Dims dims) {
  const Value count = ir::dim_size(product(x.dims()));
  const Dims data =
      data_dependent_dims("reshape_sizes", "shape", {vector_of(scalars), count}, scalars.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == Dim(-1)) dims[i] = data[i];
  }
  return dims;
}

/// The dims of a target shape; one entry may be -1, whose size is inferred.
Dims target_dims(const Value& x, const Shape& shape) {
  for (std::size_t i = 0; !shape.is_tensor() && i < shape.entries().size(); ++i) {
    if (!shape.entries()[i].is_none()) continue;
    Call::value_error("shape", "shape holds None; use -1 for an inferred size");
  }
  const std::vector<Value> scalars = integers_in(shape, "shape");
  Dims dims;
  bool is_known = true;
  for (const Value& scalar : scalars) {
    const auto dim = dim_of(scalar);
    is_known = is_known && dim;
    dims.push_back(dim.value_or(-1));
  }
  if (!is_known) return data_dependent_target(x, scalars, dims);
  const auto is_inferred = [](const Dim& dim) { return dim.is_static() && dim.value() == -1; };
  const auto inferred = std::find_if(dims.begin(), dims.end(), is_inferred);
  if (inferred == dims.end()) return dims;
  if (std::count_if(dims.begin(), dims.end(), is_inferred) > 1) {
    Call::value_error("shape", text("shape has more than one -1: ", to_string(dims)));
  }
  const Dims given = dims;
  *inferred = 1;
  const Dim count = product(x.dims()), rest = product(dims);
  if (rest.is_static() && rest.value() == 0) {
    Call::value_error("shape",
                      text("a size of -1 is ambiguous if another size is 0 (x ", x.type(), ")"));
  }
  if (equal(mod(count, rest), 0) == ir::Ternary::No) {
    Call::value_error("shape",
                      text("cannot reshape to ", to_string(given), ": ", count,
                           " elements are not a multiple of ", rest, " (x ", x.type(), ")"));
  }
  *inferred = floor_div(count, rest);
  return dims;
}

bool may_be_equal(const Dims& x, const Dims& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const Dim& a, const Dim& b) { return equal(a, b) != ir::Ternary::No; });
}

Value tiled(const Value& x, int axis, const Dim& count) {
  if (count.is_one()) return x;
  Dims repeated = x.dims(), merged = x.dims();
  repeated.insert(repeated.begin() + axis, count);
  merged[axis] = merged[axis] * count;
  ir::Ints axes;
  for (int i = 0; i < x.rank(); ++i) axes.push_back(i < axis ? i : i + 1);
  return ir::reshape(ir::broadcast(x, repeated, axes), merged);
}

void require_count(std::int64_t count, const char* argument) {
  if (count < 0) Call::value_error(argument, text(argument, " is ", count));
}

}  // namespace

Tensor reshape(const Operand& x, const Shape& shape) {
  return api_call("reshape", x.where(), [&] {
    const Value value = input_of(x);
    return wrap(ir::reshape(value, target_dims(value, shape)));
  });
}

Tensor permute_dimensions(const Operand& x, const std::vector<std::int64_t>& pattern) {
  return api_call("permute_dimensions", x.where(), [&] {
    const Value value = input_of(x);
    ir::Ints axes;
    for (std::int64_t axis : pattern) axes.push_back(axis_of(axis, value.rank(), "pattern"));
    ir::Ints sorted = axes;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != ir::all_axes(value)) {
      Call::value_error(
          "pattern", text("pattern (", join_text(pattern), ") is not a permutation of the axes (x ",
                          value.type(), ")"));
    }
    return wrap(ir::permute(value, axes));
  });
}

Tensor concatenate(const std::vector<Tensor>& tensors, const ConcatenateOptions& options,
                   Where where) {
  return api_call("concatenate", where, [&] {
    if (tensors.empty()) Call::value_error("tensors", "tensors is empty");
    std::vector<const SparseParts*> sparse;
    for (const Tensor& tensor : tensors) {
      if (sparse_of(tensor)) sparse.push_back(sparse_of(tensor));
    }
    if (sparse.size() == tensors.size()) {
      return wrap_sparse(sparse_concatenate(sparse, axis_of(options.axis, 2)));
    }
    std::vector<Value> parts;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const SparseParts* one = sparse_of(tensors[i]);
      parts.push_back(one ? dense_of(*one) : value_of(tensors, i, "tensors"));
    }
    const int axis = axis_of(options.axis, parts[0].rank());
    for (const Value& part : parts) {
      const auto both = [&] { return text("(", parts[0].type(), ", ", part.type(), ")"); };
      if (part.dtype() != parts[0].dtype()) {
        Call::type_error("tensors", text("tensors have different dtypes ", both()));
      }
      if (part.rank() != parts[0].rank()) {
        Call::value_error("tensors", text("tensors have different ranks ", both()));
      }
      for (int i = 0; i < part.rank(); ++i) {
        if (i == axis || equal(part.dims()[i], parts[0].dims()[i]) != ir::Ternary::No) continue;
        Call::value_error("tensors", text("tensors differ on axis ", i,
                                          ", along which they are not concatenated ", both()));
      }
    }
    return wrap(ir::concat(std::move(parts), axis));
  });
}

Tensor stack(const std::vector<Tensor>& x, const StackOptions& options, Where where) {
  return api_call("stack", where, [&] {
    if (x.empty()) Call::value_error("x", "x is empty");
    const Value first = value_of(x, 0, "x");
    const int axis = axis_of(options.axis, first.rank() + 1);
    std::vector<Tensor> parts;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Value part = value_of(x, i, "x");
      const auto differ = [&](const char* in) {
        return text("x[0] and x[", i, "] have different ", in, " (x[0] ", first.type(), ", x[", i,
                    "] ", part.type(), ")");
      };
      if (part.dtype() != first.dtype()) Call::type_error("x", differ("dtypes"));
      if (!may_be_equal(part.dims(), first.dims())) Call::value_error("x", differ("shapes"));
      parts.push_back(expand_dims(Operand(x[i], where), {.axis = axis}));
    }
    return concatenate(parts, {.axis = axis}, where);
  });
}

Tensor expand_dims(const Operand& x, const ExpandDimsOptions& options) {
  return api_call("expand_dims", x.where(), [&] {
    const Value value = input_of(x);
    Dims dims = value.dims();
    dims.insert(dims.begin() + axis_of(options.axis, value.rank() + 1), 1);
    return wrap(ir::reshape(value, dims));
  });
}

Tensor squeeze(const Operand& x, WholeNumber axis) {
  return api_call("squeeze", x.where(), [&] {
    const Value value = input_of(x);
    const int index = axis_of(axis, value.rank());
    if (equal(value.dims()[at(index)], 1) == ir::Ternary::No) {
      Call::value_error("axis", text("axis ", axis, " has size ", value.dims()[at(index)],
                                     ", not 1 (x ", value.type(), ")"));
    }
    Dims dims = value.dims();
    dims[at(index)] = 1;
    const Value checked = ir::with_dims(value, dims);
    dims.erase(dims.begin() + index);
    return wrap(ir::reshape(checked, dims));
  });
}

Tensor flatten(const Operand& x) {
  return api_call("flatten", x.where(), [&] {
    const Value value = input_of(x);
    return wrap(ir::reshape(value, {product(value.dims())}));
  });
}

Tensor batch_flatten(const Operand& x) {
  return api_call("batch_flatten", x.where(), [&] {
    const Value value = input_of(x);
    if (value.rank() == 0) Call::value_error("x", text("x is a scalar (x ", value.type(), ")"));
    const Dims rest(value.dims().begin() + 1, value.dims().end());
    return wrap(ir::reshape(value, {value.dims()[0], product(rest)}));
  });
}

Tensor repeat_elements(const Operand& x, WholeNumber rep, WholeNumber axis) {
  return api_call("repeat_elements", x.where(), [&] {
    const Value value = input_of(x);
    require_count(rep, "rep");
    return wrap(repeated_along(value, axis_of(axis, value.rank()), std::int64_t{rep}));
  });
}

Tensor repeat(const Operand& x, WholeNumber n) {
  return api_call("repeat", x.where(), [&] {
    const Value value = input_of(x);
    if (value.rank() != 2) {
      Call::value_error("x", text("x has rank ", value.rank(), ", not 2 (x ", value.type(), ")"));
    }
    require_count(n, "n");
    return wrap(ir::broadcast(value, {value.dims()[0], std::int64_t{n}, value.dims()[1]}, {0, 2}));
  });
}

Tensor tile(const Operand& x, const Shape& n) {
  return api_call("tile", x.where(), [&] {
    Value value = input_of(x);
    const bool is_scalar = n.is_tensor() && value_of(n.tensor(), "n").rank() == 0;
    const Dims counts = dims_of(is_scalar ? Shape{n.tensor()} : n, "n");
    const auto rank = static_cast<std::size_t>(value.rank());
    if (counts.size() > rank) {
      Call::not_implemented("n", text("n (", join_text(counts),
                                      ") has more entries than x has axes (x ", value.type(), ")"));
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
      value = tiled(value, static_cast<int>(rank - counts.size() + i), counts[i]);
    }
    return wrap(value);
  });
}

Tensor tile(const Operand& x, WholeNumber n) {
  return api_call("tile", x.where(), [&] {
    require_count(n, "n");
    return tile(x, Shape{std::int64_t{n}});
  });
}

Tensor one_hot(const Operand& indices, WholeNumber num_classes) {
  return api_call("one_hot", indices.where(), [&] {
    const Value value = value_of(indices, DType::Int64, "indices", "");
    if (!is_integer(value.dtype())) {
      Call::type_error("indices", text("indices are not integers (indices ", value.type(), ")"));
    }
    require_count(num_classes, "num_classes");
    Dims dims = value.dims();
    dims.push_back(std::int64_t{num_classes});
    // Compared as int64: in a narrow dtype, class numbers could wrap.
    const Value wide = ir::cast(value, DType::Int64);
    const Value classes = ir::iota({DType::Int64, dims}, value.rank());
    const Value hot = ir::equal_to(ir::broadcast(wide, dims, ir::all_axes(value)), classes);
    return wrap(ir::cast(hot, floatx_dtype()));
  });
}

Tensor size(const Operand& x, const NameOptions& options) {
  return api_call("size", x.where(),
                  [&] { return wrap(ir::dim_size(product(input_of(x).dims())), options.name); });
}

Tensor pattern_broadcast(const Operand& x, const std::vector<bool>& broadcastable) {
  return api_call("pattern_broadcast", x.where(), [&] {
    const Value value = input_of(x);
    if (broadcastable.size() != value.dims().size()) {
      Call::value_error("broadcastable",
                        text("broadcastable has ", broadcastable.size(), " entries for the ",
                             value.rank(), " axes of x (x ", value.type(), ")"));
    }
    Dims dims = value.dims();
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (!broadcastable[i]) continue;
      if (equal(dims[i], 1) == ir::Ternary::No) {
        Call::value_error("broadcastable", text("axis ", i, " has size ", dims[i], ", not 1 (x ",
                                                value.type(), ")"));
      }
      dims[i] = 1;
    }
    return wrap(ir::with_dims(value, dims));
  });
}

Tensor reverse(const Operand& x, const Axes& axes) {
  return api_call("reverse", x.where(), [&] {
    const Value value = input_of(x);
    return wrap(ir::reverse(value, axes_of(axes, value.rank(), "axes")));
  });
}

}  // namespace kiln
