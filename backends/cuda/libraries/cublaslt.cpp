// Creates descriptors, queries the heuristic for algorithms, and queues calls.
#include "backends/cuda/libraries/cublaslt.h"

#include "backends/cuda/api/api_failure.h"
#include "backends/cuda/api/reported.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

using api::CublasStatus;

/// The size that NVIDIA recommends for devices of compute capability 9.0.
constexpr std::int64_t kMaxWorkspaceBytes = std::int64_t{32} << 20;
constexpr std::uint64_t kWorkspaceAlignment = 256;
/// In bytes: the widest vector loads of kernels.
constexpr std::uint32_t kAlignment = 16;

void check(const api::CublasLt& library, CublasStatus status, const std::string& action) {
  if (status != CublasStatus::Success) throw failure(library, status, action);
}

api::CublasDataType data_type_of(DType dtype) {
  switch (dtype) {
    case DType::Float64: return api::CublasDataType::Float64;
    case DType::Float16: return api::CublasDataType::Float16;
    case DType::BFloat16: return api::CublasDataType::BFloat16;
    default: return api::CublasDataType::Float32;
  }
}

/// Of alpha and beta.
api::CublasDataType scale_type_of(DType dtype) {
  return dtype == DType::Float64 ? api::CublasDataType::Float64 : api::CublasDataType::Float32;
}

api::CublasComputeType compute_type_of(const MatmulDescription& matmul) {
  if (matmul.dtype == DType::Float64) return api::CublasComputeType::Float64;
  return matmul.tf32 ? api::CublasComputeType::Float32Tf32 : api::CublasComputeType::Float32;
}

template <class Value>
void set(const api::CublasLt& library, api::MatmulHandle matmul, api::MatmulAttribute attribute,
         Value value) {
  check(library, library.matmul_set_attribute(matmul, attribute, &value, sizeof(value)),
        "describe a matmul");
}

template <class Value>
void set(const api::CublasLt& library, api::LayoutHandle layout, api::LayoutAttribute attribute,
         Value value) {
  check(library, library.layout_set_attribute(layout, attribute, &value, sizeof(value)),
        "describe a matrix");
}

api::LayoutHandle create_layout(const api::CublasLt& library, const MatrixLayout& matrix,
                                const MatmulDescription& matmul) {
  api::LayoutHandle layout = nullptr;
  check(library,
        library.layout_create(&layout, data_type_of(matmul.dtype),
                              static_cast<std::uint64_t>(matrix.rows),
                              static_cast<std::uint64_t>(matrix.columns), matrix.leading_dim),
        "describe a matrix");
  return layout;
}

void set_batches(const api::CublasLt& library, api::LayoutHandle layout, const MatrixLayout& matrix,
                 const MatmulDescription& matmul) {
  if (matmul.batches == 1) return;
  set(library, layout, api::LayoutAttribute::BatchCount, static_cast<std::int32_t>(matmul.batches));
  set(library, layout, api::LayoutAttribute::BatchStride, matrix.batch_stride);
}

std::int32_t transpose(bool transposes) {
  return static_cast<std::int32_t>(transposes ? api::CublasTranspose::Yes
                                              : api::CublasTranspose::No);
}

/// Owns a preference descriptor, the constraints of a query of the heuristic.
class Preference {
 public:
  Preference(const api::CublasLt& library, std::uint32_t alignment) : library_(library) {
    using Attribute = api::PreferenceAttribute;
    check(library_, library_.preference_create(&handle_), "search an algorithm");
    try {
      set(Attribute::MaxWorkspaceBytes, static_cast<std::uint64_t>(kMaxWorkspaceBytes));
      set(Attribute::ReductionSchemes,
          static_cast<std::uint32_t>(api::ReductionScheme::ComputeType));
      for (const Attribute one : {Attribute::AlignmentA, Attribute::AlignmentB,
                                  Attribute::AlignmentC, Attribute::AlignmentD}) {
        set(one, alignment);
      }
    } catch (...) {
      library_.preference_destroy(handle_);
      throw;
    }
  }
  ~Preference() { library_.preference_destroy(handle_); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;

  api::PreferenceHandle handle() const { return handle_; }

 private:
  template <class Value>
  void set(api::PreferenceAttribute attribute, Value value) {
    check(library_, library_.preference_set_attribute(handle_, attribute, &value, sizeof(value)),
          "search an algorithm");
  }

  const api::CublasLt& library_;
  api::PreferenceHandle handle_ = nullptr;
};

void* pointer(api::DeviceAddress address) { return reinterpret_cast<void*>(address); }

}  // namespace

MatmulDescriptors::MatmulDescriptors(const api::CublasLt& library,
                                     const MatmulDescription& description)
    : library_(library) {
  using Attribute = api::MatmulAttribute;
  try {
    check(library_,
          library_.matmul_create(&matmul, compute_type_of(description),
                                 scale_type_of(description.dtype)),
          "describe a matmul");
    set(library_, matmul, Attribute::TransposeA, transpose(description.transposes_a));
    set(library_, matmul, Attribute::TransposeB, transpose(description.transposes_b));
    if (description.bias) {
      set(library_, matmul, Attribute::Epilogue,
          static_cast<std::uint32_t>(api::CublasEpilogue::Bias));
    }
    a = create_layout(library_, description.a, description);
    b = create_layout(library_, description.b, description);
    d = create_layout(library_, description.d, description);
    set_batches(library_, a, description.a, description);
    set_batches(library_, b, description.b, description);
    set_batches(library_, d, description.d, description);
  } catch (...) {
    destroy();
    throw;
  }
}

MatmulDescriptors::~MatmulDescriptors() { destroy(); }

void MatmulDescriptors::destroy() const {
  for (const api::LayoutHandle layout : {a, b, d}) {
    if (layout != nullptr) library_.layout_destroy(layout);
  }
  if (matmul != nullptr) library_.matmul_destroy(matmul);
}

void MatmulDescriptors::set_bias(api::DeviceAddress bias) const {
  set(library_, matmul, api::MatmulAttribute::BiasPointer, pointer(bias));
}

PreparedMatmul::PreparedMatmul(const api::CublasLt& library, api::CublasHandle handle,
                               const MatmulDescription& matmul)
    : library_(library),
      handle_(handle),
      matmul_(matmul),
      descriptors_(library, matmul),
      aligned_(choose(kAlignment)) {
  try {
    unaligned_ = choose(static_cast<std::uint32_t>(dtype_bytes(matmul.dtype)));
  } catch (const sdk::Failure& failure) {
    if (failure.code() != KILN_CODE_UNIMPLEMENTED) throw;
  }
}

api::MatmulHeuristic PreparedMatmul::choose(std::uint32_t alignment) const {
  const std::string action = "choose an algorithm for the matmul " + text_of(matmul_);
  const Preference preference(library_, alignment);
  if (matmul_.bias) descriptors_.set_bias(kBiasAlignment);
  api::MatmulHeuristic chosen{};
  int count = 0;
  check(library_,
        library_.get_heuristic(handle_, descriptors_.matmul, descriptors_.a, descriptors_.b,
                               descriptors_.d, descriptors_.d, preference.handle(), 1, &chosen,
                               &count),
        action);
  constexpr const char* kFunction = "cublasLtMatmulAlgoGetHeuristic";
  api::checked_number(count, {"cuBLASLt", kFunction, "the number of algorithms"}, 0, 1);
  check(library_, count == 0 ? CublasStatus::NotSupported : chosen.status, action);
  api::checked_number(chosen.workspace_bytes, {"cuBLASLt", kFunction, "the bytes of a workspace"},
                      0, kMaxWorkspaceBytes);
  return chosen;
}

std::int64_t PreparedMatmul::workspace_bytes() const {
  const std::size_t bytes =
      std::max(aligned_.workspace_bytes, unaligned_ ? unaligned_->workspace_bytes : 0);
  return bytes == 0 ? 0 : static_cast<std::int64_t>(bytes + kWorkspaceAlignment - 1);
}

void PreparedMatmul::issue(const MatmulAddresses& addresses, const Stream& stream) const {
  const api::DeviceAddress all = addresses.lhs | addresses.rhs | addresses.result;
  const bool is_aligned = all % kAlignment == 0;
  if (!is_aligned && !unaligned_) {
    throw sdk::Failure(KILN_CODE_UNIMPLEMENTED,
                       "cuBLASLt has no algorithm for the matmul " + text_of(matmul_) +
                           " at addresses that are not multiples of 16 bytes");
  }
  const api::MatmulHeuristic& chosen = is_aligned ? aligned_ : *unaligned_;
  const double wide[2] = {1, 0};
  const float narrow[2] = {1, 0};
  const bool is_wide = matmul_.dtype == DType::Float64;
  const void* alpha = is_wide ? static_cast<const void*>(&wide[0]) : &narrow[0];
  const void* beta = is_wide ? static_cast<const void*>(&wide[1]) : &narrow[1];
  const api::DeviceAddress workspace =
      (addresses.workspace + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
  std::unique_lock lock(bias_mutex_, std::defer_lock);
  if (matmul_.bias) {
    lock.lock();
    descriptors_.set_bias(addresses.bias);
  }
  const auto queue = [&] {
    return library_.matmul(handle_, descriptors_.matmul, alpha, pointer(addresses.rhs),
                           descriptors_.a, pointer(addresses.lhs), descriptors_.b, beta,
                           pointer(addresses.result), descriptors_.d, pointer(addresses.result),
                           descriptors_.d, &chosen.algorithm,
                           chosen.workspace_bytes == 0 ? nullptr : pointer(workspace),
                           chosen.workspace_bytes, stream.handle());
  };
  check(library_, stream.submit_by_library(queue), "queue the matmul " + text_of(matmul_));
}

MatmulLibrary::MatmulLibrary(std::shared_ptr<const api::CublasLt> library,
                             std::shared_ptr<const Device> device, bool tf32)
    : library_(std::move(library)), device_(std::move(device)), tf32_(tf32) {
  const auto create = [&] { return library_->create(&handle_); };
  check(*library_, device_->allocate(create), "use cuBLASLt on " + device_->title());
}

MatmulLibrary::~MatmulLibrary() {
  if (!device_->is_usable()) return;
  try {
    const ScopedContext context(*device_);
    library_->destroy(handle_);
  } catch (...) {
    // The device has just ended: the library cannot free the handle without its context.
  }
}

std::shared_ptr<const PreparedMatmul> MatmulLibrary::prepare(
    const MatmulDescription& matmul) const {
  const std::lock_guard lock(mutex_);
  std::erase_if(prepared_, [](const auto& one) { return one.second.expired(); });
  std::weak_ptr<const PreparedMatmul>& cached = prepared_[matmul];
  if (auto alive = cached.lock()) return alive;
  auto prepared = std::make_shared<const PreparedMatmul>(*library_, handle_, matmul);
  cached = prepared;
  return prepared;
}

}  // namespace kiln::cuda
