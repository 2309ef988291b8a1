// Offsets, the scale and the bias of one matrix of an attention's batch, as parts compute them.
#pragma once

#include "backends/codegen/host/prepared/attention.h"
#include "backends/cpu/gemm/native_gemm.h"

#include <algorithm>
#include <limits>

namespace kiln::cpu {

inline constexpr std::int64_t kFloatBytes = sizeof(float);

inline const char* name_of(GemmIsa isa) {
  if (isa >= GemmIsa::Avx512) return "AVX-512";
  return isa == GemmIsa::Avx2 ? "AVX2" : "SSE2";
}

inline std::int64_t parts_of(std::int64_t size, std::int64_t part) {
  return (size + part - 1) / part;
}

inline float scale_of(const codegen::AttentionShape& shape,
                      const codegen::AttentionMemory& memory) {
  const float scale = *memory.operands[3];
  return shape.divides ? 1 / scale : scale;
}

/// The bias of a matrix of the batch; null without one.
inline const float* bias_of(const codegen::AttentionShape& shape,
                            const codegen::AttentionMemory& memory, std::int64_t matrix) {
  if (!shape.has_bias) return nullptr;
  std::int64_t offset = 0;
  for (std::size_t i = shape.batch.size(); i-- > 0;) {
    offset += matrix % shape.batch[i] * shape.bias_batch[i];
    matrix /= shape.batch[i];
  }
  return memory.operands[4] + offset;
}

/// The results over no keys: sums of 0 and a log-sum-exp of -inf. lse may be null.
inline void set_to_no_keys(std::int64_t elements, float* result, std::int64_t rows, float* lse) {
  std::fill_n(result, elements, 0.0f);
  if (lse) std::fill_n(lse, rows, -std::numeric_limits<float>::infinity());
}

}  // namespace kiln::cpu
