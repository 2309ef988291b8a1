// The exported functions: each counts its call, fails on demand, and rejects objects that are not
// alive.
#include "core/types/no_destructor.h"
#include "tests/backends/cuda_fakes/call_counts.h"
#include "tests/backends/cuda_fakes/cublaslt/queued_matmul.h"
#include "tests/backends/cuda_fakes/cublaslt_control.h"
#include "tests/backends/cuda_fakes/lies.h"

#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace kiln::fake_cublaslt;
using kiln::fake_cuda::CallCounts;
using kiln::fake_cuda::driver_calls;
using kiln::fake_cuda::has_context;
using kiln::fake_cuda::lie;
using kiln::fake_cuda::reported;

namespace {

#define FAKE_CUBLASLT_NAME(member, symbol, ...) #symbol,

struct State {
  std::mutex mutex;  // of everything else
  CallCounts calls{KILN_CUBLASLT_FUNCTIONS(FAKE_CUBLASLT_NAME)};
  std::set<const void*> alive;
  int workspaces = 0;
};

/// Never destroyed: threads may use it while the process ends.
State& state() {
  static kiln::NoDestructor<State> instance;
  return *instance;
}

template <class Work>
CublasStatus enter(const char* name, const Work& work) {
  const std::lock_guard lock(state().mutex);
  const std::optional<int> wanted = state().calls.count(name);
  const bool destroys = std::strstr(name, "Destroy") != nullptr;
  const CublasStatus status = wanted && !destroys ? CublasStatus::Success : work();
  return wanted ? static_cast<CublasStatus>(*wanted) : status;
}

template <class... Objects>
bool are_alive(const Objects*... objects) {
  return (state().alive.contains(objects) && ...);
}

template <class Object>
CublasStatus create(Object** object, Object value) {
  if (object == nullptr) return CublasStatus::InvalidValue;
  *object = new Object(std::move(value));
  state().alive.insert(*object);
  return CublasStatus::Success;
}

template <class Object>
CublasStatus destroy(Object* object) {
  if (state().alive.erase(object) == 0) return CublasStatus::InvalidValue;
  delete object;
  return CublasStatus::Success;
}

/// The attribute's own type has to have the size that the caller gives.
template <class Value>
CublasStatus assign(Value& to, const void* from, std::size_t bytes) {
  if (from == nullptr || bytes != sizeof(Value)) return CublasStatus::InvalidValue;
  std::memcpy(&to, from, bytes);
  return CublasStatus::Success;
}

CublasStatus reject(const std::string& reason) {
  std::fprintf(stderr, "fake cuBLASLt: %s\n", reason.c_str());
  return CublasStatus::InvalidValue;
}

Problem problem_of(MatmulHandle matmul, LayoutHandle a, LayoutHandle b, LayoutHandle c,
                   LayoutHandle d) {
  return {*matmul, *a, *b, *c, *d};
}

/// 1 or 0 of the scale type.
bool is_scale(const Problem& problem, const void* given, double wanted) {
  double wide = 0;
  float narrow = 0;
  if (problem.width() == sizeof(double)) {
    std::memcpy(&wide, given, sizeof(wide));
  } else {
    std::memcpy(&narrow, given, sizeof(narrow));
    wide = static_cast<double>(narrow);
  }
  return wide == wanted;
}

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

/// The reason why the algorithm rejects these arguments; empty: it does not.
std::string reason_of_arguments(const QueuedMatmul& queued, const MatmulAlgorithm& algorithm) {
  const std::uint64_t alignment = alignment_of(algorithm, queued.problem);
  if (alignment == 0) return "the algorithm was chosen for another matmul";
  const std::uint64_t all = queued.a | queued.b | queued.d;
  // Algorithms may read the bias by 16 bytes, whatever the alignment of the matrices is.
  if (queued.problem.has_bias() && queued.problem.matmul.bias % 16 != 0) {
    return "the bias is not aligned to 16 bytes";
  }
  if (all % alignment != 0) return "an address is less aligned than the algorithm needs";
  if (queued.workspace_bytes < workspace_of(algorithm)) return "the workspace is too small";
  if (queued.workspace % 256 != 0) return "the workspace is not aligned to 256 bytes";
  return "";
}

CublasStatus enqueue(std::unique_ptr<QueuedMatmul> queued, StreamHandle stream) {
  const auto run = [](void* work) { return static_cast<const QueuedMatmul*>(work)->run(); };
  const auto destroy_work = [](void* work) { delete static_cast<QueuedMatmul*>(work); };
  const int status = driver_calls().enqueue(stream, run, queued.release(), destroy_work);
  return status == 0 ? CublasStatus::Success : CublasStatus::ExecutionFailed;
}

}  // namespace

FAKE_EXPORT std::size_t cublasLtGetVersion() {
  return reported("cublasLtGetVersion", std::size_t{120400});
}

FAKE_EXPORT const char* cublasLtGetStatusName(CublasStatus status) {
  if (lie("cublasLtGetStatusName")) return nullptr;
  switch (status) {
#define FAKE_NAME(name, symbol, value) \
  case CublasStatus::name: return #symbol;
    KILN_CUBLASLT_STATUS(FAKE_NAME)
#undef FAKE_NAME
  }
  return "unknown";
}

FAKE_EXPORT CublasStatus cublasLtCreate(CublasHandle* handle) {
  return enter("cublasLtCreate", [&] {
    if (!has_context()) return CublasStatus::NotInitialized;
    return create(handle, kiln::cuda::api::CublasHandleTarget{});
  });
}
FAKE_EXPORT CublasStatus cublasLtDestroy(CublasHandle handle) {
  return enter("cublasLtDestroy", [&] { return destroy(handle); });
}

FAKE_EXPORT CublasStatus cublasLtMatmulDescCreate(MatmulHandle* handle, CublasComputeType compute,
                                                  CublasDataType scale) {
  return enter("cublasLtMatmulDescCreate", [&] {
    kiln::cuda::api::MatmulHandleTarget matmul;
    matmul.compute_type = compute;
    matmul.scale_type = scale;
    return create(handle, matmul);
  });
}
FAKE_EXPORT CublasStatus cublasLtMatmulDescDestroy(MatmulHandle handle) {
  return enter("cublasLtMatmulDescDestroy", [&] { return destroy(handle); });
}
FAKE_EXPORT CublasStatus cublasLtMatmulDescSetAttribute(MatmulHandle handle,
                                                        MatmulAttribute attribute,
                                                        const void* value, std::size_t bytes) {
  return enter("cublasLtMatmulDescSetAttribute", [&] {
    if (!are_alive(handle)) return CublasStatus::InvalidValue;
    switch (attribute) {
      case MatmulAttribute::TransposeA: return assign(handle->transpose_a, value, bytes);
      case MatmulAttribute::TransposeB: return assign(handle->transpose_b, value, bytes);
      case MatmulAttribute::Epilogue: return assign(handle->epilogue, value, bytes);
      case MatmulAttribute::BiasPointer: return assign(handle->bias, value, bytes);
    }
    return CublasStatus::InvalidValue;
  });
}

FAKE_EXPORT CublasStatus cublasLtMatrixLayoutCreate(LayoutHandle* handle, CublasDataType type,
                                                    std::uint64_t rows, std::uint64_t columns,
                                                    std::int64_t leading_dim) {
  return enter("cublasLtMatrixLayoutCreate", [&] {
    kiln::cuda::api::LayoutHandleTarget layout;
    layout.type = type;
    layout.rows = rows;
    layout.columns = columns;
    layout.leading_dim = leading_dim;
    return create(handle, layout);
  });
}
FAKE_EXPORT CublasStatus cublasLtMatrixLayoutDestroy(LayoutHandle handle) {
  return enter("cublasLtMatrixLayoutDestroy", [&] { return destroy(handle); });
}
FAKE_EXPORT CublasStatus cublasLtMatrixLayoutSetAttribute(LayoutHandle handle,
                                                          LayoutAttribute attribute,
                                                          const void* value, std::size_t bytes) {
  return enter("cublasLtMatrixLayoutSetAttribute", [&] {
    if (!are_alive(handle)) return CublasStatus::InvalidValue;
    switch (attribute) {
      case LayoutAttribute::BatchCount: return assign(handle->batch_count, value, bytes);
      case LayoutAttribute::BatchStride: return assign(handle->batch_stride, value, bytes);
    }
    return CublasStatus::InvalidValue;
  });
}

FAKE_EXPORT CublasStatus cublasLtMatmulPreferenceCreate(PreferenceHandle* handle) {
  return enter("cublasLtMatmulPreferenceCreate",
               [&] { return create(handle, kiln::cuda::api::PreferenceHandleTarget{}); });
}
FAKE_EXPORT CublasStatus cublasLtMatmulPreferenceDestroy(PreferenceHandle handle) {
  return enter("cublasLtMatmulPreferenceDestroy", [&] { return destroy(handle); });
}
FAKE_EXPORT CublasStatus cublasLtMatmulPreferenceSetAttribute(PreferenceHandle handle,
                                                              PreferenceAttribute attribute,
                                                              const void* value,
                                                              std::size_t bytes) {
  using Attribute = PreferenceAttribute;
  return enter("cublasLtMatmulPreferenceSetAttribute", [&] {
    if (!are_alive(handle)) return CublasStatus::InvalidValue;
    Preference& to = *handle;
    switch (attribute) {
      case Attribute::MaxWorkspaceBytes: return assign(to.max_workspace_bytes, value, bytes);
      case Attribute::ReductionSchemes: return assign(to.reduction_schemes, value, bytes);
      case Attribute::AlignmentA: return assign(to.alignment_a, value, bytes);
      case Attribute::AlignmentB: return assign(to.alignment_b, value, bytes);
      case Attribute::AlignmentC: return assign(to.alignment_c, value, bytes);
      case Attribute::AlignmentD: return assign(to.alignment_d, value, bytes);
    }
    return CublasStatus::InvalidValue;
  });
}

FAKE_EXPORT CublasStatus cublasLtMatmulAlgoGetHeuristic(CublasHandle handle, MatmulHandle matmul,
                                                        LayoutHandle a, LayoutHandle b,
                                                        LayoutHandle c, LayoutHandle d,
                                                        PreferenceHandle preference, int requested,
                                                        MatmulHeuristic* results, int* count) {
  return enter("cublasLtMatmulAlgoGetHeuristic", [&] {
    if (!has_context()) return CublasStatus::NotInitialized;
    if (!are_alive(handle, matmul, a, b, c, d, preference)) return reject("a dead object");
    if (requested < 1) return reject("no algorithm is asked for");
    const Problem problem = problem_of(matmul, a, b, c, d);
    const std::string reason = reason_to_reject(problem);
    if (!reason.empty()) return reject(reason);
    results[0] = choose(problem, *preference);
    results[0].workspace_bytes = reported("a workspace of cuBLASLt", results[0].workspace_bytes);
    *count = reported("cublasLtMatmulAlgoGetHeuristic", 1);
    return CublasStatus::Success;
  });
}

FAKE_EXPORT CublasStatus cublasLtMatmul(CublasHandle handle, MatmulHandle matmul, const void* alpha,
                                        const void* a, LayoutHandle a_layout, const void* b,
                                        LayoutHandle b_layout, const void* beta, const void* c,
                                        LayoutHandle c_layout, void* d, LayoutHandle d_layout,
                                        const MatmulAlgorithm* algorithm, void* workspace,
                                        std::size_t workspace_bytes, StreamHandle stream) {
  return enter("cublasLtMatmul", [&] {
    if (!has_context()) return CublasStatus::NotInitialized;
    if (!are_alive(handle, matmul, a_layout, b_layout, c_layout, d_layout)) {
      return reject("a dead object");
    }
    auto queued = std::make_unique<QueuedMatmul>();
    queued->problem = problem_of(matmul, a_layout, b_layout, c_layout, d_layout);
    queued->a = address_of(a);
    queued->b = address_of(b);
    queued->d = address_of(d);
    queued->workspace = address_of(workspace);
    queued->workspace_bytes = workspace_bytes;
    std::string reason = reason_to_reject(queued->problem);
    if (reason.empty()) reason = reason_of_arguments(*queued, *algorithm);
    if (reason.empty() && c != d) reason = "C is not D";
    const bool has_scales =
        is_scale(queued->problem, alpha, 1) && is_scale(queued->problem, beta, 0);
    if (reason.empty() && !has_scales) reason = "scales other than 1 and 0";
    if (!reason.empty()) return reject(reason);
    state().workspaces += workspace_bytes == 0 ? 0 : 1;
    return enqueue(std::move(queued), stream);
  });
}

FAKE_EXPORT int fake_cublaslt_fail(const char* function, int nth, int status) {
  const std::lock_guard lock(state().mutex);
  return state().calls.fail(function, nth, status) ? 1 : 0;
}
FAKE_EXPORT void fake_cublaslt_reset() {
  const std::lock_guard lock(state().mutex);
  state().calls.forget_failures();
}
FAKE_EXPORT int fake_cublaslt_calls(const char* function) {
  const std::lock_guard lock(state().mutex);
  return state().calls.count_of(function);
}
FAKE_EXPORT std::size_t fake_cublaslt_objects() {
  const std::lock_guard lock(state().mutex);
  return state().alive.size();
}
FAKE_EXPORT int fake_cublaslt_workspaces() {
  const std::lock_guard lock(state().mutex);
  return state().workspaces;
}
