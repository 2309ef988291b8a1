// Splits a convolution into parts that may run in parallel: images, or rows of the output of one
// image. Parts depend only on the sizes, so that bits do not depend on the number of threads.
#pragma once

#include "backends/codegen/host/prepared/convolution.h"

#include <vector>

namespace kiln::cpu {

/// One part, as a convolution of its images or rows.
struct ConvolutionPart {
  std::int64_t input = 0, output = 0;  // offsets of its first elements
  codegen::Convolution piece;
};

/// Splits the batch into at most 8 parts of at least 2^20 multiply-adds each. Backward weights have
/// one partial sum per part, so that their parts have enough pixels that adding the partial sums
/// stays cheap.
std::vector<ConvolutionPart> parts_by_images(const codegen::Convolution& c);

/// Splits each image into blocks of rows of the output, with the rows of the input under their
/// windows. Empty where there are as many images as parts, for gradients, and where a block would
/// read only padding. Elements have the bits of the whole convolution if both run the same
/// implementation.
std::vector<ConvolutionPart> parts_by_rows(const codegen::Convolution& c);

}  // namespace kiln::cpu
