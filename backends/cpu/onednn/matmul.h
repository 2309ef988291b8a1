// A product through the library's matmul primitive, with its packing where rhs is packed.
#pragma once

#include "backends/cpu/onednn/layout.h"
#include "backends/cpu/onednn/runner.h"

#include <string>

namespace kiln::cpu {

class Matmul {
 public:
  Matmul(const LibraryProduct& product, const ProductShape& shape);

  std::size_t packed_bytes() const noexcept;
  std::size_t scratch_bytes() const noexcept;
  const std::string& implementation() const noexcept { return implementation_; }

  int pack(const float* rhs, void* packed) const noexcept;
  int run(const float* lhs, const void* rhs, const float* bias, float* result,
          void* scratch) const noexcept;

 private:
  int run_one(std::int64_t batch, const float* lhs, const void* rhs, const float* bias,
              float* result, void* scratch) const noexcept;
  void describe();

  LibraryProduct product_;      // of one run of the primitive
  std::int64_t repeats_ = 1;    // runs, one after the other, where the library wants no batch
  bool bias_, accumulate_, packed_;
  std::size_t packed_stride_ = 0;  // bytes from one packed matrix to that of the next run
  std::string implementation_;
  std::unique_ptr<Runner> product_runner_, pack_runner_;
};

}  // namespace kiln::cpu
