// float32 alone; strides that oneDNN does not take are found when sizes are known.
#include "backends/cpu/onednn_products.h"

#include "backends/abi/kiln_backend_sdk.h"

namespace kiln::cpu {
namespace {

class Prepared final : public codegen::PreparedProduct {
 public:
  explicit Prepared(std::shared_ptr<const Product> product) : product_(std::move(product)) {}
  std::size_t scratch_bytes() const override { return product_->scratch_bytes(); }
  void run(const float* lhs, const float* rhs, float* result, void* scratch) const override {
    const int status = product_->run(lhs, rhs, nullptr, result, scratch);
    if (status == 0) return;
    throw sdk::Failure(KILN_CODE_INTERNAL,
                       "oneDNN: " + status_text(status) + " in the product " +
                           to_string(product_->shape()));
  }

 private:
  std::shared_ptr<const Product> product_;
};

ProductShape shape_of(const codegen::MatrixProduct& p) {
  ProductShape shape;
  shape.batch = p.batch;
  shape.m = p.rows;
  shape.n = p.columns;
  shape.k = p.depth;
  shape.lhs = {p.lhs_row, p.lhs_depth, p.lhs_batch};
  shape.rhs = {p.rhs_depth, p.rhs_column, p.rhs_batch};
  shape.result = {p.result_row, p.result_column, p.result_batch};
  return shape;
}

}  // namespace

std::optional<std::string> OneDnnProducts::refusal(const ir::Node& dot) const {
  if (dot.types[0].dtype == DType::Float32) return std::nullopt;
  return "oneDNN is used for float32 alone";
}

std::shared_ptr<const codegen::PreparedProduct> OneDnnProducts::prepare(
    const codegen::MatrixProduct& product) {
  const std::lock_guard lock(mutex_);
  auto& known = prepared_[product];
  if (auto alive = known.lock()) return alive;
  auto made = std::make_shared<Prepared>(Product::create(shape_of(product)));
  known = made;
  return made;
}

}  // namespace kiln::cpu
