// Coordinates are checked once, when the matrix is made, and hold from then on.
#include <kiln/sparse_array.h>

#include "core/k/frame/tensor_impl.h"
#include "core/types/text.h"
#include "runtime/array/array_memory.h"

#include <kiln/error.h>

#include <cstring>

namespace kiln {
namespace {

[[noreturn]] void refuse(const char* argument, const std::string& fact, Where where) {
  throw ValueError("SparseArray", argument, fact, where);
}

std::string shape_of(const Array& array) { return text("[", join_text(array.dims(), ","), "]"); }

}  // namespace

SparseArray SparseArray::of(const Array& indices, const Array& values,
                            std::vector<std::int64_t> dims, Where where) try {
  if (indices.size() != 0 && !is_integer(indices.dtype())) {
    throw TypeError("SparseArray", "indices", text("indices are ", indices.dtype()), where);
  }
  if (dims.size() != 2 || dims[0] < 0 || dims[1] < 0) {
    refuse("dims", text("dims [", join_text(dims, ","), "] are not rows and columns"), where);
  }
  if (values.rank() != 1) refuse("values", "values have shape " + shape_of(values), where);
  const std::int64_t count = values.dims()[0];
  if (indices.dims() != std::vector<std::int64_t>{count, 2}) {
    refuse("indices", text("indices have shape ", shape_of(indices), " beside ", count, " values"),
           where);
  }
  Array wide = indices.astype(DType::Int64);
  const std::span<const std::int64_t> places = std::as_const(wide).as<std::int64_t>();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::int64_t size = dims[i % 2];
    if (places[i] >= 0 && places[i] < size) continue;
    refuse("indices", text("indices[", i / 2, "] is ", places[i], " of ", size,
                           i % 2 == 0 ? " rows" : " columns"),
           where);
  }
  return {Checked(), std::move(wide), values, std::move(dims)};
} catch (const std::bad_alloc&) {
  Call::out_of_memory("of", where);
}

SparseArray SparseArray::of_dense(const Array& dense, Where where) try {
  if (dense.rank() != 2) {
    refuse("dense", text("dense has shape ", shape_of(dense), ", not a matrix"), where);
  }
  const Array nonzero = dense.astype(DType::Bool);
  const auto* kept = static_cast<const bool*>(nonzero.data());
  const std::int64_t columns = dense.dims()[1];
  std::vector<std::int64_t> places, flat;
  for (std::int64_t i = 0; i < dense.size(); ++i) {
    if (!kept[i]) continue;
    flat.push_back(i);
    places.insert(places.end(), {i / columns, i % columns});
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
  return {Checked(), Array(places, {count, 2}), std::move(values), dense.dims()};
} catch (const std::bad_alloc&) {
  Call::out_of_memory("of_dense", where);
}

}  // namespace kiln
