// Prepared matmuls, by the implementation that gemm_table.h has for their dtype and sizes, and
// convolutions.
#include "backends/cpu/products.h"

#include "backends/cpu/direct_convolution/depthwise.h"
#include "backends/cpu/direct_convolution/kernel_gradient.h"
#include "backends/cpu/gemm_table.h"
#include "backends/cpu/native_products.h"
#include "backends/cpu/onednn/convolutions.h"
#include "core/ops/op.h"
#include "core/types/text.h"

#include <kiln/error.h>

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
  void run(const void* lhs, const void* rhs, const void* bias, void* to,
           void* scratch) const override {
    auto* result = static_cast<float*>(to);
    check(product_->run(static_cast<const float*>(lhs), static_cast<const float*>(rhs),
                        static_cast<const float*>(bias), result, scratch));
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

RhsForm form_of(GemmImplementation implementation) {
  switch (implementation) {
    case GemmImplementation::TiledPacked: return RhsForm::Packed;
    case GemmImplementation::TiledBlocks: return RhsForm::Blocks;
    case GemmImplementation::TiledLines: return RhsForm::Lines;
    case GemmImplementation::TiledPlain: break;
    case GemmImplementation::OneDnn: throw InternalError("", "", "oneDNN is not own loops");
  }
  return RhsForm::Plain;
}

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

}  // namespace

std::optional<std::string> CpuProducts::rejection_of_matmul(
    const codegen::MatmulRequest& matmul) const {
  if (has_native_gemm(matmul.dtype)) return std::nullopt;
  return text("neither oneDNN nor the native GEMM is used for matmuls of ", matmul.dtype);
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

std::optional<std::string> CpuProducts::rejection_of_epilogue(const ir::Node&,
                                                              codegen::EpilogueOp op) const {
  switch (op) {
    case codegen::EpilogueOp::Bias:
    case codegen::EpilogueOp::Relu: break;
    case codegen::EpilogueOp::Tanh:
      return "own loops have none, and oneDNN's has other bits than a kernel's";
    case codegen::EpilogueOp::Sigmoid:
      return "oneDNN's logistic is up to 17.8 ulp off (3.4 with AVX2), a kernel's 2";
  }
  return std::nullopt;
}

std::optional<std::string> CpuProducts::rejection_of_convolution(const ir::Node& node) const {
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
  if (takes_depthwise(convolution)) return make_depthwise(convolution, level_);
  const bool own = level_ == TileLevel::Avx512 && takes_kernel_gradient(convolution);
  return own ? make_kernel_gradient(convolution) : cpu::make_convolution(convolution, packed);
}

std::shared_ptr<const codegen::PreparedProduct> CpuProducts::make(
    const codegen::MatrixProduct& product, codegen::RhsUse use) const {
  const GemmRow* row = &gemm_row(product, use, level_, true);
  const bool is_float32 = product.dtype == DType::Float32;
  std::string why = is_float32 ? "oneDNN is not faster" : "";
  if (row->implementation == GemmImplementation::OneDnn) {
    const ProductShape shape = shape_of(product);
    const std::optional<std::string> rejection = cpu::refusal(shape);
    if (!rejection) return std::make_shared<ByOneDnn>(Product::create(shape), product.relu);
    why = "oneDNN: " + *rejection;
    row = &gemm_row(product, use, level_, false);
  }
  return make_native_product(product, form_of(row->implementation), level_, std::move(why));
}

}  // namespace kiln::cpu
