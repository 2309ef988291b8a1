// Computes the number of parts, and their offsets and padding.
#include "backends/cpu/onednn/convolution_parts.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

using codegen::Convolution;
using codegen::ConvRole;
using codegen::product;
using Ints = std::vector<std::int64_t>;

/// kPartWork: the minimum of multiply-adds in a part. kMinReuse: the minimum of pixels in a part of
/// backward weights; each pixel is one multiply-add per element of the filter, each part one more
/// addition of partial sums.
constexpr std::int64_t kPartWork = 1 << 20, kMaxParts = 8, kMinReuse = 256;

std::int64_t input_elements(const Convolution& c) {
  return product(c.sizes) * c.groups * c.channels;
}
std::int64_t output_elements(const Convolution& c) {
  return product(c.output_sizes) * c.groups * c.filters;
}

std::int64_t wanted_parts(const Convolution& c) {
  const std::int64_t image = product(c.windows) * c.channels * output_elements(c);
  return std::clamp(c.batch * image / kPartWork, std::int64_t{1}, kMaxParts);
}

std::int64_t images_of_part(const Convolution& c) {
  std::int64_t parts = wanted_parts(c);
  if (c.role == ConvRole::Filter) {
    parts = std::clamp(c.batch * product(c.output_sizes) / kMinReuse, std::int64_t{1}, parts);
  }
  return (c.batch + parts - 1) / parts;
}

/// Rows begin .. end - 1 of the output of the first image.
ConvolutionPart block_of_rows(const Convolution& c, std::int64_t begin, std::int64_t end) {
  ConvolutionPart part{0, 0, c};
  const std::int64_t window = (c.windows[0] - 1) * c.dilations[0] + 1;
  const std::int64_t above = begin * c.strides[0] - c.low[0];
  const std::int64_t first = std::max(above, std::int64_t{0});
  const std::int64_t last = std::min((end - 1) * c.strides[0] - c.low[0] + window, c.sizes[0]);
  part.piece.batch = 1;
  part.piece.output_sizes[0] = end - begin;
  part.piece.low[0] = first - above;
  part.piece.sizes[0] = last - first;
  part.input = first * (input_elements(c) / c.sizes[0]);
  part.output = begin * (output_elements(c) / c.output_sizes[0]);
  return part;
}

}  // namespace

std::vector<ConvolutionPart> parts_by_images(const Convolution& c) {
  std::vector<ConvolutionPart> parts;
  const std::int64_t images = images_of_part(c);
  for (std::int64_t begin = 0; begin < c.batch; begin += images) {
    parts.push_back({begin * input_elements(c), begin * output_elements(c), c});
    parts.back().piece.batch = std::min(images, c.batch - begin);
  }
  return parts;
}

std::vector<ConvolutionPart> parts_by_rows(const Convolution& c) {
  const std::int64_t wanted = wanted_parts(c), rows = c.output_sizes[0];
  if (c.role != ConvRole::Output || wanted <= c.batch || rows == 1) return {};
  const std::int64_t blocks = std::min((wanted + c.batch - 1) / c.batch, rows);
  std::vector<ConvolutionPart> parts;
  for (std::int64_t image = 0; image < c.batch; ++image) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      ConvolutionPart part = block_of_rows(c, rows * block / blocks, rows * (block + 1) / blocks);
      if (part.piece.sizes[0] < 1) return {};
      part.input += image * input_elements(c);
      part.output += image * output_elements(c);
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

}  // namespace kiln::cpu
