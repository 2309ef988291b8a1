// The public face: checks the shape, chooses sgemm or matmul, gives failures their text.
#include "backends/cpu/onednn/direct.h"
#include "backends/cpu/onednn/matmul.h"
#include "backends/cpu/onednn/openmp.h"

#include <kiln/error.h>

#include <utility>

namespace kiln::cpu {

struct Product::Impl {
  ProductShape shape;
  LibraryProduct view;
  std::unique_ptr<Matmul> matmul;  // null where sgemm is used
};

namespace {

LibraryProduct checked_view(const ProductShape& shape) {
  if (shape.batch < 1 || shape.m < 1 || shape.n < 1 || shape.k < 1) {
    throw InternalError("", "", "an empty product reached oneDNN (" + to_string(shape) + ")");
  }
  LibraryView view = library_view(shape);
  if (view.product) return *view.product;
  throw BackendError("", "", "oneDNN cannot take the product (" + to_string(shape) + "): " +
                                 view.refusal);
}

std::unique_ptr<Matmul> make_matmul(const LibraryProduct& view, const ProductShape& shape) {
  const OneOpenmpThread one;
  try {
    return std::make_unique<Matmul>(view, shape);
  } catch (const LibraryFailure& failure) {
    throw BackendError("", "", "oneDNN " + onednn_version() + ": " + failure.call + " gave " +
                                   status_text(failure.status) + " (" + to_string(shape) + ")");
  }
}

}  // namespace

Product::Product(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Product::~Product() = default;

std::shared_ptr<const Product> Product::create(const ProductShape& shape) {
  const LibraryProduct view = checked_view(shape);
  auto impl = std::make_unique<Impl>(Impl{shape, view, nullptr});
  if (!direct_is_faster(view, shape)) impl->matmul = make_matmul(view, shape);
  return std::shared_ptr<const Product>(new Product(std::move(impl)));
}

const ProductShape& Product::shape() const noexcept { return impl_->shape; }

std::size_t Product::packed_rhs_bytes() const noexcept {
  return impl_->matmul ? impl_->matmul->packed_bytes() : 0;
}

std::size_t Product::scratch_bytes() const noexcept {
  return impl_->matmul ? impl_->matmul->scratch_bytes() : 0;
}

std::string Product::implementation() const {
  return impl_->matmul ? impl_->matmul->implementation() : "sgemm";
}

int Product::pack_rhs(const float* rhs, void* packed) const noexcept {
  return impl_->matmul ? impl_->matmul->pack(rhs, packed) : dnnl_invalid_arguments;
}

int Product::run(const float* lhs, const void* rhs_or_packed, const float* bias, float* result,
                 void* scratch) const noexcept {
  const void* left = lhs;
  const void* right = rhs_or_packed;
  if (impl_->view.swapped) std::swap(left, right);
  const auto* lhs_values = static_cast<const float*>(left);
  if (impl_->matmul) return impl_->matmul->run(lhs_values, right, bias, result, scratch);
  return run_direct(impl_->view, impl_->shape, lhs_values, static_cast<const float*>(right), bias,
                    result);
}

void prepare_thread_for_products() noexcept { const OneOpenmpThread one; }

}  // namespace kiln::cpu
