// The parts are rows of the output, of all images together.
#include "backends/cpu/direct_convolution/forward.h"

#include "backends/cpu/direct_convolution/axis.h"
#include "backends/cpu/direct_convolution/forward_block.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

using codegen::Convolution;
using codegen::ConvRole;

constexpr std::int64_t kMinFilters = 8;
/// A part has at least kPartWork multiply-adds, less than pays for a dispatch by itself: the next
/// convolution reads the rows in parts of its own, and a thread that wrote all of them would fetch
/// the lines of every other thread's share back from that thread's cache, call after call.
/// kMinParts: the parts of a convolution by oneDNN, so that the shares of threads are the same.
constexpr std::int64_t kPartWork = 1 << 14, kMinParts = 8, kMaxParts = 16;

RunForwardBlock loops_of(GemmIsa isa) {
  switch (isa) {
    case GemmIsa::Amx:
    case GemmIsa::Avx512: return kForwardBlockAvx512;
    case GemmIsa::Avx2: return kForwardBlockAvx2;
    case GemmIsa::Baseline: break;
  }
  return kForwardBlockBaseline;
}

class Forward final : public codegen::PreparedConvolution {
 public:
  Forward(const Convolution& c, GemmIsa isa) : has_bias_(c.bias), run_block_(loops_of(isa)) {
    const Axis rows = axis_of(c, 1), columns = axis_of(c, 0);
    block_.rows = window_axis(rows, columns.window * c.channels * c.filters);
    block_.columns = window_axis(columns, c.channels * c.filters);
    block_.channels = c.channels;
    block_.filters = c.filters;
    block_.relu = c.relu;
    all_rows_ = c.batch * rows.outputs;
    const std::int64_t work = all_rows_ * columns.outputs * rows.window * block_.rows.tap;
    parts_ = work < kMinParts * kPartWork   ? 1
             : work < kMaxParts * kPartWork ? std::min(all_rows_, kMinParts)
                                            : std::min(all_rows_, kMaxParts);
  }

  std::size_t scratch_bytes() const override { return 0; }
  std::size_t parts() const override { return static_cast<std::size_t>(parts_); }
  std::string description() const override { return "native forward loops"; }
  void start(const float*, void*) const override {}
  void finish(const float*, const float*, const float*, float*, void*) const override {}

  void run(std::size_t part, const float* x, const float* filter, const void*, const float* bias,
           float* y, void*) const override {
    ForwardBlock block = block_;
    block.filter = filter;
    block.bias = has_bias_ ? bias : nullptr;
    const auto number = static_cast<std::int64_t>(part);
    const std::int64_t rows = block.rows.outputs, end = all_rows_ * (number + 1) / parts_;
    for (std::int64_t row = all_rows_ * number / parts_; row < end;) {
      const std::int64_t image = row / rows;
      block.x = x + image * block.rows.size * block.columns.size * block.channels;
      block.y = y + image * rows * block.columns.outputs * block.filters;
      block.begin = row % rows;
      block.end = std::min<long long>(rows, block.begin + end - row);
      run_block_(block);
      row += block.end - block.begin;
    }
  }

 private:
  bool has_bias_;
  RunForwardBlock run_block_;
  ForwardBlock block_{};  // without operands and rows
  std::int64_t all_rows_ = 0, parts_ = 1;
};

}  // namespace

bool takes_forward(const Convolution& c) {
  return c.role == ConvRole::Output && c.groups == 1 && c.channels == 1 &&
         c.filters >= kMinFilters && c.sizes.size() <= 2;
}

std::shared_ptr<const codegen::PreparedConvolution> make_forward(const Convolution& c,
                                                                 GemmIsa isa) {
  return std::make_shared<Forward>(c, isa);
}

}  // namespace kiln::cpu
