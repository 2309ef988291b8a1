// A convolution with known sizes, and the interface of its prepared form.
#pragma once

#include "core/ir/attrs.h"

#include <compare>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>

namespace kiln::codegen {

using ir::ConvRole;

/// Dense float32 tensors: input (batch, sizes.., groups * channels), filter (windows.., channels,
/// groups * filters), output (batch, output_sizes.., groups * filters); see ir::ConvAttrs. The
/// role says which of the three is the result: forward, backward data or backward weights.
struct Convolution {
  ConvRole role = ConvRole::Output;
  std::int64_t batch = 0, groups = 1;
  std::int64_t channels = 0, filters = 0;  // of one group
  ir::Ints sizes, windows, output_sizes, strides, dilations, low;
  bool bias = false, relu = false;  // epilogue of the forward pass: bias per filter, then relu
  float relu_bound = std::numeric_limits<float>::infinity();  // relu gives at most this
  auto operator<=>(const Convolution&) const = default;
};

/// The product of sizes, such as the number of pixels of an image.
inline std::int64_t product(const ir::Ints& sizes) {
  std::int64_t result = 1;
  for (const std::int64_t size : sizes) result *= size;
  return result;
}

/// Packs an operand into the layout that an implementation reads fastest.
class Packer {
 public:
  virtual ~Packer() = default;
  /// 0: the operand is read in place.
  virtual std::size_t packed_bytes() const { return 0; }
  /// REQUIRES: packed_bytes() is not 0. Throws sdk::Failure.
  virtual void pack(const void*, void*) const {}
  /// Whether `other` packs an operand into the same layout: both may read what either packed.
  virtual bool packs_like(const Packer& other) const { return this == &other; }
  /// An estimate of the memory that the object keeps, such as generated code.
  virtual std::size_t retained_bytes() const { return 256; }
  /// The number of parts of the packed operand; threads may pack different ones at a time.
  virtual std::int64_t packing_parts() const { return 1; }
  /// Packs one part. REQUIRES: as pack(); `part` is below packing_parts().
  virtual void pack_part(std::int64_t /*part*/, const void* operand, void* packed) const {
    pack(operand, packed);
  }
};

/// A prepared convolution, in parts that may run in parallel. Thread-safe: a run keeps its state in
/// its scratch. The packed operand is the filter.
class PreparedConvolution : public Packer {
 public:
  virtual std::size_t scratch_bytes() const = 0;
  virtual std::size_t parts() const = 0;
  /// The name of the implementation, for dumps.
  virtual std::string description() const = 0;
  /// Called before the parts if the filter is not packed.
  virtual void start(const float* filter, void* scratch) const = 0;
  /// Runs one part. Operands are in the order of the op; `packed`: the packed filter, or null after
  /// start(); `bias` is read if Convolution::bias. start, run and finish throw sdk::Failure.
  virtual void run(std::size_t part, const float* first, const float* second, const void* packed,
                   const float* bias, float* result, void* scratch) const = 0;
  /// Called once after all parts, with the same arguments.
  virtual void finish(const float* first, const float* second, const float* bias, float* result,
                      void* scratch) const = 0;
};

}  // namespace kiln::codegen
