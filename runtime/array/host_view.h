// A tensor in host memory: an operand or a result of a host function.
#pragma once

#include <kiln/dtype.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace kiln::runtime {

struct HostView {
  DType dtype = DType::Float32;
  std::span<const std::int64_t> dims;
  void* data = nullptr;  // read-only for an input

  std::size_t elements() const {
    std::size_t count = 1;
    for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
    return count;
  }
};

}  // namespace kiln::runtime
