// A panel holds all taps and channels of a few filters.
#include "backends/cpu/direct_convolution/forward_by_panels.h"

#include "backends/cpu/direct_convolution/axis.h"
#include "backends/cpu/direct_convolution/forward.h"
#include "backends/cpu/direct_convolution/forward_block.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

using codegen::Convolution;
using codegen::product;

constexpr std::int64_t kPartWork = 1 << 20, kMaxParts = 16;

std::int64_t panel_filters_of(GemmIsa isa) { return isa_kernels_of(isa).float32.panel_columns; }

/// Packs one panel as the rhs of a matmul with K = taps * channels; of a flipped filter, the panel
/// of one tap.
NativeGemm<float> packing_of(const Convolution& c, bool flipped, GemmIsa isa) {
  const std::int64_t filters = panel_filters_of(isa);
  GemmShape shape{.m = 1,
                  .n = filters,
                  .k = c.channels,
                  .lhs_m = c.channels,
                  .lhs_k = 1,
                  .rhs_k = 1,
                  .rhs_n = c.channels,
                  .result_m = filters};
  if (!flipped) {
    shape.k *= product(c.windows);
    shape.rhs_k = c.filters;
    shape.rhs_n = 1;
  }
  return {shape, RhsForm::Prepacked, isa};
}

class ForwardByPanels final : public codegen::PreparedConvolution {
 public:
  ForwardByPanels(const Convolution& c, PanelFilter filter, GemmIsa isa)
      : has_bias_(c.bias),
        flipped_(filter == PanelFilter::Flipped),
        packed_(filter == PanelFilter::Prepacked),
        taps_(product(c.windows)),
        run_block_(
            loops_by_isa(isa, kForwardBlockBaseline, kForwardBlockAvx2, kForwardBlockAvx512)),
        packing_(packing_of(c, flipped_, isa)) {
    const Axis rows = axis_of(c, 1), columns = axis_of(c, 0);
    block_.filters = block_.panel_filters = panel_filters_of(isa);
    const std::int64_t tap = c.channels * block_.filters;
    panel_floats_ = taps_ * tap;
    panels_ = c.filters / block_.filters;
    block_.rows = window_axis(rows, columns.window * tap);
    block_.columns = window_axis(columns, tap);
    block_.channels = c.channels;
    block_.y_pixel = c.filters;
    block_.relu = c.relu;
    block_.relu_bound = c.relu_bound;
    block_.end = block_.group = c.batch * rows.outputs;
    const std::int64_t work = block_.end * columns.outputs * taps_ * c.channels * c.filters;
    parts_ = std::clamp(work / kPartWork, std::int64_t{1}, std::min(panels_, kMaxParts));
  }

  std::size_t packed_bytes() const override {
    return packed_ ? static_cast<std::size_t>(panels_ * panel_floats_) * sizeof(float) : 0;
  }
  bool packs_like(const codegen::Packer& other) const override {
    const auto* panels = dynamic_cast<const ForwardByPanels*>(&other);
    return panels && packed_ && panels->packed_ && panels->panels_ == panels_ &&
           panels->panel_floats_ == panel_floats_;
  }
  void pack(const void* filter, void* packed) const override {
    for (std::int64_t panel = 0; panel < panels_; ++panel) pack_part(panel, filter, packed);
  }
  std::int64_t packing_parts() const override { return panels_; }
  void pack_part(std::int64_t panel, const void* filter, void* packed) const override {
    pack_panel(panel, static_cast<const float*>(filter),
               static_cast<float*>(packed) + panel * panel_floats_);
  }
  std::size_t scratch_bytes() const override {
    return packed_ ? 0 : static_cast<std::size_t>(parts_ * panel_floats_) * sizeof(float);
  }
  std::size_t parts() const override { return static_cast<std::size_t>(parts_); }
  std::string description() const override {
    return flipped_  ? "native loops by panels, packing the flipped filter"
           : packed_ ? "native loops by panels, filter prepacked"
                     : "native loops by panels, packing the filter";
  }
  void start(const float*, void*) const override {}
  void finish(const float*, const float*, const float*, float*, void*) const override {}

  void run(std::size_t part_index, const float* first, const float* second, const void* packed,
           const float* bias, float* y, void* scratch) const override {
    const auto part = static_cast<std::int64_t>(part_index);
    ForwardBlock block = block_;
    block.x = flipped_ ? second : first;
    const std::int64_t end = panels_ * (part + 1) / parts_;
    for (std::int64_t panel = panels_ * part / parts_; panel < end; ++panel) {
      if (packed_) {
        block.filter = static_cast<const float*>(packed) + panel * panel_floats_;
      } else {
        float* const own = static_cast<float*>(scratch) + part * panel_floats_;
        pack_panel(panel, flipped_ ? first : second, own);
        block.filter = own;
      }
      block.y = y + panel * block.filters;
      block.bias = has_bias_ ? bias + panel * block.filters : nullptr;
      run_block_(block);
    }
  }

 private:
  /// The plain filter is (taps, channels, filters); a flipped one (taps, filters, channels), with
  /// the taps in reverse order.
  void pack_panel(std::int64_t panel, const float* filter, float* to) const {
    if (!flipped_) return packing_.pack(filter + panel * block_.filters, to);
    const std::int64_t tap_floats = block_.filters * block_.channels;
    for (std::int64_t tap = 0; tap < taps_; ++tap) {
      packing_.pack(filter + ((taps_ - 1 - tap) * panels_ + panel) * tap_floats, to);
      to += tap_floats;
    }
  }

  bool has_bias_, flipped_, packed_;
  std::int64_t taps_, panels_ = 0, panel_floats_ = 0, parts_ = 1;
  RunForwardBlock run_block_;
  NativeGemm<float> packing_;
  ForwardBlock block_{};  // without operands
};

}  // namespace

std::shared_ptr<const codegen::PreparedConvolution> make_forward_by_panels(const Convolution& c,
                                                                           PanelFilter filter,
                                                                           GemmIsa isa) {
  return std::make_shared<ForwardByPanels>(c, filter, isa);
}

}  // namespace kiln::cpu
