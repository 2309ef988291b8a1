// Backward data is the same convolution of the output's gradient with the taps in reverse order.
#include "backends/cpu/direct_convolution/depthwise.h"

#include "backends/cpu/direct_convolution/axis.h"
#include "backends/cpu/direct_convolution/depthwise_block.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

using codegen::Convolution;
using codegen::ConvRole;

/// A part has at least kPartWork multiply-adds, and with several parts there are kMinParts, as in
/// forward.cpp, so that a thread reads the rows that it wrote before.
constexpr std::int64_t kPartWork = 1 << 15, kMinParts = 8, kMaxParts = 16;

RunDepthwiseBlock loops_of(GemmIsa isa) {
  return loops_by_isa(isa, kDepthwiseBlockBaseline, kDepthwiseBlockAvx2, kDepthwiseBlockAvx512);
}

/// The axis of backward data, from the output's gradient to the input's. REQUIRES: a stride of 1.
WindowAxis backward(const Axis& axis, std::int64_t tap) {
  return {.size = axis.outputs,
          .outputs = axis.size,
          .taps = axis.window,
          .stride = 1,
          .dilation = axis.dilation,
          .low = (axis.window - 1) * axis.dilation - axis.low,
          .tap = -tap};
}

class Depthwise final : public codegen::PreparedConvolution {
 public:
  Depthwise(const Convolution& c, GemmIsa isa)
      : is_gradient_(c.role == ConvRole::Input), has_bias_(c.bias), run_block_(loops_of(isa)) {
    const Axis rows = axis_of(c, 1), columns = axis_of(c, 0);
    const auto axis = is_gradient_ ? backward : window_axis;
    block_.rows = axis(rows, columns.window * c.groups);
    block_.columns = axis(columns, c.groups);
    block_.channels = c.groups;
    block_.relu = c.relu;
    block_.relu_bound = c.relu_bound;
    if (is_gradient_) last_tap_ = (rows.window * columns.window - 1) * c.groups;
    all_rows_ = c.batch * block_.rows.outputs;
    const std::int64_t sums = all_rows_ * block_.columns.outputs * c.groups;
    const std::int64_t work = rows.window * columns.window * sums;
    parts_ = work < kMinParts * kPartWork   ? 1
             : work < kMaxParts * kPartWork ? std::min(all_rows_, kMinParts)
                                            : std::min(all_rows_, kMaxParts);
  }

  std::size_t scratch_bytes() const override { return 0; }
  std::size_t parts() const override { return static_cast<std::size_t>(parts_); }
  std::string description() const override { return "native depthwise loops"; }
  void start(const float*, void*) const override {}
  void finish(const float*, const float*, const float*, float*, void*) const override {}

  void run(std::size_t part, const float* first, const float* second, const void*,
           const float* bias, float* result, void*) const override {
    DepthwiseBlock block = block_;
    const auto number = static_cast<std::int64_t>(part);
    const std::int64_t rows = block.rows.outputs, end = all_rows_ * (number + 1) / parts_;
    block.filter = (is_gradient_ ? first : second) + last_tap_;
    block.bias = has_bias_ ? bias : nullptr;
    const float* x = is_gradient_ ? second : first;
    for (std::int64_t row = all_rows_ * number / parts_; row < end;) {
      const std::int64_t image = row / rows;
      block.x = x + image * image_of(block.rows.size, block.columns.size);
      block.y = result + image * image_of(rows, block.columns.outputs);
      block.begin = row % rows;
      block.end = std::min<long long>(rows, block.begin + end - row);
      run_block_(block);
      row += block.end - block.begin;
    }
  }

 private:
  /// Elements of an image.
  std::int64_t image_of(std::int64_t rows, std::int64_t columns) const {
    return rows * columns * block_.channels;
  }

  bool is_gradient_, has_bias_;
  RunDepthwiseBlock run_block_;
  DepthwiseBlock block_{};     // without operands and rows
  std::int64_t last_tap_ = 0;  // offset of the last tap, for a window that is read in reverse
  std::int64_t all_rows_ = 0, parts_ = 1;
};

}  // namespace

std::shared_ptr<const codegen::PreparedConvolution> make_depthwise(const Convolution& c,
                                                                   GemmIsa isa) {
  return std::make_shared<Depthwise>(c, isa);
}

}  // namespace kiln::cpu
