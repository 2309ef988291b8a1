// Coordinates are checked once, at construction.
#include <kiln/sparse_array.h>

#include "core/k/base/tensor_impl.h"
#include "core/types/text.h"
#include "runtime/array/array_memory.h"

#include <kiln/error.h>

#include <cstring>

namespace kiln {
namespace {

[[noreturn]] void reject(const char* argument, const std::string& message, Where where) {
  throw ValueError("SparseArray", argument, message, where);
}

std::string shape_of(const Array& array) { return text("[", join_text(array.dims(), ","), "]"); }

}  // namespace

SparseArray SparseArray::of(const Array& indices, const Array& values,
                            std::vector<std::int64_t> dims, Where where) {
  return translate_exceptions("of", where, [&]() -> SparseArray {
    if (indices.size() != 0 && !is_integer(indices.dtype())) {
      throw TypeError("SparseArray", "indices", text("indices are ", indices.dtype()), where);
    }
    if (dims.size() != 2 || dims[0] < 0 || dims[1] < 0) {
      reject("dims", text("dims [", join_text(dims, ","), "] are not rows and columns"), where);
    }
    if (values.rank() != 1) reject("values", "values have shape " + shape_of(values), where);
    const std::int64_t count = values.dims()[0];
    if (indices.dims() != std::vector<std::int64_t>{count, 2}) {
      reject("indices",
             text("indices have shape ", shape_of(indices), " but there are ", count, " values"),
             where);
    }
    Array wide = indices.astype(DType::Int64);
    const std::span<const std::int64_t> coordinates = std::as_const(wide).as<std::int64_t>();
    for (std::size_t i = 0; i < coordinates.size(); ++i) {
      const std::int64_t size = dims[i % 2];
      if (coordinates[i] >= 0 && coordinates[i] < size) continue;
      reject("indices",
             text("indices[", i / 2, "] is ", coordinates[i], " of ", size,
                  i % 2 == 0 ? " rows" : " columns"),
             where);
    }
    return {Checked(), std::move(wide), values, std::move(dims)};
  });
}

SparseArray SparseArray::of_dense(const Array& dense, Where where) {
  return translate_exceptions("of_dense", where, [&]() -> SparseArray {
    if (dense.rank() != 2) {
      reject("dense", text("dense has shape ", shape_of(dense), ", not a matrix"), where);
    }
    const Array nonzero = dense.astype(DType::Bool);
    const auto* is_stored = static_cast<const bool*>(nonzero.data());
    const std::int64_t columns = dense.dims()[1];
    std::vector<std::int64_t> coordinates, flat;
    for (std::int64_t i = 0; i < dense.size(); ++i) {
      if (!is_stored[i]) continue;
      flat.push_back(i);
      coordinates.insert(coordinates.end(), {i / columns, i % columns});
    }
    const auto count = static_cast<std::int64_t>(flat.size());
    Array values = runtime::uninitialised_array({count}, dense.dtype());
    const std::size_t bytes = dtype_bytes(dense.dtype());
    const auto* from = static_cast<const std::byte*>(dense.data());
    auto* to = static_cast<std::byte*>(runtime::fill_address(values));
    for (const std::int64_t i : flat) {
      std::memcpy(to, from + static_cast<std::size_t>(i) * bytes, bytes);
      to += bytes;
    }
    return {Checked(), Array(coordinates, {count, 2}), std::move(values), dense.dims()};
  });
}

}  // namespace kiln
