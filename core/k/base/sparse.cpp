// Sparse matrices in COO format: conversion by scatter-add, products by gather and scatter-add.
#include "core/k/base/sparse_impl.h"

#include "core/k/base/context_impl.h"

namespace kiln {
namespace {

using ir::Dim;
using ir::Value;

/// The row indices (column 0) or column indices (column 1).
Value index_of(const SparseParts& parts, int column) {
  const Value one = ir::slice_axis(parts.indices, 1, column, column + 1);
  return ir::reshape(one, {parts.indices.dims()[0]});
}

/// The size as an int64 value with the dims of `like`.
Value filled(const Value& like, const Dim& size) {
  return ir::broadcast_to(ir::dim_size(size), like.dims());
}

}  // namespace

Tensor wrap_sparse(SparseParts parts, const std::string& name) {
  return Tensor(std::make_shared<const TensorImpl>(
      TensorImpl{.content = std::move(parts), .name = scoped_name(name)}));
}

Value dense_of(const SparseParts& parts) {
  const Value offset =
      index_of(parts, 0) * filled(parts.values, parts.dims[1]) + index_of(parts, 1);
  const Value flat = ir::scatter_add(offset, parts.values, 0, parts.dims[0] * parts.dims[1]);
  return ir::reshape(flat, parts.dims);
}

Tensor sparse_placeholder(const ir::Type& type, const std::string& name) {
  if (type.rank() != 2) {
    Call::value_error("sparse", text("a sparse placeholder has rank 2, not ", type.rank()));
  }
  const std::string full = scoped_name(name);
  const Dim count = Dim::fresh((name.empty() ? std::string("sparse") : name) + ".count");
  const ir::Type extent{DType::Bool, {type.dims[0], type.dims[1], 0}};
  return wrap_sparse({.indices = fresh_placeholder({DType::Int64, {count, 2}}, full + ".indices"),
                      .values = fresh_placeholder({type.dtype, {count}}, full + ".values"),
                      .dims = type.dims,
                      .extent = fresh_placeholder(extent, full + ".extent")},
                     name);
}

Value sparse_dot(const SparseParts& x, const Value& y) {
  const Value rows = ir::gather(y, index_of(x, 1));
  const Value products = ir::broadcast(x.values, rows.dims(), {0}) * rows;
  return ir::scatter_add(index_of(x, 0), products, 0, x.dims[0]);
}

SparseParts sparse_concatenate(const std::vector<const SparseParts*>& parts, int axis) {
  const int other = 1 - axis;
  SparseParts all = *parts[0];
  std::vector<Value> indices{parts[0]->indices}, values{parts[0]->values};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const SparseParts& part = *parts[i];
    const auto both = [&] { return text("(", parts[0]->type(), ", ", part.type(), ")"); };
    if (part.type().dtype != all.type().dtype) {
      Call::type_error("tensors", text("tensors have different dtypes ", both()));
    }
    const auto o = static_cast<std::size_t>(other), a = static_cast<std::size_t>(axis);
    if (equal(part.dims[o], all.dims[o]) == ir::Ternary::No) {
      Call::value_error("tensors", text("tensors differ on axis ", other,
                                        ", along which they are not concatenated ", both()));
    }
    const Value moved = index_of(part, axis) + filled(part.values, all.dims[a]);
    std::vector<Value> columns{ir::reshape(index_of(part, other), {part.indices.dims()[0], 1}),
                               ir::reshape(moved, {part.indices.dims()[0], 1})};
    if (axis == 0) std::swap(columns[0], columns[1]);
    indices.push_back(ir::concat(std::move(columns), 1));
    values.push_back(part.values);
    all.dims[a] = all.dims[a] + part.dims[a];
  }
  all.indices = ir::concat(std::move(indices), 0);
  all.values = ir::concat(std::move(values), 0);
  all.extent = {};
  return all;
}

bool is_sparse(const Tensor& tensor, Where where) {
  return api_call("is_sparse", where, [&] {
    if (sparse_of(tensor)) return true;
    value_of(tensor, "tensor");
    return false;
  });
}

Tensor to_dense(const Tensor& tensor, Where where) {
  return api_call("to_dense", where, [&] {
    if (!sparse_of(tensor)) {
      value_of(tensor, "tensor");
      return tensor;
    }
    return wrap(dense_of(*sparse_of(tensor)));
  });
}

}  // namespace kiln
