// The parts of a convolution that run side by side: images, or rows of the output of one image.
#pragma once

#include "backends/codegen/host/prepared/convolution.h"

#include <vector>

namespace kiln::cpu {

struct ConvolutionPart {
  std::int64_t input = 0, output = 0;  // offsets of its first elements
  codegen::Convolution piece;          // the part as a convolution: its images or rows alone
};

/// Cuts the batch into at most 8 parts that are worth a thread each. The gradient of a filter has
/// a sum for each part, so its parts have enough pixels that adding the sums stays cheap.
std::vector<ConvolutionPart> parts_by_images(const codegen::Convolution& c);

/// Cuts each image into blocks of rows of the output, with the rows of the input under their
/// windows, where images are fewer than the parts that are worth a thread. Empty where they are
/// not, where gradients are computed, and where a block would see padding alone. An element of the
/// output is the sum that it is without parts if both run the same implementation.
std::vector<ConvolutionPart> parts_by_rows(const codegen::Convolution& c);

}  // namespace kiln::cpu
