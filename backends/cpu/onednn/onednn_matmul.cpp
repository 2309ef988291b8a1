// Checks shapes, describes failures, and computes by plain loops once the process exits.
#include "backends/cpu/onednn/onednn_matmul.h"

#include "backends/cpu/onednn/matmul_primitive.h"
#include "backends/cpu/onednn/openmp.h"
#include "backends/cpu/process_exit/jit_memory_check.h"
#include "backends/cpu/process_exit/library_guard.h"

#include <kiln/error.h>

#include <atomic>
#include <new>
#include <utility>

namespace kiln::cpu {

struct OneDnnMatmul::Impl {
  OneDnnMatmulShape shape;
  DenseMatmul dense;
  std::unique_ptr<MatmulPrimitive> matmul = nullptr;  // null: created while the process exits
  mutable std::atomic<bool> ran_once = false;

  /// Calls guard_exit_after() for the first use of this kind; `use`: "created" or "ran".
  void guard_exit_after_first(const char* use) const;
};

namespace {

DenseMatmul checked_form(const OneDnnMatmulShape& shape) {
  if (shape.m < 1 || shape.n < 1 || shape.k < 1) {
    throw InternalError("", "", "an empty matmul reached oneDNN (" + to_string(shape) + ")");
  }
  DenseForm form = dense_form(shape);
  if (form.matmul) return *form.matmul;
  throw BackendError("", "",
                     "oneDNN cannot take the matmul (" + to_string(shape) + "): " + form.rejection);
}

std::unique_ptr<MatmulPrimitive> make_matmul(const DenseMatmul& dense,
                                             const OneDnnMatmulShape& shape) {
  const ScopedOneOpenmpThread one;
  try {
    return std::make_unique<MatmulPrimitive>(dense, shape.bias_per_column);
  } catch (const LibraryFailure& failure) {
    if (failure.status == dnnl_out_of_memory) throw std::bad_alloc();
    throw BackendError("", "",
                       "oneDNN " + onednn_version() + ": " + failure.call + " gave " +
                           status_text(failure.status) + " (" + to_string(shape) + ")");
  }
}

/// Computes plain sums, for runs while the process exits.
void run_fallback(const OneDnnMatmulShape& p, const float* lhs, const float* rhs, const float* bias,
                  float* result) noexcept {
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

void OneDnnMatmul::Impl::guard_exit_after_first(const char* use) const {
  // oneDNN generates other kernels for each of these properties.
  std::string kind = use;
  for (const bool property : {dense.lhs.transposed, dense.rhs.transposed, dense.m == 1,
                              dense.n == 1, dense.k == 1, shape.bias_per_column}) {
    kind += property ? '1' : '0';
  }
  guard_exit_after(kind + matmul->implementation());
}

OneDnnMatmul::OneDnnMatmul(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OneDnnMatmul::~OneDnnMatmul() = default;

std::shared_ptr<const OneDnnMatmul> OneDnnMatmul::create(const OneDnnMatmulShape& shape) {
  const DenseMatmul dense = checked_form(shape);
  auto impl = std::unique_ptr<Impl>(new Impl{shape, dense});
  const LibraryGuard guard;
  if (guard) {
    const JitMemoryCheck memory;
    memory.require();
    impl->matmul = make_matmul(dense, shape);
    impl->guard_exit_after_first("created");
  }
  return std::shared_ptr<const OneDnnMatmul>(new OneDnnMatmul(std::move(impl)));
}

const OneDnnMatmulShape& OneDnnMatmul::shape() const noexcept { return impl_->shape; }

std::size_t OneDnnMatmul::scratch_bytes() const noexcept {
  return impl_->matmul ? impl_->matmul->scratch_bytes() : 0;
}

std::string OneDnnMatmul::implementation() const {
  return impl_->matmul ? impl_->matmul->implementation() : "plain loops";
}

int OneDnnMatmul::run(const float* lhs, const float* rhs, const float* bias, float* result,
                      void* scratch) const noexcept {
  const LibraryGuard guard;
  if (!guard || !impl_->matmul) {
    run_fallback(impl_->shape, lhs, rhs, bias, result);
    return dnnl_success;
  }
  const MatmulPrimitive& matmul = *impl_->matmul;
  if (impl_->ran_once) return matmul.run(lhs, rhs, bias, result, scratch);
  const JitMemoryCheck memory;  // the first run generates code, too
  if (!memory) return dnnl_out_of_memory;
  const int status = matmul.run(lhs, rhs, bias, result, scratch);
  try {
    impl_->guard_exit_after_first("ran");
  } catch (const std::bad_alloc&) {
    return dnnl_out_of_memory;
  }
  impl_->ran_once = true;
  return status;
}

}  // namespace kiln::cpu
