// float32 alone. Who computes a product is chosen when its sizes are known, by these alone.
#include "backends/cpu/products.h"

#include "backends/cpu/direct_convolution/kernel_gradient.h"
#include "backends/cpu/onednn/convolutions.h"
#include "core/ops/op.h"
#include "core/types/text.h"

namespace kiln::cpu {
namespace {

class ByOneDnn final : public codegen::PreparedProduct {
 public:
  ByOneDnn(std::shared_ptr<const Product> product, bool relu)
      : product_(std::move(product)), relu_(relu) {}
  std::size_t scratch_bytes() const override { return product_->scratch_bytes(); }
  std::string description() const override {
    return text("oneDNN ", onednn_version(), " ", product_->implementation());
  }
  void run(const float* lhs, const void* rhs, const float* bias, float* result,
           void* scratch) const override {
    check(product_->run(lhs, static_cast<const float*>(rhs), bias, result, scratch));
    if (relu_) apply_relu(result);
  }

 private:
  void check(int status) const {
    if (status != 0) fail_with(status, "in the product " + to_string(product_->shape()));
  }

  /// The library's own makes 0 of NaN. What was just written is still near.
  void apply_relu(float* result) const {
    const ProductShape& shape = product_->shape();
    for (std::int64_t i = 0; i < shape.m; ++i, result += shape.result_row) {
      for (std::int64_t j = 0; j < shape.n; ++j) result[j] = result[j] <= 0 ? 0.0f : result[j];
    }
  }

  std::shared_ptr<const Product> product_;
  bool relu_;
};

TiledShape tiled_shape_of(const codegen::MatrixProduct& p) {
  return {p.rows,      p.columns,    p.depth,      p.lhs_row, p.lhs_depth,
          p.rhs_depth, p.rhs_column, p.result_row, p.relu};
}

/// Elements of an rhs that stays in the second cache.
constexpr std::int64_t kNear = 1 << 19;

/// Whether own loops want rhs packed before. Within a loop, and for the parts of one product, rows
/// are many together, and a weight that lies well is read where it lies: packing it, too, beside
/// its transpose for the gradient is waste.
bool packed_before(const codegen::MatrixProduct& p, codegen::RhsUse use) {
  switch (use) {
    case codegen::RhsUse::Kept: return true;
    case codegen::RhsUse::Loop: return p.rhs_column != 1;
    case codegen::RhsUse::Shared: return p.rhs_column != 1 && p.depth * p.columns <= kNear;
    case codegen::RhsUse::Once: break;
  }
  return false;
}

/// Elements of a plain rhs from which on blocks of it are packed, for so many rows.
std::int64_t most_plain(std::int64_t rows, TileLevel level) {
  constexpr std::int64_t kManyRows = 64, kSomeRows = 16, kFewRows = 4;
  if (level != TileLevel::Avx512) {  // fewer registers: rows of rhs are read in shorter runs, again
    if (rows < kFewRows) return INT64_MAX;
    return level == TileLevel::Avx2 && rows >= kManyRows ? kNear / 32 : kNear / 2;
  }
  if (rows < kSomeRows) return INT64_MAX;
  return rows >= kManyRows ? kNear : 4 * kNear;
}

/// The figures stand in tiled/README.md. For an rhs that several runs read, whether it is packed
/// depends on nothing but what PreparedProduct::packed_bytes may depend on.
RhsForm form_of(const codegen::MatrixProduct& p, codegen::RhsUse use, TileLevel level) {
  constexpr std::int64_t kFewRows = 31, kVeryFewRows = 10, kDeep = 16, kVeryDeep = 192;
  if (packed_before(p, use)) return RhsForm::Packed;
  if (p.rhs_column == 1) {
    const bool plain = p.depth * p.columns <= most_plain(p.rows, level);
    return plain ? RhsForm::Plain : RhsForm::Blocks;
  }
  const bool lines = p.lhs_depth == 1 && p.rhs_depth == 1 && p.depth >= kDeep;
  const std::int64_t most_rows = p.depth >= kVeryDeep ? kFewRows : kVeryFewRows;
  return lines && p.rows <= most_rows ? RhsForm::Lines : RhsForm::Blocks;
}

/// Own loops.
class ByTiles final : public codegen::PreparedProduct {
 public:
  ByTiles(const codegen::MatrixProduct& p, codegen::RhsUse use, TileLevel level, std::string why)
      : form_(form_of(p, use, level)),
        product_(tiled_shape_of(p), form_, level),
        why_(std::move(why)) {}

  std::size_t scratch_bytes() const override { return product_.scratch_bytes(); }
  std::size_t packed_bytes() const override {
    return form_ == RhsForm::Packed ? product_.packed_bytes() : 0;
  }
  std::string description() const override {
    return text("own loops", how(), " (", why_, ")");
  }
  void pack(const float* rhs, void* packed) const override {
    product_.pack(rhs, static_cast<float*>(packed));
  }
  void run(const float* lhs, const void* rhs, const float* bias, float* result,
           void* scratch) const override {
    product_.run(lhs, static_cast<const float*>(rhs), bias, result, static_cast<float*>(scratch));
  }

 private:
  const char* how() const {
    switch (form_) {
      case RhsForm::Packed: return ", rhs packed before";
      case RhsForm::Blocks: return ", packing blocks of rhs";
      case RhsForm::Lines: return " along the depth";
      case RhsForm::Plain: break;
    }
    return "";
  }

  RhsForm form_;
  TiledProduct product_;
  std::string why_;  // not the library
};

ProductShape shape_of(const codegen::MatrixProduct& p) {
  ProductShape shape;
  shape.m = p.rows;
  shape.n = p.columns;
  shape.k = p.depth;
  shape.lhs = {p.lhs_row, p.lhs_depth};
  shape.rhs = {p.rhs_depth, p.rhs_column};
  shape.result_row = p.result_row;
  shape.bias_per_column = p.bias;
  return shape;
}

/// Products that do little with each number of a far result, or add up far more numbers than stay
/// near, of a transposed lhs: there the library is up to 1.9 times as fast (onednn/README.md), and
/// the small blocks that it asks for in a call are nothing beside the work. Why it does not get
/// one; empty when it does.
std::string refusal_of_library(const codegen::MatrixProduct& p, TileLevel level) {
  constexpr std::int64_t kFar = 1 << 18, kShallow = 256, kSomeRows = 128;
  constexpr std::int64_t kNearResult = 1 << 15, kDeep = 1 << 14;
  const std::int64_t result = p.rows * p.columns;
  const bool plain_or_tall = p.rhs_column == 1 || p.rows > kSomeRows;
  const bool wide =
      level == TileLevel::Avx512 && result >= kFar && p.depth <= kShallow && plain_or_tall;
  const bool deep = result <= kNearResult && p.depth >= kDeep && p.lhs_depth != 1;
  if (!wide && !deep) return "oneDNN is not faster";
  const std::optional<std::string> reason = cpu::refusal(shape_of(p));
  return reason ? "oneDNN: " + *reason : "";
}

}  // namespace

std::optional<std::string> CpuProducts::refusal(const ir::Node& dot) const {
  if (dot.types[0].dtype == DType::Float32) return std::nullopt;
  return text("products are made of float32 alone, not of ", dot.types[0].dtype);
}

std::shared_ptr<const codegen::PreparedProduct> CpuProducts::prepare(
    const codegen::MatrixProduct& product, codegen::RhsUse use) {
  const std::lock_guard lock(mutex_);
  auto& known = prepared_[{product, use}];
  if (auto alive = known.lock()) return alive;
  auto made = make(product, use);
  known = made;
  return made;
}

std::string CpuProducts::refusal_of_activation(ir::Op op) const {
  if (op == ir::Op::Sigmoid) {
    return "oneDNN's logistic is up to 17.8 ulp off (3.4 with AVX2), a kernel's 2";
  }
  return "own loops have none, and oneDNN's has other bits than a kernel's";
}

std::optional<std::string> CpuProducts::refusal_of_convolution(const ir::Node& node) const {
  constexpr std::size_t kMostAxes = 3;
  const auto& attrs = node.as<ir::ConvAttrs>();
  const DType dtype = node.types[0].dtype;
  if (dtype != DType::Float32) return text("oneDNN is used for float32 alone, not for ", dtype);
  if (attrs.sizes.empty() || attrs.sizes.size() > kMostAxes) {
    return text("oneDNN takes 1 to ", kMostAxes, " spatial axes, not ", attrs.sizes.size());
  }
  if (!attrs.groups.is_static()) return text("the number of groups is not known: ", attrs.groups);
  return std::nullopt;
}

std::shared_ptr<const codegen::PreparedConvolution> CpuProducts::prepare_convolution(
    const codegen::Convolution& convolution, codegen::RhsUse use) {
  const bool packed = use != codegen::RhsUse::Once && convolution.role != codegen::ConvRole::Kernel;
  const std::lock_guard lock(mutex_);
  auto& known = convolutions_[{convolution, packed}];
  if (auto alive = known.lock()) return alive;
  auto made = make_convolution(convolution, packed);
  known = made;
  return made;
}

std::shared_ptr<const codegen::PreparedConvolution> CpuProducts::make_convolution(
    const codegen::Convolution& convolution, bool packed) const {
  const bool own = level_ == TileLevel::Avx512 && takes_kernel_gradient(convolution);
  return own ? make_kernel_gradient(convolution) : cpu::make_convolution(convolution, packed);
}

std::shared_ptr<const codegen::PreparedProduct> CpuProducts::make(
    const codegen::MatrixProduct& product, codegen::RhsUse use) const {
  std::string refusal = refusal_of_library(product, level_);
  if (!refusal.empty()) {
    return std::make_shared<ByTiles>(product, use, level_, std::move(refusal));
  }
  return std::make_shared<ByOneDnn>(Product::create(shape_of(product)), product.relu);
}

}  // namespace kiln::cpu
