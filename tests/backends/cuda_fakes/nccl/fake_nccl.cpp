// The exported functions: each counts its call, fails on demand, and rejects objects that are not
// alive. Work that a group queues reaches the stream only when the communicator has been asked for
// its asynchronous error, as a library that does not block may need that.
#include "core/types/no_destructor.h"
#include "tests/backends/cuda_fakes/call_counts.h"
#include "tests/backends/cuda_fakes/lies.h"
#include "tests/backends/cuda_fakes/nccl/queued_group.h"
#include "tests/backends/cuda_fakes/nccl_control.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace kiln::fake_nccl;
using kiln::fake_cuda::CallCounts;
using kiln::fake_cuda::driver_calls;
using kiln::fake_cuda::has_context;
using kiln::fake_cuda::reported;

/// The handle of a communicator.
struct kiln::cuda::api::NcclCommTarget {
  std::shared_ptr<Communicator> communicator;
  std::unique_ptr<QueuedGroup> launching;  // queued, and not on its stream yet
  StreamHandle stream = nullptr;           // of `launching`
  int polls = 0;                           // before the next change
};

namespace {

#define FAKE_NCCL_NAME(member, symbol, ...) #symbol,

struct State {
  std::mutex mutex;  // of everything else
  CallCounts calls{KILN_NCCL_FUNCTIONS(FAKE_NCCL_NAME)};
  std::map<NcclComm, std::unique_ptr<kiln::cuda::api::NcclCommTarget>> alive;
  std::string last_error;
};

/// Never destroyed: threads may use it while the process ends.
State& state() {
  static kiln::NoDestructor<State> instance;
  return *instance;
}

/// The operations of this thread since its outermost ncclGroupStart.
struct OpenGroup {
  int depth = 0;
  NcclComm comm = nullptr;
  StreamHandle stream = nullptr;
  std::unique_ptr<QueuedGroup> work;
};
thread_local OpenGroup open_group;

template <class Work>
NcclStatus enter(const char* name, const Work& work) {
  const std::lock_guard lock(state().mutex);
  const std::optional<int> wanted = state().calls.count(name);
  const bool destroys = std::strstr(name, "Abort") != nullptr;
  const NcclStatus status = wanted && !destroys ? NcclStatus::Success : work();
  if (wanted) state().last_error = "a failure on demand";
  return wanted ? static_cast<NcclStatus>(*wanted) : status;
}

NcclStatus reject(NcclStatus status, const std::string& reason) {
  std::fprintf(stderr, "fake NCCL: %s\n", reason.c_str());
  state().last_error = reason;
  return status;
}
NcclStatus reject(const std::string& reason) { return reject(NcclStatus::InvalidUsage, reason); }

bool is_alive(NcclComm comm) { return state().alive.contains(comm); }

/// NCCL notices lost ranks of other machines, by its connections to them, but none of its own.
bool reports_lost_ranks() {
  const char* const value = std::getenv("KILN_TEST_NCCL_LOST_RANKS");
  return value != nullptr && std::strcmp(value, "reported") == 0;
}

/// The status of a communicator as its ranks are.
NcclStatus status_of(const SharedWorld& world) {
  if (reports_lost_ranks() && world.has_failed.load()) {
    state().last_error = "another rank could not join";
    return NcclStatus::Remote;
  }
  const bool is_complete = have_all_joined(world);
  if (is_complete && world.size.load() > 1 && world.shares_device.load()) {
    state().last_error = "Duplicate GPU detected";
    return NcclStatus::InvalidUsage;
  }
  if (reports_lost_ranks() && has_lost_rank(world)) {
    state().last_error = "another rank has ended";
    return NcclStatus::Remote;
  }
  return is_complete ? NcclStatus::Success : NcclStatus::InProgress;
}

bool may_share_device() {
  const char* const value = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return value != nullptr && std::strcmp(value, "1") == 0;
}

NcclStatus join(SharedWorld& world, int size, int rank) {
  int expected = 0;
  if (!world.size.compare_exchange_strong(expected, size) && expected != size) {
    world.has_failed.store(true);
    return reject(NcclStatus::InvalidArgument, "another number of ranks");
  }
  if (!may_share_device()) world.shares_device.store(true);
  pid_t nobody = 0;
  if (!world.ranks[rank].process.compare_exchange_strong(nobody, ::getpid())) {
    return reject("the rank has joined already");
  }
  return NcclStatus::Success;
}

NcclStatus init(NcclComm* comm, int size, const NcclUniqueId& id, int rank,
                const NcclConfig* config) {
  const bool has_config = config != nullptr && config->magic == 0xcafebeef &&
                          config->version == 21400 && config->size == sizeof(NcclConfig);
  if (comm == nullptr || !has_config || config->blocking != 0) {
    return reject(NcclStatus::InvalidArgument, "the configuration is not that of version 2.14");
  }
  if (!has_context()) return reject(NcclStatus::UnhandledCuda, "the thread has no context");
  if (size < 1 || size > kMaxRanks || rank < 0 || rank >= size) {
    return reject(NcclStatus::InvalidArgument, "no such rank");
  }
  auto handle = std::make_unique<kiln::cuda::api::NcclCommTarget>();
  handle->communicator = std::make_shared<Communicator>();
  handle->communicator->rank = rank;
  handle->communicator->world = open_world(id);
  if (handle->communicator->world == nullptr) {
    return reject(NcclStatus::InvalidArgument, "the unique id names no communicator");
  }
  const NcclStatus status = join(*handle->communicator->world, size, rank);
  if (status != NcclStatus::Success) return status;
  *comm = handle.get();
  state().alive.emplace(*comm, std::move(handle));
  return NcclStatus::InProgress;
}

NcclStatus launch(kiln::cuda::api::NcclCommTarget& comm) {
  const auto is_ready = [](void* work) { return static_cast<QueuedGroup*>(work)->is_ready(); };
  const auto run = [](void* work) { return static_cast<QueuedGroup*>(work)->run(); };
  const auto destroy = [](void* work) { delete static_cast<QueuedGroup*>(work); };
  const int status = driver_calls().enqueue_when_ready(comm.stream, is_ready, run,
                                                       comm.launching.release(), destroy);
  if (status == 0) return NcclStatus::Success;
  return reject(NcclStatus::UnhandledCuda, "the stream takes no work: " + std::to_string(status));
}

NcclStatus async_error(NcclComm comm, NcclStatus* error) {
  if (!is_alive(comm) || error == nullptr) return reject("a dead communicator");
  *error = status_of(*comm->communicator->world);
  if (*error != NcclStatus::Success) return NcclStatus::Success;
  if (comm->polls > 0) {
    --comm->polls;
    *error = NcclStatus::InProgress;
  } else if (comm->launching) {
    *error = launch(*comm);
  }
  return NcclStatus::Success;
}

NcclStatus end_group() {
  OpenGroup& group = open_group;
  if (group.depth == 0) return reject("no group is open");
  if (--group.depth > 0 || !group.work) return NcclStatus::Success;
  const NcclComm comm = std::exchange(group.comm, nullptr);
  comm->launching = std::move(group.work);
  comm->stream = group.stream;
  comm->polls = 1;
  return NcclStatus::InProgress;
}

/// Adds a part to the open group, or to one of its own.
NcclStatus add(const QueuedPart& part, NcclDataType type, NcclComm comm, StreamHandle stream) {
  OpenGroup& group = open_group;
  if (!is_alive(comm)) return reject("a dead communicator");
  if (comm->launching) return reject("the communicator has work in progress");
  const NcclStatus status = status_of(*comm->communicator->world);
  if (status == NcclStatus::InProgress) return reject("the communicator is not ready");
  if (status != NcclStatus::Success) return status;
  if (type != NcclDataType::UInt8) {
    return reject(NcclStatus::InvalidArgument, "a type that the fake does not know");
  }
  const bool is_valid_rank =
      part.part.rank >= 0 && part.part.rank < comm->communicator->world->size.load();
  if (!is_valid_rank) return reject(NcclStatus::InvalidArgument, "no such rank");
  if (group.work && (group.comm != comm || group.stream != stream)) {
    return reject("a group of several communicators or streams");
  }
  const bool is_alone = group.depth == 0;
  if (is_alone) ++group.depth;
  if (!group.work) group.work = std::make_unique<QueuedGroup>(comm->communicator);
  group.comm = comm;
  group.stream = stream;
  group.work->add(part);
  return is_alone ? end_group() : NcclStatus::Success;
}

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

/// The rank can take part in nothing more; its queued work does nothing.
NcclStatus abort(NcclComm comm) {
  if (!is_alive(comm)) return reject("a dead communicator");
  comm->communicator->is_aborted.store(true);
  comm->communicator->own().has_ended.store(true);
  state().alive.erase(comm);
  return NcclStatus::Success;
}

}  // namespace

FAKE_EXPORT NcclStatus ncclGetVersion(int* version) {
  return enter("ncclGetVersion", [&] {
    *version = reported("ncclGetVersion", 23203);
    return NcclStatus::Success;
  });
}

FAKE_EXPORT const char* ncclGetErrorString(NcclStatus status) {
  switch (status) {
#define FAKE_NAME(name, symbol, value) \
  case NcclStatus::name: return #symbol;
    KILN_NCCL_STATUS(FAKE_NAME)
#undef FAKE_NAME
  }
  return "unknown";
}

FAKE_EXPORT const char* ncclGetLastError(NcclComm) { return state().last_error.c_str(); }

FAKE_EXPORT NcclStatus ncclGetUniqueId(NcclUniqueId* id) {
  return enter("ncclGetUniqueId", [&] {
    *id = make_world();
    return NcclStatus::Success;
  });
}

FAKE_EXPORT NcclStatus ncclCommInitRankConfig(NcclComm* comm, int size, NcclUniqueId id, int rank,
                                              NcclConfig* config) {
  const NcclStatus status =
      enter("ncclCommInitRankConfig", [&] { return init(comm, size, id, rank, config); });
  const bool has_failed = status != NcclStatus::Success && status != NcclStatus::InProgress;
  if (has_failed) {
    if (const auto world = open_world(id)) world->has_failed.store(true);
  }
  return status;
}
FAKE_EXPORT NcclStatus ncclCommAbort(NcclComm comm) {
  return enter("ncclCommAbort", [&] { return abort(comm); });
}
FAKE_EXPORT NcclStatus ncclCommGetAsyncError(NcclComm comm, NcclStatus* error) {
  return enter("ncclCommGetAsyncError", [&] { return async_error(comm, error); });
}

FAKE_EXPORT NcclStatus ncclGroupStart() {
  return enter("ncclGroupStart", [&] {
    ++open_group.depth;
    return NcclStatus::Success;
  });
}
FAKE_EXPORT NcclStatus ncclGroupEnd() {
  return enter("ncclGroupEnd", [&] { return end_group(); });
}

FAKE_EXPORT NcclStatus ncclSend(const void* from, std::size_t count, NcclDataType type, int peer,
                                NcclComm comm, StreamHandle stream) {
  return enter("ncclSend", [&] {
    return add({{PartKind::Send, peer, count, 0}, address_of(from), 0}, type, comm, stream);
  });
}
FAKE_EXPORT NcclStatus ncclRecv(void* to, std::size_t count, NcclDataType type, int peer,
                                NcclComm comm, StreamHandle stream) {
  return enter("ncclRecv", [&] {
    return add({{PartKind::Receive, peer, count, 0}, 0, address_of(to)}, type, comm, stream);
  });
}
FAKE_EXPORT NcclStatus ncclAllGather(const void* from, void* to, std::size_t count,
                                     NcclDataType type, NcclComm comm, StreamHandle stream) {
  return enter("ncclAllGather", [&] {
    return add({{PartKind::AllGather, 0, count, 0}, address_of(from), address_of(to)}, type, comm,
               stream);
  });
}
FAKE_EXPORT NcclStatus ncclBroadcast(const void* from, void* to, std::size_t count,
                                     NcclDataType type, int root, NcclComm comm,
                                     StreamHandle stream) {
  return enter("ncclBroadcast", [&] {
    return add({{PartKind::Broadcast, root, count, 0}, address_of(from), address_of(to)}, type,
               comm, stream);
  });
}

FAKE_EXPORT int fake_nccl_fail(const char* function, int nth, int status) {
  const std::lock_guard lock(state().mutex);
  return state().calls.fail(function, nth, status) ? 1 : 0;
}
FAKE_EXPORT void fake_nccl_reset() {
  const std::lock_guard lock(state().mutex);
  state().calls.forget_failures();
}
FAKE_EXPORT int fake_nccl_calls(const char* function) {
  const std::lock_guard lock(state().mutex);
  return state().calls.count_of(function);
}
FAKE_EXPORT std::size_t fake_nccl_objects() {
  const std::lock_guard lock(state().mutex);
  return state().alive.size();
}
