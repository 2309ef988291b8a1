// The exported functions: each counts its call, fails on demand, and rejects objects that are not
// alive and attributes that a descriptor does not have.
#include "tests/backends/cuda_fakes/cudnn/attention.h"
#include "tests/backends/cuda_fakes/cudnn/problem.h"
#include "tests/backends/cuda_fakes/cudnn/state.h"
#include "tests/backends/cuda_fakes/cudnn_control.h"
#include "tests/backends/cuda_fakes/library_work.h"
#include "tests/backends/cuda_fakes/lies.h"

#include <algorithm>
#include <cstdio>
#include <mutex>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace kiln::fake_cudnn;
using kiln::fake_cuda::has_context;
using kiln::fake_cuda::reported;
using A = kiln::cuda::api::CudnnAttribute;

namespace {

template <class Work>
CudnnStatus enter(const char* name, const Work& work) {
  const std::lock_guard lock(state().mutex);
  const std::optional<int> wanted = state().calls.count(name);
  const bool destroys = std::strstr(name, "Destroy") != nullptr;
  const CudnnStatus status = wanted && !destroys ? CudnnStatus::Success : work();
  if (!wanted) return status;
  return reject("as the test asked", static_cast<CudnnStatus>(*wanted));
}

/// Scales have the type of the tensors, which finalize_operation() checks.
bool has_type(const Attribute& row, CudnnAttributeType type) {
  const bool is_scale = row.type == CudnnAttributeType::Float32;
  return type == row.type || (is_scale && type == CudnnAttributeType::Float64);
}

/// Descriptors that an attribute holds have to be finalized.
bool holds_finalized(const Attribute& row, const void* values, std::int64_t count) {
  const auto* held = static_cast<const DescriptorHandle*>(values);
  return std::all_of(held, held + count, [&](DescriptorHandle handle) {
    const Descriptor* one = descriptor(handle);
    if (one == nullptr || !one->is_finalized) return false;
    return row.held ? one->type == *row.held : is_operation(one->type);
  });
}

CudnnStatus set(Descriptor& to, A name, CudnnAttributeType type, std::int64_t count,
                const void* values) {
  const Attribute* row = attribute_of(to.type, name);
  if (to.is_finalized) return reject_misuse("an attribute of a finalized descriptor");
  if (row == nullptr) return reject_misuse("an attribute that the descriptor does not have");
  if (!has_type(*row, type) || count < 1 || count > row->max_count || values == nullptr) {
    return reject_misuse("a value of another type or count");
  }
  const bool is_descriptor = row->type == CudnnAttributeType::Descriptor;
  if (is_descriptor && !holds_finalized(*row, values, count)) {
    return reject_misuse("no finalized descriptor");
  }
  Value value{type, count,
              std::vector<std::byte>(static_cast<std::size_t>(count) * bytes_of(type))};
  std::memcpy(value.bytes.data(), values, value.bytes.size());
  to.values[name] = std::move(value);
  return CudnnStatus::Success;
}

/// Makes the descriptor an engine, or a configuration of one.
CudnnStatus make_engine(DescriptorHandle handle, DescriptorType type, const Descriptor& from,
                        int engine) {
  Descriptor* into = descriptor(handle);
  if (into == nullptr || into->type != type || into->is_finalized) {
    return reject_misuse("no new descriptor for an engine");
  }
  into->is_finalized = true;
  into->problem = from.problem;
  into->operations = from.operations;
  into->engine = engine;
  return CudnnStatus::Success;
}

CudnnStatus get_engines(const Descriptor& heuristic, std::int64_t count, std::int64_t* found,
                        DescriptorHandle* into) {
  auto engines = engines_of(heuristic.one<HeuristicMode>(A::HeuristicModeOf));
  if (heuristic.operations != nullptr) {
    const std::string reason = reason_to_reject(*heuristic.operations);
    if (!reason.empty()) std::fprintf(stderr, "fake cuDNN: %s\n", reason.c_str());
    if (!reason.empty()) engines = {};
  }
  const auto all = static_cast<std::int64_t>(engines.size());
  *found = reported("CUDNN_ATTR_ENGINEHEUR_RESULTS", all);
  for (std::int64_t i = 0; i < std::min(count, all); ++i) {
    const CudnnStatus status = make_engine(into[i], DescriptorType::EngineConfig, heuristic,
                                           engines[static_cast<std::size_t>(i)]);
    if (status != CudnnStatus::Success) return status;
  }
  return CudnnStatus::Success;
}

CudnnStatus get(const Descriptor& from, A name, CudnnAttributeType type, std::int64_t count,
                std::int64_t* found, void* values) {
  if (!from.is_finalized) return reject("not finalized", CudnnStatus::NotFinalized);
  using T = CudnnAttributeType;
  const auto asks = [&](DescriptorType owner, A attribute, T wanted) {
    return from.type == owner && name == attribute && type == wanted;
  };
  auto* handles = static_cast<DescriptorHandle*>(values);
  if (asks(DescriptorType::Heuristic, A::HeuristicResults, T::Descriptor)) {
    return get_engines(from, count, found, handles);
  }
  *found = 1;
  if (count < 1) return reject_misuse("no room for a value");
  if (asks(DescriptorType::EngineConfig, A::EngineOfConfig, T::Descriptor)) {
    *found = reported("CUDNN_ATTR_ENGINECFG_ENGINE", *found);
    return make_engine(handles[0], DescriptorType::Engine, from, from.engine);
  }
  if (asks(DescriptorType::Engine, A::EngineNotes, T::NumericalNote)) {
    *found = reported("CUDNN_ATTR_ENGINE_NUMERICAL_NOTE", *found);
    std::memcpy(values, notes_of(from.engine).data(), sizeof(NumericalNote));
    return CudnnStatus::Success;
  }
  if (asks(DescriptorType::Plan, A::PlanWorkspace, T::Int64)) {
    *found = reported("CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE", *found);
    const std::int64_t workspace = reported("a workspace of cuDNN", from.workspace);
    std::memcpy(values, &workspace, sizeof(workspace));
    return CudnnStatus::Success;
  }
  return reject_misuse("an attribute that cannot be read");
}

}  // namespace

FAKE_EXPORT std::size_t cudnnGetVersion() {
  return reported("cudnnGetVersion", std::size_t{91900});
}
FAKE_EXPORT std::size_t cudnnGetCudartVersion() {
  return reported("cudnnGetCudartVersion", std::size_t{12040});
}
FAKE_EXPORT const char* cudnnGetErrorString(CudnnStatus status) {
  switch (status) {
#define FAKE_NAME(name, symbol, value) \
  case CudnnStatus::name: return #symbol;
    KILN_CUDNN_STATUS(FAKE_NAME)
#undef FAKE_NAME
  }
  return "unknown";
}
FAKE_EXPORT void cudnnGetLastErrorString(char* text, std::size_t size) {
  std::snprintf(text, size, "%s\n", last_error.c_str());
  last_error.clear();
}
FAKE_EXPORT CudnnStatus cudnnGraphVersionCheck() {
  return enter("cudnnGraphVersionCheck", [] { return CudnnStatus::Success; });
}
FAKE_EXPORT CudnnStatus cudnnOpsVersionCheck() {
  return enter("cudnnOpsVersionCheck", [] { return CudnnStatus::Success; });
}
FAKE_EXPORT CudnnStatus cudnnCnnVersionCheck() {
  return enter("cudnnCnnVersionCheck", [] { return CudnnStatus::Success; });
}

FAKE_EXPORT CudnnStatus cudnnCreate(CudnnHandle* handle) {
  return enter("cudnnCreate", [&] {
    if (!has_context()) return reject("no context", CudnnStatus::NotInitialized);
    *handle = new CudnnHandleTarget;
    state().alive.insert(*handle);
    return CudnnStatus::Success;
  });
}
FAKE_EXPORT CudnnStatus cudnnDestroy(CudnnHandle handle) {
  return enter("cudnnDestroy", [&] {
    if (state().alive.erase(handle) == 0) return reject_misuse("a dead handle");
    delete handle;
    return CudnnStatus::Success;
  });
}
FAKE_EXPORT CudnnStatus cudnnSetStream(CudnnHandle handle, StreamHandle stream) {
  return enter("cudnnSetStream", [&] {
    if (!is_alive(handle)) return reject_misuse("a dead handle");
    handle->stream = stream;
    return CudnnStatus::Success;
  });
}

FAKE_EXPORT CudnnStatus cudnnBackendCreateDescriptor(DescriptorType type,
                                                     DescriptorHandle* handle) {
  return enter("cudnnBackendCreateDescriptor", [&] {
    auto* descriptor = new Descriptor;
    descriptor->type = type;
    *handle = reinterpret_cast<DescriptorHandle>(descriptor);
    state().alive.insert(descriptor);
    return CudnnStatus::Success;
  });
}
FAKE_EXPORT CudnnStatus cudnnBackendDestroyDescriptor(DescriptorHandle handle) {
  return enter("cudnnBackendDestroyDescriptor", [&] {
    if (!has_context()) return reject_misuse("a descriptor is destroyed without a context");
    if (state().alive.erase(handle) == 0) return reject_misuse("a dead descriptor");
    delete reinterpret_cast<Descriptor*>(handle);
    return CudnnStatus::Success;
  });
}
FAKE_EXPORT CudnnStatus cudnnBackendSetAttribute(DescriptorHandle handle, CudnnAttribute name,
                                                 CudnnAttributeType type, std::int64_t count,
                                                 const void* values) {
  return enter("cudnnBackendSetAttribute", [&] {
    Descriptor* to = descriptor(handle);
    return to == nullptr ? reject_misuse("a dead descriptor") : set(*to, name, type, count, values);
  });
}
FAKE_EXPORT CudnnStatus cudnnBackendFinalize(DescriptorHandle handle) {
  return enter("cudnnBackendFinalize", [&] {
    Descriptor* one = descriptor(handle);
    const CudnnStatus status = one == nullptr ? reject_misuse("a dead descriptor") : finalize(*one);
    if (status == CudnnStatus::Success) one->is_finalized = true;
    return status;
  });
}
FAKE_EXPORT CudnnStatus cudnnBackendGetAttribute(DescriptorHandle handle, CudnnAttribute name,
                                                 CudnnAttributeType type, std::int64_t count,
                                                 std::int64_t* found, void* values) {
  return enter("cudnnBackendGetAttribute", [&] {
    const Descriptor* from = descriptor(handle);
    return from == nullptr ? reject_misuse("a dead descriptor")
                           : get(*from, name, type, count, found, values);
  });
}
FAKE_EXPORT CudnnStatus cudnnBackendExecute(CudnnHandle handle, DescriptorHandle plan,
                                            DescriptorHandle pack) {
  return enter("cudnnBackendExecute", [&] {
    if (!has_context()) return reject("no context", CudnnStatus::NotInitialized);
    const Descriptor *one = descriptor(plan), *tensors = descriptor(pack);
    if (!is_alive(handle) || one == nullptr || tensors == nullptr || !one->is_finalized ||
        !tensors->is_finalized) {
      return reject_misuse("a handle, plan or variant pack that is dead or not finalized");
    }
    return execute(*handle, *one, *tensors);
  });
}

FAKE_EXPORT int fake_cudnn_fail(const char* function, int nth, int status) {
  const std::lock_guard lock(state().mutex);
  return state().calls.fail(function, nth, status) ? 1 : 0;
}
FAKE_EXPORT void fake_cudnn_reject_plans(int rejects) {
  const std::lock_guard lock(state().mutex);
  state().rejects_plans = rejects != 0;
}
FAKE_EXPORT void fake_cudnn_reset() {
  const std::lock_guard lock(state().mutex);
  state().calls.forget_failures();
  state().rejects_plans = false;
}
FAKE_EXPORT int fake_cudnn_calls(const char* function) {
  const std::lock_guard lock(state().mutex);
  return state().calls.count_of(function);
}
FAKE_EXPORT std::size_t fake_cudnn_objects() {
  const std::lock_guard lock(state().mutex);
  return state().alive.size();
}
FAKE_EXPORT int fake_cudnn_workspaces() {
  const std::lock_guard lock(state().mutex);
  return state().workspaces;
}
FAKE_EXPORT int fake_cudnn_engine() {
  const std::lock_guard lock(state().mutex);
  return state().engine;
}
