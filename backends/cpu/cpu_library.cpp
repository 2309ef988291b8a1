// Prepares matmuls and convolutions by the implementations that the two tables choose.
#include "backends/cpu/cpu_library.h"

#include "backends/cpu/attention/native_attention.h"
#include "backends/cpu/convolution_table.h"
#include "backends/cpu/direct_convolution/backward_weights.h"
#include "backends/cpu/direct_convolution/depthwise.h"
#include "backends/cpu/direct_convolution/forward.h"
#include "backends/cpu/direct_convolution/forward_by_panels.h"
#include "backends/cpu/gemm_table.h"
#include "backends/cpu/native_matmul.h"
#include "backends/cpu/onednn/convolutions.h"
#include "backends/cpu/onednn/flipped_filter.h"
#include "backends/cpu/pointwise_gradient.h"
#include "core/ops/halves.h"
#include "core/ops/op.h"
#include "core/types/text.h"

#include <kiln/error.h>

namespace kiln::cpu {
namespace {

class PreparedOneDnnMatmul final : public codegen::PreparedMatmul {
 public:
  PreparedOneDnnMatmul(std::shared_ptr<const OneDnnMatmul> matmul, bool relu)
      : matmul_(std::move(matmul)), relu_(relu) {}
  std::size_t scratch_bytes() const override { return matmul_->scratch_bytes(); }
  std::size_t retained_bytes() const override { return 1 << 16; }  // a primitive's code, about
  std::string description() const override {
    return text("oneDNN ", onednn_version(), " ", matmul_->implementation());
  }
  void run(const void* lhs, const void* rhs, const void* bias, void* to,
           void* scratch) const override {
    auto* result = static_cast<float*>(to);
    check(matmul_->run(static_cast<const float*>(lhs), static_cast<const float*>(rhs),
                       static_cast<const float*>(bias), result, scratch));
    if (relu_) apply_relu(result);
  }

 private:
  void check(int status) const {
    if (status != 0) fail_with(status, "in the matmul " + to_string(matmul_->shape()));
  }

  /// Keeps NaN, of which oneDNN's ReLU would make 0. The result is still in the cache.
  void apply_relu(float* result) const {
    const OneDnnMatmulShape& shape = matmul_->shape();
    for (std::int64_t i = 0; i < shape.m; ++i, result += shape.result_row) {
      for (std::int64_t j = 0; j < shape.n; ++j) result[j] = result[j] <= 0 ? 0.0f : result[j];
    }
  }

  std::shared_ptr<const OneDnnMatmul> matmul_;
  bool relu_;
};

RhsForm form_of(GemmImplementation implementation) {
  switch (implementation) {
    case GemmImplementation::NativePrepacked: return RhsForm::Prepacked;
    case GemmImplementation::NativePackBlocks: return RhsForm::PackBlocks;
    case GemmImplementation::NativeDotProducts: return RhsForm::DotProducts;
    case GemmImplementation::NativeInPlace: break;
    case GemmImplementation::NativeTransposed:
    case GemmImplementation::OneDnn: throw InternalError("", "", "not a form of the native GEMM");
  }
  return RhsForm::InPlace;
}

/// The node that computed `x` in 16 bits, before it was moved or widened; null: in no 16 bits.
const ir::Node* source_of_halves(const ir::Value& x) {
  const ir::Node* node = &*x.node;
  bool is_half = ir::is_half(x.dtype());
  for (;; node = &*node->operands[0].node) {
    const bool widens = node->op == ir::Op::Cast && ir::is_half(node->operands[0].dtype());
    const bool moves = def(*node).lowering == ir::Lowering::Movement && node->operands.size() == 1;
    if (!widens && !moves) return is_half ? node : nullptr;
    is_half = is_half || widens;
  }
}

/// Whether a kernel computes the matmul: it widens the elements of a matrix of 16-bit floats while
/// it multiplies them by a vector. The library is faster with a weight as the second operand, which
/// it packs for many calls or steps.
bool is_for_kernel(const codegen::MatmulRequest& matmul) {
  const codegen::BatchedMatmul& form = matmul.form;
  const bool has_row = form.m.size.is_one(), has_column = form.n.size.is_one();
  if (!has_row && !has_column) return false;
  const bool is_second = has_column == form.swapped;  // the matrix is, of the Dot's operands
  const ir::Node* const matrix = source_of_halves(matmul.node.operands[is_second ? 1 : 0]);
  if (!matrix) return false;
  const bool is_weight = matrix->op == ir::Op::Variable || matrix->op == ir::Op::Constant ||
                         matrix->op == ir::Op::Parameter;
  return !(is_second && is_weight);
}

OneDnnMatmulShape shape_of(const codegen::MatmulShape& p) {
  return {.m = p.m,
          .n = p.n,
          .k = p.k,
          .lhs = {.row_stride = p.lhs_m, .column_stride = p.lhs_k},
          .rhs = {.row_stride = p.rhs_k, .column_stride = p.rhs_n},
          .result_row = p.result_m,
          .bias_per_column = p.bias};
}

}  // namespace

std::optional<std::string> CpuLibrary::rejection_of_matmul(
    const codegen::MatmulRequest& matmul) const {
  if (is_for_kernel(matmul)) return "a kernel widens a matrix of 16-bit floats for a vector";
  if (has_native_gemm(matmul.dtype)) return std::nullopt;
  return text("neither oneDNN nor the native GEMM is used for matmuls of ", matmul.dtype);
}

std::shared_ptr<const codegen::PreparedMatmul> CpuLibrary::prepare(
    const codegen::MatmulShape& shape, codegen::RhsUse use) {
  const std::lock_guard lock(mutex_);
  return matmuls_.of({shape, use}, [&] { return make(shape, use); });
}

std::optional<std::string> CpuLibrary::rejection_of_epilogue(const ir::Node& node,
                                                             codegen::EpilogueOp op) const {
  if (ir::is_half(node.types[0].dtype)) return "the GEMM of halves has no epilogue";
  switch (op) {
    case codegen::EpilogueOp::Bias:
    case codegen::EpilogueOp::Relu: break;
    case codegen::EpilogueOp::BoundedRelu:
      if (node.op == ir::Op::Conv) break;
      return "matmuls have no relu with a bound";
    case codegen::EpilogueOp::Tanh:
      return "the native GEMM has no tanh, and oneDNN's differs in bits from a kernel's";
    case codegen::EpilogueOp::Sigmoid:
      return "oneDNN's logistic is up to 17.8 ulp off (3.4 with AVX2), a kernel's 2";
  }
  return std::nullopt;
}

std::optional<std::string> CpuLibrary::rejection_of_convolution(const ir::Node& node) const {
  constexpr std::size_t kMaxAxes = 3;
  const auto& attrs = node.as<ir::ConvAttrs>();
  const DType dtype = node.types[0].dtype;
  if (dtype != DType::Float32) {
    return text("convolutions are computed only in float32, not in ", dtype);
  }
  if (attrs.sizes.empty() || attrs.sizes.size() > kMaxAxes) {
    return text("convolutions take 1 to ", kMaxAxes, " spatial axes, not ", attrs.sizes.size());
  }
  if (!attrs.groups.is_static()) return text("the number of groups is not known: ", attrs.groups);
  return std::nullopt;
}

std::optional<std::string> CpuLibrary::rejection_of_attention(const ir::Node& node) const {
  return rejection_of_native_attention(node);
}

std::shared_ptr<const codegen::PreparedAttention> CpuLibrary::prepare_attention(
    const codegen::AttentionShape& shape) {
  return make_native_attention(shape, isa_);
}

std::shared_ptr<const codegen::PreparedConvolution> CpuLibrary::prepare_convolution(
    const codegen::Convolution& given, codegen::RhsUse use) {
  const codegen::Convolution convolution = without_unit_axes(given);
  const bool packed = use != codegen::RhsUse::Once && convolution.role != codegen::ConvRole::Filter;
  const std::lock_guard lock(mutex_);
  return convolutions_.of({convolution, packed},
                          [&] { return make_convolution(convolution, packed); });
}

std::shared_ptr<const codegen::PreparedConvolution> CpuLibrary::make_convolution(
    const codegen::Convolution& convolution, bool packed) const {
  switch (convolution_row(convolution, packed, isa_).implementation) {
    case ConvolutionImplementation::Depthwise: return make_depthwise(convolution, isa_);
    case ConvolutionImplementation::Forward: return make_forward(convolution, packed, isa_);
    case ConvolutionImplementation::ForwardByPanels:
      return make_forward_by_panels(convolution,
                                    packed ? PanelFilter::Prepacked : PanelFilter::Packing, isa_);
    case ConvolutionImplementation::BackwardWeights:
      return make_backward_weights(convolution, isa_);
    case ConvolutionImplementation::PointwiseGradient:
      return make_pointwise_gradient(convolution, [this](const codegen::MatmulShape& shape) {
        return make_native(shape, codegen::RhsUse::Once, "");
      });
    case ConvolutionImplementation::FlippedByPanels:
      return make_forward_by_panels(*as_forward_convolution(convolution), PanelFilter::Flipped,
                                    isa_);
    case ConvolutionImplementation::FlippedForward:
      return make_flipped_filter_convolution(
          convolution, packed, make_forward(*as_forward_convolution(convolution), packed, isa_),
          /*uses_onednn=*/false);
    case ConvolutionImplementation::OneDnn: break;
  }
  return cpu::make_convolution(convolution, packed);
}

std::shared_ptr<const codegen::PreparedMatmul> CpuLibrary::make(const codegen::MatmulShape& shape,
                                                                codegen::RhsUse use) const {
  if (shape.narrow_rhs) return make_widening_matmul(shape, isa_);
  if (gemm_row(shape, use, isa_, true).implementation != GemmImplementation::OneDnn) {
    return make_native(shape, use, shape.dtype == DType::Float32 ? "oneDNN is not faster" : "");
  }
  const OneDnnMatmulShape by_onednn = shape_of(shape);
  const std::optional<std::string> rejection = cpu::rejection_of(by_onednn);
  if (rejection) return make_native(shape, use, "oneDNN: " + *rejection);
  return std::make_shared<PreparedOneDnnMatmul>(OneDnnMatmul::create(by_onednn), shape.relu);
}

std::shared_ptr<const codegen::PreparedMatmul> CpuLibrary::make_native(
    const codegen::MatmulShape& shape, codegen::RhsUse use, std::string reason) const {
  const GemmImplementation by = gemm_row(shape, use, isa_, false).implementation;
  if (by == GemmImplementation::NativeTransposed) return make_transposed_matmul(shape, isa_);
  return make_native_matmul(shape, form_of(by), isa_, std::move(reason));
}

}  // namespace kiln::cpu
