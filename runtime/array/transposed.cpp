// Walks the result in order and gathers rows of its last axis.
#include "runtime/array/transposed.h"

#include "core/k/base/call.h"
#include "core/types/text.h"
#include "runtime/array/array_memory.h"

#include <kiln/files.h>

#include <cstddef>
#include <cstring>
#include <vector>

namespace kiln {
namespace runtime {
namespace {

/// Copies elements of kWidth bytes, `stride` bytes apart.
template <std::size_t kWidth>
void gather(const std::byte* from, std::int64_t stride, std::int64_t count, std::byte* to) {
  for (std::int64_t i = 0; i < count; ++i, from += stride, to += kWidth) {
    std::memcpy(to, from, kWidth);
  }
}

using Gather = void (*)(const std::byte*, std::int64_t, std::int64_t, std::byte*);

Gather gather_of(std::size_t width) {
  switch (width) {
    case 1: return gather<1>;
    case 2: return gather<2>;
    case 4: return gather<4>;
    default: return gather<8>;
  }
}

/// The distance in bytes of neighbours along each axis of a row-major array that has elements.
std::vector<std::int64_t> strides_of(const Array& array) {
  std::vector<std::int64_t> strides(array.dims().size());
  auto stride = static_cast<std::int64_t>(dtype_bytes(array.dtype()));
  for (std::size_t axis = strides.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= array.dims()[axis];
  }
  return strides;
}

}  // namespace

Array transposed_array(const Array& array, std::span<const std::int64_t> axes) {
  if (axes.empty()) return array;
  std::vector<std::int64_t> dims, strides;
  for (const std::int64_t axis : axes) dims.push_back(array.dims()[static_cast<std::size_t>(axis)]);
  Array result = uninitialised_array(dims, array.dtype());
  if (result.size() == 0) return result;
  const std::vector<std::int64_t> from_strides = strides_of(array);
  for (const std::int64_t axis : axes) {
    strides.push_back(from_strides[static_cast<std::size_t>(axis)]);
  }
  const std::size_t last = dims.size() - 1;
  const Gather gather_row = gather_of(dtype_bytes(array.dtype()));
  const std::int64_t row = dims[last] * static_cast<std::int64_t>(dtype_bytes(array.dtype()));
  const auto* from = static_cast<const std::byte*>(array.data());
  auto* to = static_cast<std::byte*>(fill_address(result));
  std::vector<std::int64_t> index(dims.size());
  for (std::int64_t rows = result.size() / dims[last]; rows > 0; --rows, to += row) {
    gather_row(from, strides[last], dims[last], to);
    for (std::size_t axis = last; axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < dims[axis]) break;
      from -= strides[axis] * dims[axis];
      index[axis] = 0;
    }
  }
  return result;
}

}  // namespace runtime

Array transposed(const Array& array, const std::vector<std::int64_t>& axes, Where where) {
  return api_call("transposed", where, [&] {
    std::vector<bool> used(array.dims().size());
    bool fits = axes.size() == used.size();
    for (std::size_t i = 0; fits && i < axes.size(); ++i) {
      const std::int64_t axis = axes[i];
      fits = axis >= 0 && axis < array.rank() && !used[static_cast<std::size_t>(axis)];
      if (fits) used[static_cast<std::size_t>(axis)] = true;
    }
    if (!fits) {
      Call::value_error("axes", text("axes are [", join_text(axes, ","),
                                     "] but must name each axis of an array of shape [",
                                     join_text(array.dims(), ","), "] once"));
    }
    return runtime::transposed_array(array, axes);
  });
}

}  // namespace kiln
