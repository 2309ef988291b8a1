// The exported functions: each counts its call, fails on demand, and rejects objects that are not
// alive and attributes that a descriptor does not have.
#include "core/types/no_destructor.h"
#include "tests/backends/cuda_fakes/call_counts.h"
#include "tests/backends/cuda_fakes/cudnn/queued_attention.h"
#include "tests/backends/cuda_fakes/cudnn/queued_convolution.h"
#include "tests/backends/cuda_fakes/cudnn_control.h"
#include "tests/backends/cuda_fakes/lies.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <mutex>
#include <set>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace kiln::fake_cudnn;
using kiln::fake_cuda::driver_calls;
using kiln::fake_cuda::has_context;
using kiln::fake_cuda::reported;
using A = kiln::cuda::api::CudnnAttribute;

struct kiln::cuda::api::CudnnHandleTarget {
  StreamHandle stream = nullptr;
};

namespace {

#define FAKE_CUDNN_NAME(member, symbol, ...) #symbol,

struct State {
  std::mutex mutex;  // of everything else
  kiln::fake_cuda::CallCounts calls{KILN_CUDNN_FUNCTIONS(FAKE_CUDNN_NAME)};
  std::set<const void*> alive;
  bool rejects_plans = false;
  int workspaces = 0, engine = -1;
};

/// Never destroyed: threads may use it while the process ends.
State& state() {
  static kiln::NoDestructor<State> instance;
  return *instance;
}

/// The text of the thread's last error.
thread_local std::string last_error;

CudnnStatus reject(const std::string& reason, CudnnStatus status = CudnnStatus::BadParam) {
  last_error = reason;
  return status;
}

/// Rejects a misuse of the library by the plugin and prints the reason.
CudnnStatus reject_misuse(const std::string& reason) {
  std::fprintf(stderr, "fake cuDNN: %s\n", reason.c_str());
  return reject(reason);
}

template <class Work>
CudnnStatus enter(const char* name, const Work& work) {
  const std::lock_guard lock(state().mutex);
  const std::optional<int> wanted = state().calls.count(name);
  const bool destroys = std::strstr(name, "Destroy") != nullptr;
  const CudnnStatus status = wanted && !destroys ? CudnnStatus::Success : work();
  if (!wanted) return status;
  return reject("as the test asked", static_cast<CudnnStatus>(*wanted));
}

bool is_alive(const void* object) { return state().alive.contains(object); }

Descriptor* descriptor(DescriptorHandle handle) {
  return is_alive(handle) ? reinterpret_cast<Descriptor*>(handle) : nullptr;
}

bool is_operation(DescriptorType type) {
  return is_part_of_attention(type) || type == DescriptorType::Forward ||
         type == DescriptorType::BackwardData || type == DescriptorType::BackwardFilter;
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

/// Results are 1 x the convolution + 0 x what was there.
bool has_scales(const Descriptor& operation, const Problem& problem) {
  const bool is_wide = problem.input.type == CudnnDataType::Float64;
  const auto wanted = is_wide ? CudnnAttributeType::Float64 : CudnnAttributeType::Float32;
  std::vector<double> scales;
  for (const auto& [name, value] : operation.values) {
    if (value.type == CudnnAttributeType::Descriptor) continue;
    if (value.type != wanted) return false;
    scales.push_back(is_wide ? operation.one<double>(name)
                             : static_cast<double>(operation.one<float>(name)));
  }
  return scales == std::vector<double>{1, 0};  // alpha's number is below beta's
}

CudnnStatus finalize_operation(Descriptor& operation) {
  if (is_part_of_attention(operation.type)) {
    const std::string reason = reason_to_reject(operation_of(operation));
    return reason.empty() ? CudnnStatus::Success : reject_misuse(reason);
  }
  operation.problem = problem_of(operation);
  const std::string reason = reason_to_reject(operation.problem);
  if (!reason.empty()) return reject_misuse(reason);
  if (!has_scales(operation, operation.problem)) return reject_misuse("scales other than 1 and 0");
  return CudnnStatus::Success;
}

CudnnStatus finalize_graph(Descriptor& graph) {
  if (!is_alive(graph.one<CudnnHandle>(A::GraphHandle))) return reject_misuse("a dead handle");
  const auto held = graph.list<DescriptorHandle>(A::GraphOperations);
  const Descriptor& first = *descriptor(held[0]);
  if (!is_part_of_attention(first.type)) {
    if (held.size() != 1) return reject_misuse("a convolution among other operations");
    graph.problem = first.problem;
    return CudnnStatus::Success;
  }
  auto operations = std::make_shared<std::vector<Operation>>();
  for (const DescriptorHandle one : held) {
    if (!is_part_of_attention(descriptor(one)->type)) {
      return reject_misuse("a convolution among other operations");
    }
    operations->push_back(operation_of(*descriptor(one)));
  }
  graph.operations = std::move(operations);
  return CudnnStatus::Success;
}

bool supports(const Descriptor& config) {
  if (config.operations == nullptr) return supports(config.engine, config.problem);
  if (config.engine == kGeneral) return true;
  return config.engine == kAligned && !is_unaligned(*config.operations);
}

CudnnStatus finalize_plan(Descriptor& plan) {
  const Descriptor& config = plan.at(A::PlanConfig);
  if (!is_alive(plan.one<CudnnHandle>(A::PlanHandle))) return reject_misuse("a dead handle");
  if (state().rejects_plans || !supports(config)) {
    return reject("the engine does not support it", CudnnStatus::NotSupported);
  }
  plan.problem = config.problem;
  plan.operations = config.operations;
  plan.engine = config.engine;
  plan.workspace = plan.operations == nullptr ? workspace_bytes(plan.engine, plan.problem)
                                              : workspace_bytes(*plan.operations);
  return CudnnStatus::Success;
}

CudnnStatus finalize(Descriptor& one) {
  if (one.is_finalized) return reject_misuse("a descriptor is finalized twice");
  if (!is_complete(one)) return reject_misuse("an attribute is missing");
  if (is_operation(one.type)) return finalize_operation(one);
  if (one.type == DescriptorType::Plan) return finalize_plan(one);
  if (one.type == DescriptorType::Graph) return finalize_graph(one);
  if (one.type == DescriptorType::Heuristic) {
    one.problem = one.at(A::HeuristicGraph).problem;
    one.operations = one.at(A::HeuristicGraph).operations;
  }
  if (one.type == DescriptorType::EngineConfig || one.type == DescriptorType::Engine) {
    return reject_misuse("engines are those of heuristics");
  }
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

/// The reason why the plan cannot run with these addresses; empty: it can.
std::string reason_of_addresses(const QueuedConvolution& queued) {
  const Problem& problem = queued.problem;
  const std::uint64_t all = queued.input | queued.filter | queued.output;
  if (all % static_cast<std::uint64_t>(problem.input.alignment) != 0) {
    return "an address is less aligned than its descriptor says";
  }
  if (queued.workspace_bytes != 0 && queued.workspace == 0) return "no workspace";
  if (queued.workspace % 256 != 0) return "the workspace is not aligned to 256 bytes";
  return "";
}

/// Runs the work on the handle's stream.
template <class Work>
CudnnStatus enqueue(const CudnnHandleTarget& handle, const Descriptor& plan,
                    std::unique_ptr<Work> work) {
  state().workspaces += plan.workspace == 0 ? 0 : 1;
  state().engine = plan.engine;
  const auto run = [](void* one) { return static_cast<const Work*>(one)->run(); };
  const auto destroy = [](void* one) { delete static_cast<Work*>(one); };
  const int status = driver_calls().enqueue(handle.stream, run, work.release(), destroy);
  return status == 0 ? CudnnStatus::Success : CudnnStatus::ExecutionFailed;
}

/// Takes the addresses and values of the graph's tensors. Returns a reason to reject them; empty:
/// there is none.
std::string take_tensors(const Descriptor& pack, QueuedAttention& queued) {
  const auto ids = pack.list<std::int64_t>(A::PackIds);
  const auto pointers = pack.list<std::uint64_t>(A::PackPointers);
  if (ids.size() != pointers.size()) return "other pointers than identifiers";
  std::map<std::int64_t, std::uint64_t> given;
  for (std::size_t i = 0; i < ids.size(); ++i) given[ids[i]] = pointers[i];
  std::set<std::int64_t> needed;
  const auto take = [&](const GraphTensor& one) -> std::string {
    const std::int64_t id = one.tensor.id;
    if (one.is_virtual || !needed.insert(id).second) return "";
    if (!given.contains(id)) return "a tensor has no pointer";
    if (one.is_value) {
      queued.values[id] = *reinterpret_cast<const float*>(given[id]);
      return "";
    }
    if (given[id] % static_cast<std::uint64_t>(one.tensor.alignment) != 0) {
      return "an address is less aligned than its descriptor says";
    }
    queued.addresses[id] = given[id];
    return "";
  };
  for (const Operation& operation : queued.operations) {
    std::vector<GraphTensor> all = operation.inputs;
    all.push_back(operation.output);
    for (const GraphTensor& one : all) {
      if (const std::string reason = take(one); !reason.empty()) return reason;
    }
  }
  return needed.size() == given.size() ? "" : "other tensors than those of the plan";
}

CudnnStatus execute_attention(const CudnnHandleTarget& handle, const Descriptor& plan,
                              const Descriptor& pack) {
  auto queued = std::make_unique<QueuedAttention>();
  queued->operations = *plan.operations;
  queued->workspace = pack.one<std::uint64_t>(A::PackWorkspace);
  queued->workspace_bytes = plan.workspace;
  const std::string reason = take_tensors(pack, *queued);
  if (!reason.empty()) return reject_misuse(reason);
  if (plan.workspace != 0 && queued->workspace == 0) return reject_misuse("no workspace");
  if (queued->workspace % 256 != 0) return reject_misuse("an unaligned workspace");
  return enqueue(handle, plan, std::move(queued));
}

CudnnStatus execute(const CudnnHandleTarget& handle, const Descriptor& plan,
                    const Descriptor& pack) {
  if (handle.stream == nullptr) return reject_misuse("the handle has no stream");
  if (plan.operations != nullptr) return execute_attention(handle, plan, pack);
  const auto ids = pack.list<std::int64_t>(A::PackIds);
  const auto pointers = pack.list<std::uint64_t>(A::PackPointers);
  const Problem& problem = plan.problem;
  if (ids != std::vector{problem.input.id, problem.filter.id, problem.output.id} ||
      pointers.size() != 3) {
    return reject_misuse("other tensors than those of the plan");
  }
  auto queued = std::make_unique<QueuedConvolution>(
      QueuedConvolution{problem, plan.engine, pointers[0], pointers[1], pointers[2],
                        pack.one<std::uint64_t>(A::PackWorkspace), plan.workspace});
  const std::string reason = reason_of_addresses(*queued);
  if (!reason.empty()) return reject_misuse(reason);
  return enqueue(handle, plan, std::move(queued));
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
