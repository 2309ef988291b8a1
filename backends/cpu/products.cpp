// float32 alone; strides that oneDNN does not take are found when sizes are known.
#include "backends/cpu/products.h"

#include "backends/abi/kiln_backend_sdk.h"
#include "core/types/text.h"

namespace kiln::cpu {
namespace {

class ByOneDnn final : public codegen::PreparedProduct {
 public:
  ByOneDnn(std::shared_ptr<const Product> product, bool relu)
      : product_(std::move(product)), relu_(relu) {}
  std::size_t scratch_bytes() const override { return product_->scratch_bytes(); }
  std::size_t packed_bytes() const override { return product_->packed_rhs_bytes(); }
  std::string description() const override {
    return text("oneDNN ", onednn_version(), " ", product_->implementation());
  }
  void pack(const float* rhs, void* packed) const override {
    check(product_->pack_rhs(rhs, packed));
  }
  void run(const float* lhs, const void* rhs, const float* bias, float* result,
           void* scratch) const override {
    check(product_->run(lhs, rhs, bias, result, scratch));
    if (relu_) apply_relu(result);
  }

 private:
  void check(int status) const {
    if (status == 0) return;
    throw sdk::Failure(KILN_CODE_INTERNAL, "oneDNN: " + status_text(status) + " in the product " +
                                               to_string(product_->shape()));
  }

  /// The library's own makes 0 of NaN. What was just written is still near.
  void apply_relu(float* result) const {
    const ProductShape& shape = product_->shape();
    for (std::int64_t i = 0; i < shape.m; ++i, result += shape.result.row_stride) {
      for (std::int64_t j = 0; j < shape.n; ++j) result[j] = result[j] <= 0 ? 0.0f : result[j];
    }
  }

  std::shared_ptr<const Product> product_;
  bool relu_;
};

class ByPackedLoops final : public codegen::PreparedProduct {
 public:
  ByPackedLoops(const PackedShape& shape, PackedLevel level) : product_(shape, level) {}
  std::size_t scratch_bytes() const override { return 0; }
  std::size_t packed_bytes() const override { return product_.packed_bytes(); }
  std::string description() const override { return "own packed loops"; }
  void pack(const float* rhs, void* packed) const override {
    product_.pack(rhs, static_cast<float*>(packed));
  }
  void run(const float* lhs, const void* rhs, const float* bias, float* result,
           void*) const override {
    product_.run(lhs, static_cast<const float*>(rhs), bias, result);
  }

 private:
  PackedProduct product_;
};

/// Neighbours of the result's rows lie together, and a vector of columns is worth its loads. Looks
/// at nothing but what PreparedProduct::packed_bytes may depend on, and at the batch.
bool suits_packed_loops(const codegen::MatrixProduct& product) {
  constexpr std::int64_t kFewestColumns = 16;
  return product.batch == 1 && product.result_column == 1 && product.columns >= kFewestColumns;
}

PackedShape packed_shape_of(const codegen::MatrixProduct& p) {
  return {p.rows,      p.columns,    p.depth,      p.lhs_row, p.lhs_depth,
          p.rhs_depth, p.rhs_column, p.result_row, p.relu};
}

ProductShape shape_of(const codegen::MatrixProduct& p) {
  ProductShape shape;
  shape.batch = p.batch;
  shape.m = p.rows;
  shape.n = p.columns;
  shape.k = p.depth;
  shape.lhs = {p.lhs_row, p.lhs_depth, p.lhs_batch};
  shape.rhs = {p.rhs_depth, p.rhs_column, p.rhs_batch};
  shape.bias_per_column = p.bias;
  shape.result = {p.result_row, p.result_column, p.result_batch};
  return shape;
}

}  // namespace

std::optional<std::string> CpuProducts::refusal(const ir::Node& dot) const {
  if (dot.types[0].dtype == DType::Float32) return std::nullopt;
  return text("oneDNN is used for float32 alone, not for ", dot.types[0].dtype);
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

std::shared_ptr<const codegen::PreparedProduct> CpuProducts::make(
    const codegen::MatrixProduct& product, codegen::RhsUse use) const {
  if (use == codegen::RhsUse::Kept && suits_packed_loops(product)) {
    return std::make_shared<ByPackedLoops>(packed_shape_of(product), level_);
  }
  return std::make_shared<ByOneDnn>(Product::create(shape_of(product)), product.relu);
}

}  // namespace kiln::cpu
