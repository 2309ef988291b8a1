// Checked sizes, aligned memory, strided copies.
#include "backends/reference/tensor.h"

#include "backends/abi/kiln_backend_sdk.h"
#include "core/types/text.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>

namespace kiln::reference {
namespace {

constexpr auto kAlignment = std::align_val_t(64);

[[noreturn]] void no_memory(const Sizes& dims, DType dtype, const std::string& size) {
  throw sdk::Failure(
      KILN_CODE_RESOURCE_EXHAUSTED,
      text("no memory for ", dtype, "[", join_text(dims, ","), "], which is ", size, " bytes"));
}

/// The product of the dims; nullopt if it overflows 63 bits. A dim of
/// 0 gives 0, whatever the others.
std::optional<std::int64_t> checked_count(const Sizes& dims) {
  std::int64_t count = 1;
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  for (std::int64_t dim : dims) {
    if (__builtin_mul_overflow(count, dim, &count)) return std::nullopt;
  }
  return count;
}

/// Copies runs along the last axis. kToStrided: from dense to strided; else from strided to dense.
/// kBytes: the bytes of an element if known at compile time, else 0.
template <bool kToStrided, std::size_t kBytes>
void copy_elements(std::byte* to, const std::byte* from, const Sizes& dims, const Sizes& strides,
                   std::size_t bytes) {
  const std::size_t size = kBytes == 0 ? bytes : kBytes;
  const std::size_t last = dims.size() - 1;
  const std::int64_t run = dims[last];
  const auto step = strides[last] * static_cast<std::int64_t>(size);
  const auto dense_step = static_cast<std::int64_t>(size);
  const Sizes outer(dims.begin(), dims.end() - 1);
  Sizes index(last, 0);
  std::int64_t dense = 0;
  do {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < last; ++axis) offset += index[axis] * strides[axis];
    offset *= static_cast<std::int64_t>(size);
    std::byte* target = to + (kToStrided ? offset : dense);
    const std::byte* source = from + (kToStrided ? dense : offset);
    if (strides[last] == 1) {
      std::memcpy(target, source, static_cast<std::size_t>(run) * size);
    } else {
      for (std::int64_t i = 0; i < run; ++i) {
        std::memcpy(target, source, size);
        target += kToStrided ? step : dense_step;
        source += kToStrided ? dense_step : step;
      }
    }
    dense += run * dense_step;
  } while (advance(index, outer));
}

template <bool kToStrided>
void dispatch(std::byte* to, const std::byte* from, const Sizes& dims, const Sizes& strides,
              std::size_t bytes) {
  for (std::int64_t dim : dims) {
    if (dim == 0) return;
  }
  if (dims.empty()) {
    std::memcpy(to, from, bytes);
    return;
  }
  switch (bytes) {
    case 4: return copy_elements<kToStrided, 4>(to, from, dims, strides, bytes);
    case 8: return copy_elements<kToStrided, 8>(to, from, dims, strides, bytes);
    default: return copy_elements<kToStrided, 0>(to, from, dims, strides, bytes);
  }
}

}  // namespace

std::int64_t count_of(const Sizes& dims) {
  for (std::int64_t dim : dims) {
    if (dim >= 0) continue;
    throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT, text("a size is negative: ", dim));
  }
  const std::optional<std::int64_t> count = checked_count(dims);
  if (count) return *count;
  throw sdk::Failure(KILN_CODE_RESOURCE_EXHAUSTED,
                     text("[", join_text(dims, ","), "] has more than 2^63 - 1 elements"));
}

Tensor Tensor::allocate(DType dtype, Sizes dims) {
  Tensor tensor{dtype, std::move(dims), 0, nullptr};
  std::int64_t bytes = 0;
  const auto element = static_cast<std::int64_t>(dtype_bytes(dtype));
  const std::optional<std::int64_t> count = checked_count(tensor.dims);
  if (!count || __builtin_mul_overflow(*count, element, &bytes)) {
    no_memory(tensor.dims, dtype, "more than 2^63");
  }
  tensor.count = count_of(tensor.dims);
  const auto size = static_cast<std::size_t>(bytes == 0 ? 1 : bytes);
  void* memory = ::operator new(size, kAlignment, std::nothrow);
  if (!memory) no_memory(tensor.dims, dtype, text(bytes));
  tensor.data.reset(static_cast<std::byte*>(memory),
                    [](std::byte* p) { ::operator delete(p, kAlignment); });
  return tensor;
}

Tensor Tensor::borrowed(DType dtype, Sizes dims, const void* elements) {
  Tensor tensor{dtype, std::move(dims), 0, nullptr};
  tensor.count = count_of(tensor.dims);
  auto* bytes = static_cast<std::byte*>(const_cast<void*>(elements));
  tensor.data = std::shared_ptr<std::byte>(bytes, [](std::byte*) {});
  return tensor;
}

Tensor Tensor::with_dims(Sizes other) const {
  Tensor tensor = *this;
  tensor.dims = std::move(other);
  return tensor;
}

Sizes strides_of(const Sizes& dims) {
  Sizes strides(dims.size(), 1);
  // Strides of an empty tensor are never used; they might overflow 63 bits.
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return strides;
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

bool advance(Sizes& index, const Sizes& dims) {
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    if (++index[axis] < dims[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

void copy_from_strided(std::byte* to, const std::byte* from, const Sizes& dims,
                       const Sizes& strides, std::size_t element_bytes) {
  dispatch<false>(to, from, dims, strides, element_bytes);
}

void copy_to_strided(std::byte* to, const std::byte* from, const Sizes& dims, const Sizes& strides,
                     std::size_t element_bytes) {
  dispatch<true>(to, from, dims, strides, element_bytes);
}

}  // namespace kiln::reference
