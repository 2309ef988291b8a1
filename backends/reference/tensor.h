// A tensor of the interpreter: dense, row-major, its elements shared and never written once a
// kernel has returned it.
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

  /// Not initialised. Throws sdk::Failure (out of memory) naming the number of bytes.
  static Tensor make(DType dtype, Sizes dims);
  /// Elements that someone else keeps alive.
  static Tensor borrowed(DType dtype, Sizes dims, const void* elements);

  std::size_t element_bytes() const { return dtype_bytes(dtype); }
  std::size_t bytes() const { return static_cast<std::size_t>(count) * element_bytes(); }
  /// The same elements under other dims.
  Tensor with_dims(Sizes other) const;
};

/// Product, checked: throws sdk::Failure when it leaves 63 bits or a size is negative.
std::int64_t count_of(const Sizes& dims);
/// Elements from one index to the next of each axis.
Sizes strides_of(const Sizes& dims);
/// Advances `index` in row-major order; false after the last one.
bool advance(Sizes& index, const Sizes& dims);

/// to[i] = from at sum(index * strides) over all indices of `dims`, in row-major order.
void copy_strided(std::byte* to, const std::byte* from, const Sizes& dims, const Sizes& strides,
                  std::size_t element_bytes);
/// The reverse: the elements of `from` in order are put at strided places of `to`.
void place_strided(std::byte* to, const std::byte* from, const Sizes& dims, const Sizes& strides,
                   std::size_t element_bytes);

}  // namespace kiln::reference
