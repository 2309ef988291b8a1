// A tensor of the interpreter: dense and row-major. Copies share the elements, which are immutable
// after the op that computes them has returned.
#pragma once

#include "core/ir/type.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace kiln::reference {

using Sizes = std::vector<std::int64_t>;

struct Tensor {
  DType dtype = DType::Float32;
  Sizes dims;
  std::int64_t count = 0;
  std::shared_ptr<std::byte> data;

  /// Uninitialised. Throws sdk::Failure (RESOURCE_EXHAUSTED) naming the number of bytes.
  static Tensor allocate(DType dtype, Sizes dims);
  /// A view. REQUIRES: the elements outlive it.
  static Tensor borrowed(DType dtype, Sizes dims, const void* elements);

  std::size_t element_bytes() const { return dtype_bytes(dtype); }
  std::size_t bytes() const { return static_cast<std::size_t>(count) * element_bytes(); }
  /// The same elements under other dims.
  Tensor with_dims(Sizes other) const;
};

/// The product of the dims. Throws sdk::Failure if it overflows 63 bits or a dim is negative.
std::int64_t count_of(const Sizes& dims);
/// Row-major strides, in elements.
Sizes strides_of(const Sizes& dims);
/// Advances `index` in row-major order; false after the last one.
bool advance(Sizes& index, const Sizes& dims);

/// Packs: to[i] = from[sum(index * strides)] for all indices of `dims`, in row-major order.
void copy_from_strided(std::byte* to, const std::byte* from, const Sizes& dims,
                       const Sizes& strides, std::size_t element_bytes);
/// Unpacks: to[sum(index * strides)] = from[i] for all indices of `dims`, in row-major order.
void copy_to_strided(std::byte* to, const std::byte* from, const Sizes& dims, const Sizes& strides,
                     std::size_t element_bytes);

}  // namespace kiln::reference
