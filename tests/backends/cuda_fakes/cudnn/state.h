// Holds the live objects of the library, the failures that a test wants, and the last error.
#pragma once

#include "core/types/no_destructor.h"
#include "tests/backends/cuda_fakes/call_counts.h"
#include "tests/backends/cuda_fakes/cudnn/descriptors.h"

#include <mutex>
#include <set>
#include <string>

struct kiln::cuda::api::CudnnHandleTarget {
  StreamHandle stream = nullptr;
};

namespace kiln::fake_cudnn {

#define FAKE_CUDNN_NAME(member, symbol, ...) #symbol,

struct State {
  std::mutex mutex;  // of everything else
  fake_cuda::CallCounts calls{KILN_CUDNN_FUNCTIONS(FAKE_CUDNN_NAME)};
  std::set<const void*> alive;
  bool rejects_plans = false;
  int workspaces = 0, engine = -1;
};

/// Never destroyed: threads may use it while the process ends.
inline State& state() {
  static NoDestructor<State> instance;
  return *instance;
}

/// The text of the thread's last error.
inline thread_local std::string last_error;

inline CudnnStatus reject(const std::string& reason, CudnnStatus status = CudnnStatus::BadParam) {
  last_error = reason;
  return status;
}
/// Rejects a misuse of the library by the plugin and prints the reason.
CudnnStatus reject_misuse(const std::string& reason);

inline bool is_alive(const void* object) { return state().alive.contains(object); }
/// Null: it is not alive.
inline Descriptor* descriptor(DescriptorHandle handle) {
  return is_alive(handle) ? reinterpret_cast<Descriptor*>(handle) : nullptr;
}

/// Of a convolution or of a part of an attention.
bool is_operation(DescriptorType type);
/// Finalizes a descriptor whose attributes are set.
CudnnStatus finalize(Descriptor& one);
/// Queues the work of a plan on the handle's stream.
CudnnStatus execute(const CudnnHandleTarget& handle, const Descriptor& plan,
                    const Descriptor& pack);

}  // namespace kiln::fake_cudnn
