// Describes a convolution as cuDNN takes it: tensors with strides, padding on both sides.
#pragma once

#include "backends/codegen/bind/slot_sizes.h"

#include <compare>
#include <optional>

namespace kiln::cuda {

/// Dims and strides in elements: batch, channels and spatial axes of the input and the output;
/// filters, channels of one group and spatial axes of the filter.
struct TensorLayout {
  std::vector<std::int64_t> dims, strides;

  auto operator<=>(const TensorLayout&) const = default;
};

/// Two or three spatial axes; a convolution of one has a second axis of size 1. `role`: which of
/// the three tensors is the result. The library derives the number of groups from the channels.
struct ConvolutionDescription {
  DType dtype = DType::Float32;
  ir::ConvRole role = ir::ConvRole::Output;
  bool tf32 = false;          // allows engines that round operands of float32
  bool deterministic = true;  // allows no others
  TensorLayout input, filter, output;
  std::vector<std::int64_t> strides, dilations, low, high;  // one per spatial axis
  /// Windows reach only a part of the input: as a result, the rest of it is zero.
  bool is_partial = false;

  auto operator<=>(const ConvolutionDescription&) const = default;
};

/// The options of an instance that choose engines.
struct EngineOptions {
  bool tf32 = false, deterministic = true;
};

/// "forward float32, input 2x3x8x8, filter 4x3x3x3, output 2x4x6x6".
std::string text_of(const ConvolutionDescription& convolution);

/// Describes the convolution for the sizes of a call; empty where its result is zero or has no
/// elements: an operand is empty, or windows read padding alone. Throws what `evaluate` throws.
std::optional<ConvolutionDescription> describe(const codegen::ConvolutionStep& step,
                                               const EngineOptions& options,
                                               const codegen::EvaluateDim& evaluate);

}  // namespace kiln::cuda
