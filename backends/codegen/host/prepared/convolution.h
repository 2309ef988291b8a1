// A convolution with known sizes, as a target's library is asked to compute it.
#pragma once

#include "core/ir/attrs.h"

#include <compare>
#include <cstddef>
#include <memory>
#include <string>

namespace kiln::codegen {

using ir::ConvRole;

/// Dense float32 tensors: input (batch, sizes.., groups * channels), kernel (windows.., channels,
/// groups * filters), output (batch, places.., groups * filters); see ir::ConvAttrs.
struct Convolution {
  ConvRole role = ConvRole::Output;
  std::int64_t batch = 0, groups = 1, channels = 0, filters = 0;  // the latter of one group
  ir::Ints sizes, windows, places, strides, dilations, low;
  bool bias = false, relu = false;  // of the output: a number for each filter is added; then relu
  auto operator<=>(const Convolution&) const = default;
};

/// An operand in a form of its own.
class Packer {
 public:
  virtual ~Packer() = default;
  /// 0: it is read where it lies.
  virtual std::size_t packed_bytes() const { return 0; }
  /// Only where packed_bytes() is not 0. Throws sdk::Failure.
  virtual void pack(const void*, void*) const {}
};

/// A prepared convolution, in parts that may run side by side. Used by several threads at once;
/// what one run needs for itself lies in its scratch. What is packed is the kernel.
class PreparedConvolution : public Packer {
 public:
  virtual std::size_t scratch_bytes() const = 0;
  virtual std::size_t parts() const = 0;
  /// What runs it, for dumps.
  virtual std::string description() const = 0;
  /// Before the parts; `kernel` is not packed. Not called when a packed one is at hand.
  virtual void start(const float* kernel, void* scratch) const = 0;
  /// The operands in the order of the op; `packed` is null when start() was called; `bias` is read
  /// when there is one. All three throw sdk::Failure.
  virtual void run(std::size_t part, const float* first, const float* second, const void* packed,
                   const float* bias, float* result, void* scratch) const = 0;
  /// After all parts, with what they had.
  virtual void finish(const float* first, const float* second, const float* bias, float* result,
                      void* scratch) const = 0;
};

}  // namespace kiln::codegen
