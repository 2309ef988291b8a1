// Tensor, Call, and the conversion of axes and dtypes.
#include "core/k/base/context_impl.h"
#include "core/k/base/tensor_impl.h"
#include "core/types/text.h"

#include <kiln/context.h>

#include <algorithm>
#include <ostream>

namespace kiln {

bool Tensor::empty() const { return !sparse_of(*this) && !dense_value_of(*this); }

std::string Tensor::name() const { return impl_ ? impl_->name : std::string(); }

Tensor Tensor::operator[](Index index) const {
  return api_call("operator[]", index.where(), [&] {
    const std::int64_t i = index.position();
    const ir::Value x = value_of(*this, "x");
    if (x.rank() == 0) Call::value_error("x", text("x is a scalar (x ", x.type(), ")"));
    const ir::Dim& size = x.dims()[0];
    const ir::Dim start = i < 0 ? size + i : ir::Dim(i);
    const bool is_past_end = less_equal(size, start) == ir::Ternary::Yes;
    if (is_past_end || less_equal(0, start) == ir::Ternary::No) {
      Call::value_error("i", text("index ", i, " is out of range (x ", x.type(), ")"));
    }
    const ir::Value one = ir::slice_axis(x, 0, start, start + 1);
    return wrap(ir::reshape(one, {x.dims().begin() + 1, x.dims().end()}));
  });
}

Tensor Tensor::slice(std::optional<WholeNumber> start, std::optional<WholeNumber> stop,
                     Where where) const {
  return api_call("slice", where, [&] {
    const ir::Value x = value_of(*this, "x");
    if (x.rank() == 0) Call::value_error("x", text("x is a scalar (x ", x.type(), ")"));
    const ir::Dim& size = x.dims()[0];
    const auto bound = [&](std::int64_t i) {
      return i < 0 ? max(size + i, 0) : min(ir::Dim(i), size);
    };
    const ir::Dim first = start ? bound(*start) : ir::Dim(0);
    const ir::Dim last = stop ? bound(*stop) : size;
    return wrap(ir::slice_axis(x, 0, first, max(first, last)));
  });
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return translate_exceptions("operator<<", {}, [&]() -> std::ostream& {
    if (tensor.empty()) return out << "(empty)";
    const ir::Type type = type_of(tensor);
    const std::string name = tensor.name();
    out << name << (name.empty() ? "" : " ") << (sparse_of(tensor) ? "sparse " : "");
    out << type.dtype << '[';
    for (std::size_t i = 0; i < type.dims.size(); ++i) {
      if (i != 0) out << ',';
      if (type.dims[i].is_static()) {
        out << text(type.dims[i].value());
      } else {
        out << "None";
      }
    }
    return out << ']';
  });
}

bool same_node(const Tensor& x, const Tensor& y) {
  if (x.empty() || y.empty()) return x.empty() && y.empty();
  const SparseParts *a = sparse_of(x), *b = sparse_of(y);
  if (a || b) return a && b && a->indices == b->indices && a->values == b->values;
  return *dense_value_of(x) == *dense_value_of(y);
}

const SparseParts* sparse_of(const Tensor& tensor) {
  return tensor.impl() ? std::get_if<SparseParts>(&tensor.impl()->content) : nullptr;
}

const ir::Value* dense_value_of(const Tensor& tensor) {
  const auto* value = tensor.impl() ? std::get_if<ir::Value>(&tensor.impl()->content) : nullptr;
  return value != nullptr && *value ? value : nullptr;
}

ir::Type type_of(const Tensor& x) {
  const SparseParts* parts = sparse_of(x);
  return parts ? parts->type() : value_of(x, "x").type();
}

Tensor wrap(const ir::Value& value, std::string name) {
  return Tensor(
      std::make_shared<const TensorImpl>(TensorImpl{.content = value, .name = scoped_name(name)}));
}

std::string Call::function() { return ir::current_origin().function; }
Where Call::where() { return ir::current_origin().where; }

void Call::value_error(const char* argument, const std::string& message) {
  throw ValueError(function(), argument, message, where());
}

void Call::type_error(const char* argument, const std::string& message) {
  throw TypeError(function(), argument, message, where());
}

void Call::not_implemented(const char* argument, const std::string& message) {
  throw NotImplementedError(function(), argument, message, where());
}

void Call::out_of_memory(const char* function, Where where) {
  const ir::Origin outer = ir::current_origin();
  const bool is_outermost = *outer.function == '\0';
  try {
    throw OutOfMemory(is_outermost ? function : outer.function, "", "no memory",
                      is_outermost ? where : outer.where);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("", "", "no memory");  // short strings do not allocate
  }
}

ir::Value value_of(const Tensor& tensor, const char* argument) {
  if (const ir::Value* value = dense_value_of(tensor)) return *value;
  if (sparse_of(tensor)) {
    Call::type_error(argument, text(argument, " is sparse; to_dense makes it dense (", argument,
                                    " ", type_of(tensor), ")"));
  }
  const auto* missing =
      tensor.impl() ? std::get_if<MissingGradient>(&tensor.impl()->content) : nullptr;
  if (missing) Call::value_error(argument, text(argument, " is empty: ", missing->reason));
  Call::value_error(argument, text(argument, " is an empty tensor"));
}

ir::Value value_of(const std::vector<Tensor>& tensors, std::size_t i, const char* argument) {
  return value_of(tensors[i], text(argument, "[", i, "]").c_str());
}

DType floatx_dtype() { return *dtype_of_name(floatx()); }

DType dtype_of(const DTypeArgument& argument, DType fallback) {
  if (!argument.is_set()) return fallback;
  if (const auto dtype = dtype_of_name(argument.name())) return *dtype;
  Call::type_error("dtype", text("dtype '", argument.name(), "' is not known"));
}

DType dtype_of(const DTypeArgument& argument) {
  return dtype_of(argument, argument.is_set() ? DType::Float32 : floatx_dtype());
}

int axis_of(std::int64_t axis, int rank, const char* argument) {
  if (axis >= -rank && axis < rank) return static_cast<int>(axis < 0 ? axis + rank : axis);
  Call::value_error(argument, text(argument, " ", axis, " is out of range for rank ", rank));
}

ir::Ints axes_of(const Axes& axes, int rank, const char* argument) {
  ir::Ints result;
  if (!axes.is_set()) {
    for (int axis = 0; axis < rank; ++axis) result.push_back(axis);
    return result;
  }
  for (std::int64_t axis : axes.axes()) result.push_back(axis_of(axis, rank, argument));
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) {
    Call::value_error(argument, text(argument, " (", join_text(axes.axes()), ") repeats an axis"));
  }
  return result;
}

}  // namespace kiln
