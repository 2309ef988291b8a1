// The public face: checks the shape, chooses sgemm or matmul, gives failures their text.
#include "backends/cpu/onednn/direct.h"
#include "backends/cpu/onednn/ending.h"
#include "backends/cpu/onednn/matmul.h"
#include "backends/cpu/onednn/openmp.h"

#include <kiln/error.h>

#include <atomic>
#include <utility>

namespace kiln::cpu {

struct Product::Impl {
  ProductShape shape;
  LibraryProduct view;
  std::unique_ptr<Matmul> matmul = nullptr;  // null where sgemm is used
  mutable std::atomic<bool> packed_once = false, ran_once = false;

  /// Tells the library's end of what was done for the first time.
  void did(const char* what, std::atomic<bool>& once) const noexcept;
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

/// What remains when the library is gone: plain sums.
void run_without_library(const ProductShape& p, const float* lhs, const float* rhs,
                         const float* bias, float* result) noexcept {
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        const float* left = lhs + b * p.lhs.batch_stride + i * p.lhs.row_stride;
        const float* right = rhs + b * p.rhs.batch_stride + j * p.rhs.column_stride;
        float sum = p.bias_per_column ? bias[j] : 0.0f;
        for (std::int64_t k = 0; k < p.k; ++k) {
          sum += left[k * p.lhs.column_stride] * right[k * p.rhs.row_stride];
        }
        float& to = result[b * p.result.batch_stride + i * p.result.row_stride +
                           j * p.result.column_stride];
        to = p.accumulate ? to + sum : sum;
      }
    }
  }
}

}  // namespace

void Product::Impl::did(const char* what, std::atomic<bool>& once) const noexcept {
  if (once.load(std::memory_order_relaxed) || once.exchange(true)) return;
  // Kernels are made for a form and for single rows and columns.
  std::string form = what;
  for (const bool part : {view.lhs.transposed, view.rhs.transposed, view.swapped, view.m == 1,
                          view.n == 1, view.k == 1, shape.bias_per_column}) {
    form += part ? '1' : '0';
  }
  library_has_done(form + (matmul ? matmul->implementation() : "sgemm"));
}

Product::Product(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Product::~Product() = default;

std::shared_ptr<const Product> Product::create(const ProductShape& shape) {
  const LibraryProduct view = checked_view(shape);
  auto impl = std::unique_ptr<Impl>(new Impl{shape, view});
  const LibraryUse library;
  if (library && !direct_is_faster(view, shape)) {
    impl->matmul = make_matmul(view, shape);
    std::atomic<bool> made_once = false;
    impl->did("made", made_once);
  }
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
  const LibraryUse library;
  if (!library) return kProcessEnds;
  const int status = impl_->matmul ? impl_->matmul->pack(rhs, packed) : dnnl_invalid_arguments;
  impl_->did("packed", impl_->packed_once);
  return status;
}

int Product::run(const float* lhs, const void* rhs_or_packed, const float* bias, float* result,
                 void* scratch) const noexcept {
  const LibraryUse library;
  if (!library) {
    if (impl_->shape.packed_rhs) return kProcessEnds;
    run_without_library(impl_->shape, lhs, static_cast<const float*>(rhs_or_packed), bias, result);
    return dnnl_success;
  }
  const void* left = lhs;
  const void* right = rhs_or_packed;
  if (impl_->view.swapped) std::swap(left, right);
  const auto* lhs_values = static_cast<const float*>(left);
  const int status =
      impl_->matmul ? impl_->matmul->run(lhs_values, right, bias, result, scratch)
                    : run_direct(impl_->view, impl_->shape, lhs_values,
                                 static_cast<const float*>(right), bias, result);
  impl_->did("ran", impl_->ran_once);
  return status;
}

void prepare_thread_for_products() noexcept { const OneOpenmpThread one; }

}  // namespace kiln::cpu
