// An attention with known sizes, and the interface of its prepared form.
#pragma once

#include "core/ir/attrs.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kiln::codegen {

/// Dense float32 tensors: q (batch.., t, d), k (batch.., s, d), v (batch.., s, e), a scalar scale
/// and maybe a bias; see core/ops/attention.h.
struct AttentionShape {
  bool is_gradient = false;
  ir::Ints batch;  // sizes of the batch axes
  std::int64_t t = 0, s = 0, d = 0, e = 0;
  bool divides = false, causal = false;  // ir::AttentionAttrs
  bool has_bias = false;
  /// The strides of the bias along each batch axis, queries and keys; 0 where it broadcasts.
  ir::Ints bias_batch;
  std::int64_t bias_t = 0, bias_s = 0;

  std::int64_t matrices() const {
    std::int64_t count = 1;
    for (const std::int64_t size : batch) count *= size;
    return count;
  }
};

/// The tensors of one run, in the order of the op. Results that nothing reads are null.
struct AttentionMemory {
  std::array<const float*, 8> operands = {};
  std::array<float*, 4> results = {};
};

/// A prepared attention, in parts that may run in parallel: their number and their results depend
/// on the sizes alone. Immutable: a run keeps its state in its scratch.
class PreparedAttention {
 public:
  virtual ~PreparedAttention() = default;
  virtual std::int64_t parts() const = 0;
  /// Of all parts of a run; aligned to 64 bytes.
  virtual std::int64_t shared_bytes() const { return 0; }
  /// Of one part at a time; aligned to 64 bytes.
  virtual std::int64_t scratch_bytes() const = 0;
  /// The name of the implementation, for dumps.
  virtual std::string description() const = 0;
  virtual void run(std::int64_t part, const AttentionMemory& memory, std::byte* shared,
                   std::byte* scratch) const noexcept = 0;
  /// Called once after all parts.
  virtual void finish(const AttentionMemory&, std::byte* /*shared*/) const noexcept {}
};

}  // namespace kiln::codegen
