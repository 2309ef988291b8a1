// The interface of an attention that is prepared for known sizes (bind/attention_shape.h).
#pragma once

#include "backends/codegen/bind/attention_shape.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace kiln::codegen {

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
