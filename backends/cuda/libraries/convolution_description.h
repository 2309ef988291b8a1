// Describes a convolution in cuDNN's terms: strided tensors, cross-correlation, padding.
#pragma once

#include "backends/codegen/bind/slot_sizes.h"

#include <compare>
#include <optional>

namespace kiln::cuda {

/// Dims and strides in elements, in cuDNN's order: N, C and spatial axes of the input and the
/// output; K, C per group and spatial axes of the filter. In memory, C is the last axis of each:
/// cuDNN 9.19 reads and writes filters in the order K, spatial.., C if the images have their
/// channels last, whatever strides the filter's descriptor has.
struct TensorLayout {
  std::vector<std::int64_t> dims, strides;

  auto operator<=>(const TensorLayout&) const = default;
};

/// A convolution of two or three spatial axes; one of a single axis gets a second one of size 1.
/// `role`: the tensor that is the result: output (forward), input (backward data) or filter
/// (backward weights). The library derives the number of groups from the channels.
struct ConvolutionDescription {
  DType dtype = DType::Float32;
  ir::ConvRole role = ir::ConvRole::Output;
  bool tf32 = false;          // allows engines that round operands of float32 to TF32
  bool deterministic = true;  // rejects engines that are not deterministic
  TensorLayout input, filter, output;
  /// One per spatial axis. Padding is symmetric: some engines of cuDNN 9.19 use the low padding at
  /// both ends.
  std::vector<std::int64_t> strides, dilations, padding;
  /// Windows read only a part of the input. With backward data, the rest of the result is zero.
  bool reads_part_of_input = false;

  auto operator<=>(const ConvolutionDescription&) const = default;
};

/// The options of an instance that restrict the choice of engines.
struct EngineOptions {
  bool tf32 = false, deterministic = true;
};

/// "forward float32, input 2x3x8x8, filter 4x3x3x3, output 2x4x6x6".
std::string text_of(const ConvolutionDescription& convolution);

/// Describes the convolution for the sizes of a call. Empty if its result is zero or has no
/// elements: a tensor is empty, or windows read only padding. Throws as `evaluate`. Throws
/// InternalError for asymmetric padding (codegen/graph/make_padding_symmetric.h).
std::optional<ConvolutionDescription> describe(const codegen::ConvolutionStep& step,
                                               const EngineOptions& options,
                                               const codegen::EvaluateDim& evaluate);

}  // namespace kiln::cuda
