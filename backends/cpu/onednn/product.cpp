// The public face: checks the shape, gives failures their text, and does without the library once
// it is gone.
#include "backends/cpu/onednn/ending.h"
#include "backends/cpu/onednn/matmul.h"
#include "backends/cpu/onednn/openmp.h"
#include "backends/cpu/onednn/room.h"

#include <kiln/error.h>

#include <atomic>
#include <new>
#include <utility>

namespace kiln::cpu {

struct Product::Impl {
  ProductShape shape;
  LibraryProduct view;
  std::unique_ptr<Matmul> matmul = nullptr;  // null once the process is ending
  mutable std::atomic<bool> ran_once = false;

  /// Tells the library's end of what was done for the first time.
  void did(const char* what) const;
};

namespace {

LibraryProduct checked_view(const ProductShape& shape) {
  if (shape.m < 1 || shape.n < 1 || shape.k < 1) {
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
    return std::make_unique<Matmul>(view, shape.bias_per_column);
  } catch (const LibraryFailure& failure) {
    if (failure.status == dnnl_out_of_memory) throw std::bad_alloc();
    throw BackendError("", "", "oneDNN " + onednn_version() + ": " + failure.call + " gave " +
                                   status_text(failure.status) + " (" + to_string(shape) + ")");
  }
}

/// What remains when the library is gone: plain sums.
void run_without_library(const ProductShape& p, const float* lhs, const float* rhs,
                         const float* bias, float* result) noexcept {
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      const float* left = lhs + i * p.lhs.row_stride;
      const float* right = rhs + j * p.rhs.column_stride;
      float sum = p.bias_per_column ? bias[j] : 0.0f;
      for (std::int64_t k = 0; k < p.k; ++k) {
        sum += left[k * p.lhs.column_stride] * right[k * p.rhs.row_stride];
      }
      result[i * p.result_row + j] = sum;
    }
  }
}

}  // namespace

void Product::Impl::did(const char* what) const {
  // Kernels are made for a form and for single rows and columns.
  std::string form = what;
  for (const bool part : {view.lhs.transposed, view.rhs.transposed, view.m == 1, view.n == 1,
                          view.k == 1, shape.bias_per_column}) {
    form += part ? '1' : '0';
  }
  library_has_done(form + matmul->implementation());
}

Product::Product(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Product::~Product() = default;

std::shared_ptr<const Product> Product::create(const ProductShape& shape) {
  const LibraryProduct view = checked_view(shape);
  auto impl = std::unique_ptr<Impl>(new Impl{shape, view});
  const LibraryUse library;
  if (library) {
    const Room room;
    room.require();
    impl->matmul = make_matmul(view, shape);
    impl->did("made");
  }
  return std::shared_ptr<const Product>(new Product(std::move(impl)));
}

const ProductShape& Product::shape() const noexcept { return impl_->shape; }

std::size_t Product::scratch_bytes() const noexcept {
  return impl_->matmul ? impl_->matmul->scratch_bytes() : 0;
}

std::string Product::implementation() const {
  return impl_->matmul ? impl_->matmul->implementation() : "without the library";
}

int Product::run(const float* lhs, const float* rhs, const float* bias, float* result,
                 void* scratch) const noexcept {
  const LibraryUse library;
  if (!library || !impl_->matmul) {
    run_without_library(impl_->shape, lhs, rhs, bias, result);
    return dnnl_success;
  }
  const Matmul& matmul = *impl_->matmul;
  if (impl_->ran_once) return matmul.run(lhs, rhs, bias, result, scratch);
  const Room room;  // some code is made by the first run
  if (!room) return dnnl_out_of_memory;
  const int status = matmul.run(lhs, rhs, bias, result, scratch);
  try {
    impl_->did("ran");
  } catch (const std::bad_alloc&) {
    return dnnl_out_of_memory;
  }
  impl_->ran_once = true;
  return status;
}

}  // namespace kiln::cpu
