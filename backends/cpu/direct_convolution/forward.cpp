// The parts are rows of the output, of all images together.
#include "backends/cpu/direct_convolution/forward.h"

#include "backends/cpu/direct_convolution/axis.h"
#include "backends/cpu/direct_convolution/forward_block.h"

#include <algorithm>
#include <utility>

namespace kiln::cpu {
namespace {

using codegen::Convolution;
using codegen::product;

/// A part has at least kPartWork multiply-adds, less than pays for a dispatch by itself: the next
/// convolution reads the rows in parts of its own, and a thread that wrote all of them would fetch
/// the lines of every other thread's share back from that thread's cache, call after call.
/// kMinParts: the parts of a convolution by oneDNN, so that the shares of threads are the same.
constexpr std::int64_t kPartWork = 1 << 14, kMinParts = 8, kMaxParts = 16;
/// Bytes of the rows of x of a group, which stay in the L2 cache while the panels of the filter
/// change.
constexpr std::int64_t kGroupBytes = 1 << 17;

RunForwardBlock loops_of(GemmIsa isa) {
  return loops_by_isa(isa, kForwardBlockBaseline, kForwardBlockAvx2, kForwardBlockAvx512);
}

/// Packs the filter as the rhs of a matmul: K = taps * channels, N = filters.
NativeGemm<float> packing_of(const Convolution& c, GemmIsa isa) {
  const std::int64_t k = product(c.windows) * c.channels;
  return {{.m = 1,
           .n = c.filters,
           .k = k,
           .lhs_m = k,
           .lhs_k = 1,
           .rhs_k = c.filters,
           .rhs_n = 1,
           .result_m = c.filters},
          RhsForm::Prepacked,
          isa};
}

class Forward final : public codegen::PreparedConvolution {
 public:
  Forward(const Convolution& c, bool packed, GemmIsa isa)
      : filter_{product(c.windows) * c.channels, c.filters},
        has_bias_(c.bias),
        packed_(packed),
        in_place_(c.channels == 1),
        run_block_(loops_of(isa)),
        packing_(packing_of(c, isa)) {
    const Axis rows = axis_of(c, 1), columns = axis_of(c, 0);
    block_.panel_filters = in_place_ ? c.filters : packing_.panel_columns();
    const std::int64_t tap = c.channels * block_.panel_filters;
    block_.rows = window_axis(rows, columns.window * tap);
    block_.columns = window_axis(columns, tap);
    block_.channels = c.channels;
    block_.filters = block_.y_pixel = c.filters;
    block_.relu = c.relu;
    block_.relu_bound = c.relu_bound;
    const std::int64_t row_floats = rows.stride * columns.size * c.channels;
    constexpr std::int64_t kGroupFloats = kGroupBytes / std::int64_t{sizeof(float)};
    block_.group = in_place_ ? 1 : std::max<std::int64_t>(kGroupFloats / row_floats, 1);
    all_rows_ = c.batch * rows.outputs;
    const std::int64_t work =
        all_rows_ * columns.outputs * product(c.windows) * c.channels * c.filters;
    parts_ = work < kMinParts * kPartWork   ? 1
             : work < kMaxParts * kPartWork ? std::min(all_rows_, kMinParts)
                                            : std::min(all_rows_, kMaxParts);
  }

  std::size_t packed_bytes() const override {
    return packed_ && !in_place_ ? packing_.packed_bytes() : 0;
  }
  bool packs_like(const codegen::Packer& other) const override {
    const auto* forward = dynamic_cast<const Forward*>(&other);
    return forward && forward->filter_ == filter_ && forward->packed_bytes() == packed_bytes();
  }
  void pack(const void* filter, void* packed) const override {
    packing_.pack(static_cast<const float*>(filter), static_cast<float*>(packed));
  }
  std::int64_t packing_parts() const override { return packing_.packing_parts(); }
  void pack_part(std::int64_t part, const void* filter, void* packed) const override {
    packing_.pack_part(part, static_cast<const float*>(filter), static_cast<float*>(packed));
  }
  std::size_t scratch_bytes() const override {
    return packed_ || in_place_ ? 0 : packing_.packed_bytes();
  }
  std::size_t parts() const override { return static_cast<std::size_t>(parts_); }
  std::string description() const override {
    const char* packing = in_place_ ? ", filter in place"
                          : packed_ ? ", filter prepacked"
                                    : ", packing the filter";
    return std::string("native loops") + packing;
  }
  void start(const float* filter, void* scratch) const override {
    if (!in_place_) packing_.pack(filter, static_cast<float*>(scratch));
  }
  void finish(const float*, const float*, const float*, float*, void*) const override {}

  void run(std::size_t part, const float* x, const float* filter, const void* packed,
           const float* bias, float* y, void* scratch) const override {
    ForwardBlock block = block_;
    block.x = x;
    block.y = y;
    block.filter = in_place_ ? filter : static_cast<const float*>(packed ? packed : scratch);
    block.bias = has_bias_ ? bias : nullptr;
    const auto number = static_cast<std::int64_t>(part);
    block.begin = all_rows_ * number / parts_;
    block.end = all_rows_ * (number + 1) / parts_;
    run_block_(block);
  }

 private:
  std::pair<std::int64_t, std::int64_t> filter_;  // rows and columns, as packing_of() packs it
  bool has_bias_, packed_, in_place_;
  RunForwardBlock run_block_;
  NativeGemm<float> packing_;
  ForwardBlock block_{};  // without operands and rows
  std::int64_t all_rows_ = 0, parts_ = 1;
};

}  // namespace

std::shared_ptr<const codegen::PreparedConvolution> make_forward(const Convolution& c, bool packed,
                                                                 GemmIsa isa) {
  return std::make_shared<Forward>(c, packed, isa);
}

}  // namespace kiln::cpu
