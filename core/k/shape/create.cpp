// Creates placeholders, and inspects tensors without computing them.
#include <kiln/create.h>

#include "core/k/base/context_impl.h"
#include "core/k/base/sparse_impl.h"

#include <atomic>

namespace kiln {
namespace {

ir::Dim placeholder_dim(const ShapeEntry& entry, const std::string& name, std::size_t axis) {
  if (entry.is_none()) return ir::Dim::fresh(text(name.empty() ? "x" : name, ".", axis));
  if (entry.is_tensor()) {
    Call::value_error("shape", text("shape[", axis, "] is a tensor; use None or a size"));
  }
  if (entry.size() < 0) {
    Call::value_error("shape", text("shape[", axis, "] is ", entry.size()));
  }
  return entry.size();
}

/// A name for dims, which the text form must be able to parse: letters, digits and '_'.
std::string dim_name_of(const std::string& name) {
  std::string safe;
  for (char c : name) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    safe += is_letter || (c >= '0' && c <= '9') ? c : '_';
  }
  const bool starts_with_digit = !safe.empty() && safe[0] >= '0' && safe[0] <= '9';
  return starts_with_digit ? "_" + safe : safe;
}

std::vector<ShapeEntry> requested_shape(const PlaceholderOptions& options) {
  if (options.shape.is_tensor()) {
    Call::value_error("shape", "shape is a tensor; use None for unknown sizes");
  }
  if (options.shape.is_set()) return options.shape.entries();
  if (!options.ndim) Call::value_error("shape", "neither shape nor ndim is given");
  if (*options.ndim < 0) Call::value_error("ndim", text("ndim is ", *options.ndim));
  if (*options.ndim > ir::kMaxRank) {
    Call::value_error("ndim", text("rank ", *options.ndim, " exceeds ", ir::kMaxRank));
  }
  return std::vector<ShapeEntry>(static_cast<std::size_t>(*options.ndim), ShapeEntry(None));
}

Tensor filled_like(const char* function, const Operand& x, double value,
                   const LikeOptions& options) {
  return api_call(function, x.where(), [&] {
    const ir::Value like = input_of(x);
    const DType dtype = dtype_of(options.dtype, like.dtype());
    return wrap(ir::full(dtype, like.dims(), value), options.name);
  });
}

}  // namespace

Tensor placeholder(const PlaceholderOptions& options, Where where) {
  return api_call("placeholder", where, [&] {
    ir::Type type{dtype_of(options.dtype), {}};
    const std::string dim_name = dim_name_of(options.name);
    for (const ShapeEntry& entry : requested_shape(options)) {
      type.dims.push_back(placeholder_dim(entry, dim_name, type.dims.size()));
    }
    if (options.sparse) return sparse_placeholder(type, options.name);
    return wrap(fresh_placeholder(std::move(type), scoped_name(options.name)), options.name);
  });
}

ir::Value fresh_placeholder(ir::Type type, std::string name) {
  static std::atomic<std::int64_t> next{1};
  return ir::make(ir::Op::Placeholder,
                  ir::PlaceholderAttrs{.id = next.fetch_add(1, std::memory_order_relaxed),
                                       .name = std::move(name),
                                       .type = std::move(type)},
                  {});
}

bool is_placeholder(const Tensor& x) {
  if (x.empty()) return false;
  if (const SparseParts* parts = sparse_of(x)) return static_cast<bool>(parts->extent);
  return dense_value_of(x)->node->op == ir::Op::Placeholder;
}

bool is_tensor(const Operand& x) { return x.is_tensor() && !x.tensor().empty(); }

bool is_variable(const Tensor& x) {
  const ir::Value* value = dense_value_of(x);
  return value != nullptr && value->node->op == ir::Op::Variable;
}

bool is_keras_tensor(const Tensor& x, Where where) {
  return api_call("is_keras_tensor", where, [&] {
    type_of(x);
    return false;
  });
}

Tensor shape(const Operand& x) {
  return api_call("shape", x.where(), [&] {
    const ir::Type type = x.is_tensor() ? type_of(x.tensor()) : input_of(x).type();
    if (type.rank() == 0) return wrap(ir::constant({DType::Int64, {0}}, {}));
    std::vector<ir::Value> sizes;
    for (const ir::Dim& dim : type.dims) sizes.push_back(ir::reshape(ir::dim_size(dim), {1}));
    return wrap(ir::concat(std::move(sizes), 0));
  });
}

std::vector<std::optional<std::int64_t>> int_shape(const Tensor& x, Where where) {
  return api_call("int_shape", where, [&] {
    std::vector<std::optional<std::int64_t>> sizes;
    for (const ir::Dim& dim : type_of(x).dims) {
      sizes.push_back(dim.is_static() ? std::optional(dim.value()) : std::nullopt);
    }
    return sizes;
  });
}

int ndim(const Tensor& x, Where where) {
  return api_call("ndim", where, [&] { return type_of(x).rank(); });
}

std::string dtype(const Tensor& x, Where where) {
  return api_call("dtype", where, [&] { return std::string(dtype_name(type_of(x).dtype)); });
}

Tensor zeros_like(const Operand& x, const LikeOptions& options) {
  return filled_like("zeros_like", x, 0, options);
}

Tensor ones_like(const Operand& x, const LikeOptions& options) {
  return filled_like("ones_like", x, 1, options);
}

Tensor identity(const Operand& x, const NameOptions& options) {
  return api_call("identity", x.where(),
                  [&] { return wrap(ir::identity(input_of(x)), options.name); });
}

std::int64_t count_params(const Tensor& x, Where where) {
  return api_call("count_params", where, [&] {
    const ir::Value value = value_of(x, "x");
    const ir::Dim count = product(value.dims());
    if (!count.is_static()) {
      Call::value_error("x", text("x has an unknown size (x ", value.type(), ")"));
    }
    return count.value();
  });
}

Tensor cast(const Operand& x, const DTypeArgument& dtype) {
  return api_call("cast", x.where(), [&] {
    const DType to = dtype_of(dtype);
    return wrap(ir::cast(value_of(x, to, "x"), to));
  });
}

}  // namespace kiln
