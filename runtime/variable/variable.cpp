// Creates, reads and sets variables.
#include <kiln/variable.h>

#include "core/k/base/context_impl.h"
#include "core/k/base/sparse_impl.h"
#include "core/ops/convert.h"
#include "core/types/at_line.h"
#include "runtime/array/array_memory.h"
#include "runtime/array/host_values.h"
#include "runtime/variable/make_variable.h"
#include "runtime/variable/random_values.h"
#include "runtime/variable/variable_state.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>

namespace kiln {
namespace {

using runtime::make_variable, runtime::VariableStorage;

ir::Type type_of(const Array& value) {
  return {value.dtype(), ir::Dims(value.dims().begin(), value.dims().end())};
}

VariableStorage& storage(const Tensor& x, const std::string& argument) {
  const ir::Value value = value_of(x, argument.c_str());
  if (value.node->op != ir::Op::Variable) {
    Call::type_error(argument.c_str(),
                     text(argument, " is not a variable (", argument, " ", x, ")"));
  }
  return runtime::storage_of(value);
}

/// Returns the static sizes of a shape argument. ValueError for a symbolic size.
std::vector<std::int64_t> sizes_of(const Shape& shape) {
  std::vector<std::int64_t> sizes;
  for (const ir::Dim& dim : dims_of(shape)) {
    if (!dim.is_static()) Call::value_error("shape", text("shape has the unknown size ", dim));
    sizes.push_back(dim.value());
  }
  if (sizes.size() > Array::kMaxRank) {
    Call::value_error("shape", text("rank ", sizes.size(), " exceeds ", Array::kMaxRank));
  }
  return sizes;
}

bool is_symbolic(const Shape& shape) {
  if (shape.is_tensor()) return true;
  for (const ShapeEntry& entry : shape.entries()) {
    if (entry.is_tensor()) return true;
  }
  return false;
}

Tensor filled(const char* function, const Shape& shape, double value, const CreateOptions& options,
              Where where) {
  return api_call(function, where, [&]() -> Tensor {
    const DType dtype = dtype_of(options.dtype);
    if (is_symbolic(shape)) return wrap(ir::full(dtype, dims_of(shape), value), options.name);
    return make_variable(at_line(where, [&] { return Array::full(sizes_of(shape), value, dtype); }),
                         scoped_name(options.name));
  });
}

/// Casts `value` to `dtype`. ValueError naming argument, index and value where an integer dtype
/// cannot represent an element.
Array cast_argument(const Array& value, DType dtype, const std::string& argument) {
  return runtime::cast_host_value(value, dtype,
                                  [&](const runtime::UnrepresentableElement& element) {
                                    Call::value_error(argument.c_str(), element.describe(argument));
                                  });
}

/// Casts `value` to the type of a variable. ValueError for another shape.
Array fitted(const ir::Type& type, const Array& value, const std::string& argument = "value") {
  std::vector<std::int64_t> dims;
  for (const ir::Dim& dim : type.dims) dims.push_back(dim.value());
  if (dims == value.dims()) return cast_argument(value, type.dtype, argument);
  Call::value_error(argument.c_str(), text(argument, " has shape [", join_text(value.dims(), ","),
                                           "] but the variable is ", type));
}

/// Fills an array of the variable's shape with a scalar.
Array filled_from(const ir::Type& type, const Array& scalar, const std::string& argument) {
  std::vector<std::int64_t> dims;
  for (const ir::Dim& dim : type.dims) dims.push_back(dim.value());
  const Array one = cast_argument(scalar, type.dtype, argument);
  Array all = runtime::uninitialised_array(dims, type.dtype);
  runtime::repeat_element(static_cast<const std::byte*>(one.data()), one.bytes(),
                          static_cast<std::byte*>(runtime::fill_address(all)), all.size());
  return all;
}

/// Returns a variable that `fill` gives its values from a seed.
template <class Fill>
Variable random_variable(const Shape& shape, const RandomVariableOptions& options,
                         const Fill& fill) {
  const DType dtype = dtype_of(options.dtype);
  if (!is_float(dtype)) Call::type_error("dtype", text("dtype ", dtype, " is not floating point"));
  const std::uint64_t seed =
      options.seed ? static_cast<std::uint64_t>(std::int64_t{*options.seed}) : next_seed();
  Array value =
      at_line(Call::where(), [&] { return runtime::uninitialised_array(sizes_of(shape), dtype); });
  fill(value, seed);
  return make_variable(std::move(value), scoped_name(options.name));
}

}  // namespace

Variable runtime::make_variable(Array value, const std::string& full_name, Constraint constraint) {
  static std::atomic<std::int64_t> next{1};
  ir::VariableAttrs attrs;
  attrs.id = next.fetch_add(1, std::memory_order_relaxed);
  attrs.type = type_of(value);
  attrs.name = full_name;
  attrs.state.state = std::make_shared<VariableStorage>(attrs.id, full_name, std::move(value),
                                                        std::move(constraint));
  TensorImpl impl{.content = ir::make(ir::Op::Variable, std::move(attrs), {}), .name = full_name};
  return Variable(Tensor(std::make_shared<const TensorImpl>(std::move(impl))));
}

Variable::Variable(const Tensor& tensor, Where where) try : Tensor(tensor) {
  const Call call("Variable", where);
  storage(tensor, "tensor");
} catch (const std::bad_alloc&) {
  Call::out_of_memory("Variable", where);
}

const Constraint& Variable::constraint(Where where) const& {
  const Call call("constraint", where);
  return storage(*this, "variable").constraint;
}

Variable variable(const Array& value, const VariableOptions& options, Where where) {
  return api_call("variable", where, [&] {
    const DType dtype = dtype_of(options.dtype);
    Variable made = make_variable(cast_argument(value, dtype, "value"), scoped_name(options.name),
                                  options.constraint);
    if (options.per_rank) storage(made, "value").set_per_rank();
    return made;
  });
}

Tensor variable(const SparseArray& value, const VariableOptions& options, Where where) {
  return api_call("variable", where, [&] {
    const DType dtype = dtype_of(options.dtype);
    SparseParts parts;
    parts.indices = value_of(constant(value.indices(), {.dtype = "int64"}, where), "value");
    parts.values = value_of(
        constant(value.values(), {.dtype = std::string(dtype_name(dtype))}, where), "value");
    parts.dims = {value.dims()[0], value.dims()[1]};
    return wrap_sparse(std::move(parts), options.name);
  });
}

Tensor constant(const Array& value, const ConstantOptions& options, Where where) {
  return api_call("constant", where, [&] {
    const DType dtype = dtype_of(options.dtype);
    Array converted = cast_argument(value, dtype, "value");
    if (options.shape.is_set()) {
      const std::vector<std::int64_t> sizes = sizes_of(options.shape);
      const std::int64_t count = product(ir::Dims(sizes.begin(), sizes.end())).value();
      if (converted.size() == 1 && count != 1) {
        ir::Type scalar{dtype, {}};
        const auto* bytes = static_cast<const std::byte*>(std::as_const(converted).data());
        const ir::Value one = ir::constant(scalar, {bytes, bytes + converted.bytes()});
        return wrap(ir::broadcast_to(one, ir::Dims(sizes.begin(), sizes.end())), options.name);
      }
      if (converted.size() != count) {
        Call::value_error("shape", text("shape [", join_text(sizes, ","), "] has ", count,
                                        " elements but value has ", converted.size()));
      }
      converted = converted.reshape(sizes);
    }
    const auto* bytes = static_cast<const std::byte*>(std::as_const(converted).data());
    return wrap(ir::constant(type_of(converted), {bytes, bytes + converted.bytes()}), options.name);
  });
}

Tensor zeros(const Shape& shape, const CreateOptions& options, Where where) {
  return translate_exceptions("zeros", where,
                              [&] { return filled("zeros", shape, 0, options, where); });
}

Tensor ones(const Shape& shape, const CreateOptions& options, Where where) {
  return translate_exceptions("ones", where,
                              [&] { return filled("ones", shape, 1, options, where); });
}

Variable eye(WholeNumber size, const CreateOptions& options, Where where) {
  return translate_exceptions("eye", where, [&] { return eye({size, size}, options, where); });
}

Variable eye(std::pair<WholeNumber, WholeNumber> size, const CreateOptions& options, Where where) {
  return api_call("eye", where, [&] {
    const DType dtype = dtype_of(options.dtype);
    const std::int64_t rows = size.first, columns = size.second;
    if (rows < 0 || columns < 0) {
      Call::value_error("size", text("size [", rows, ",", columns, "] is negative"));
    }
    Array value = at_line(where, [&] { return Array::zeros({rows, columns}, DType::Float64); });
    const auto elements = value.as<double>();
    for (std::int64_t i = 0; i < std::min(rows, columns); ++i) {
      elements[static_cast<std::size_t>(i * columns + i)] = 1;
    }
    return make_variable(value.astype(dtype), scoped_name(options.name));
  });
}

Variable random_uniform_variable(const Shape& shape, double low, double high,
                                 const RandomVariableOptions& options, Where where) {
  return api_call("random_uniform_variable", where, [&] {
    if (!(low <= high)) {
      Call::value_error("low", text("low ", low, " is not at most high ", high));
    }
    const DType dtype = dtype_of(options.dtype);
    if (is_float(dtype) && !(ir::is_finite_in(dtype, low) && ir::is_finite_in(dtype, high) &&
                             std::isfinite(high - low))) {
      Call::value_error("high", text("low ", low, ", high ", high,
                                     " or their difference is not finite in ", dtype));
    }
    return random_variable(shape, options, [&](Array& value, std::uint64_t seed) {
      runtime::fill_uniform(value, seed, low, high);
    });
  });
}

Variable random_normal_variable(const Shape& shape, double mean, double scale,
                                const RandomVariableOptions& options, Where where) {
  return api_call("random_normal_variable", where, [&] {
    return random_variable(shape, options, [&](Array& value, std::uint64_t seed) {
      runtime::fill_normal(value, seed, mean, scale);
    });
  });
}

Array get_value(const Tensor& x, Where where) {
  return api_call("get_value", where, [&] { return storage(x, "x").read(); });
}

Results<Array> batch_get_value(const std::vector<Tensor>& xs, Where where) {
  return api_call("batch_get_value", where, [&] {
    std::vector<VariableStorage*> storages;
    for (std::size_t i = 0; i < xs.size(); ++i) {
      storages.push_back(&storage(xs[i], text("xs[", i, "]")));
    }
    std::vector<runtime::VersionRef> versions(storages.size());
    VariableStorage::snapshot(storages, versions);
    std::vector<Array> values;
    for (std::size_t i = 0; i < versions.size(); ++i) {
      values.push_back(storages[i]->read(*versions[i]));
    }
    return values;
  });
}

void set_value(const Tensor& x, const Array& value, Where where) {
  api_call("set_value", where, [&] {
    VariableStorage& target = storage(x, "x");
    Array fits = fitted(value_of(x, "x").type(), value);
    runtime::VersionRef version(new runtime::Version(std::move(fits)));
    VariableStorage* const written = &target;
    const runtime::WriterLocks locks({&written, 1}, "set_value", "x");
    {
      const std::unique_lock lock(VariableStorage::publish_mutex());
      target.publish(version);
    }
    // The replaced value is not recycled: it may occupy device memory.
  });
}

void batch_set_value(const std::vector<std::pair<Tensor, Array>>& tuples, Where where) {
  api_call("batch_set_value", where, [&] {
    // Sorted by id, the locking order; publish() leaves the replaced versions here.
    std::map<std::int64_t, std::pair<VariableStorage*, runtime::VersionRef>> values;
    for (std::size_t i = 0; i < tuples.size(); ++i) {
      const auto& [x, value] = tuples[i];
      const std::string name = text("tuples[", i, "]");
      VariableStorage& target = storage(x, name);
      const ir::Type& type = value_of(x, name.c_str()).type();
      Array fits = value.rank() == 0 ? filled_from(type, value, name) : fitted(type, value, name);
      runtime::VersionRef version(new runtime::Version(std::move(fits)));
      values.insert_or_assign(target.id, std::pair{&target, std::move(version)});
    }
    std::vector<VariableStorage*> written;
    for (const auto& [id, entry] : values) written.push_back(entry.first);
    const runtime::WriterLocks locks(written, "batch_set_value", "tuples");
    {
      const std::unique_lock lock(VariableStorage::publish_mutex());
      for (auto& [id, entry] : values) entry.first->publish(entry.second);
    }
  });
}

std::vector<std::int64_t> get_variable_shape(const Tensor& x, Where where) {
  return api_call("get_variable_shape", where, [&] {
    storage(x, "x");
    std::vector<std::int64_t> shape;
    for (const ir::Dim& dim : value_of(x, "x").dims()) shape.push_back(dim.value());
    return shape;
  });
}

UpdateOp update(const Tensor& x, const Array& new_x, Where where) {
  return api_call("update", where, [&] {
    storage(x, "x");
    const DType dtype = value_of(x, "x").dtype();
    return update(x, constant(cast_argument(new_x, dtype, "new_x"), {.dtype = dtype}), where);
  });
}

}  // namespace kiln
