// Tests the NCCL of this folder: values, and every misuse that it rejects. Two ranks of one
// process, whose streams are queried in turn.
#include "backends/cuda/api/open_nccl.h"
#include "tests/backends/cuda_fakes/gpu_test.h"
#include "tests/support/environment.h"

#include <array>

using namespace kiln::fake_cuda;
using kiln::testing::EnvironmentVariable;

namespace {

const Nccl& nccl() {
  static const std::shared_ptr<const Nccl> library = [] {
    Messages messages;
    return open_nccl({.search_path = search_path_of(kFolder)}, messages);
  }();
  return *library;
}

void* pointer(DeviceAddress address) { return reinterpret_cast<void*>(address); }

NcclStatus state_of(NcclComm comm) {
  NcclStatus state = NcclStatus::Internal;
  CHECK(nccl().comm_get_async_error(comm, &state) == NcclStatus::Success);
  return state;
}

NcclUniqueId new_id() {
  NcclUniqueId id;
  CHECK(nccl().get_unique_id(&id) == NcclStatus::Success);
  return id;
}

NcclStatus join(NcclComm& comm, int size, const NcclUniqueId& id, int rank) {
  NcclConfig config;
  return nccl().comm_init(&comm, size, id, rank, &config);
}

/// Two ranks with a stream and 64 bytes each, whose first four int32 are 0 to 3 and 10 to 13.
struct World {
  explicit World(const Gpu& of)
      : gpu(of),
        streams{make_stream(gpu), make_stream(gpu)},
        memory{DeviceMemory(gpu, streams[0], 64), DeviceMemory(gpu, streams[1], 64)} {
    const NcclUniqueId id = new_id();
    for (int rank = 0; rank < 2; ++rank) {
      REQUIRE(join(comms[at(rank)], 2, id, rank) == NcclStatus::InProgress);
      const HostNumbers numbers(gpu, {10 * rank, 10 * rank + 1, 10 * rank + 2, 10 * rank + 3});
      require_success(upload(gpu, memory[at(rank)], numbers, streams[at(rank)]));
      require_success(gpu->stream_synchronize(streams[at(rank)]));
    }
    for (NcclComm comm : comms) REQUIRE(state_of(comm) == NcclStatus::Success);
  }
  ~World() {
    for (NcclComm comm : comms) {
      if (comm != nullptr) nccl().comm_abort(comm);
    }
    for (const auto& stream : streams) gpu->stream_synchronize(stream);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  void* address(int rank, std::size_t offset = 0) const {
    return pointer(memory[at(rank)] + offset);
  }

  /// Queues the operation of a rank.
  template <class Queue>
  void queue(int rank, const Queue& operation) {
    CHECK(nccl().group_start() == NcclStatus::Success);
    operation(comms[at(rank)], streams[at(rank)]);
    CHECK(nccl().group_end() == NcclStatus::InProgress);
    CHECK(state_of(comms[at(rank)]) == NcclStatus::InProgress);
    CHECK(state_of(comms[at(rank)]) == NcclStatus::Success);
  }
  void gather(int rank, std::size_t bytes) {
    queue(rank, [&](NcclComm comm, StreamHandle stream) {
      CHECK(nccl().all_gather(address(rank), address(rank, 32), bytes, NcclDataType::UInt8, comm,
                              stream) == NcclStatus::Success);
    });
  }
  void broadcast(int rank, int root) {
    queue(rank, [&](NcclComm comm, StreamHandle stream) {
      CHECK(nccl().broadcast(address(rank), address(rank), 8, NcclDataType::UInt8, root, comm,
                             stream) == NcclStatus::Success);
    });
  }

  /// Runs both streams as far as they go.
  Status run() const {
    Status last = Status::NotReady;
    for (int turn = 0; turn < 8; ++turn) {
      const Status found[] = {gpu->stream_query(streams[0]), gpu->stream_query(streams[1])};
      for (const Status one : found) {
        if (one != Status::Success && one != Status::NotReady) return one;
      }
      last = std::max(found[0], found[1]);
    }
    return last;
  }

  std::vector<int> numbers(int rank) const {
    const HostNumbers out(gpu, 16);
    require_success(download(gpu, out, memory[at(rank)], streams[at(rank)]));
    require_success(gpu->stream_synchronize(streams[at(rank)]));
    return out.all();
  }

  const Gpu& gpu;
  std::array<Owned<StreamHandle>, 2> streams;
  std::array<DeviceMemory, 2> memory;
  std::array<NcclComm, 2> comms{};
};

struct ReportsLostRanks {
  EnvironmentVariable variable{"KILN_TEST_NCCL_LOST_RANKS", "reported"};
};

struct SharedDevice {
  EnvironmentVariable consent{"NCCL_MULTI_RANK_GPU_ENABLE", "1"};
};

}  // namespace

TEST_CASE("fake NCCL: an operation runs when all ranks have reached it") {
  const SharedDevice shared;
  const Gpu gpu(kFolder);
  World world(gpu);
  world.gather(0, 8);
  CHECK(world.run() == Status::NotReady);
  world.gather(1, 8);
  CHECK(world.run() == Status::Success);
  for (const int rank : {0, 1}) {
    const std::vector<int> found = world.numbers(rank);
    CHECK(std::vector<int>(found.begin() + 8, found.begin() + 12) == std::vector{0, 1, 10, 11});
  }
  for (const int rank : {1, 0}) world.broadcast(rank, 1);
  CHECK(world.run() == Status::Success);
  CHECK(world.numbers(0)[1] == 11);
}

TEST_CASE("fake NCCL: a group of sends and receives") {
  const SharedDevice shared;
  const Gpu gpu(kFolder);
  World world(gpu);
  for (const int rank : {0, 1}) {
    world.queue(rank, [&](NcclComm comm, StreamHandle stream) {
      for (const int peer : {0, 1}) {
        const auto offset = 4 * static_cast<std::size_t>(peer);
        CHECK(nccl().send(world.address(rank, offset), 4, NcclDataType::UInt8, peer, comm,
                          stream) == NcclStatus::Success);
        CHECK(nccl().recv(world.address(rank, 32 + offset), 4, NcclDataType::UInt8, peer, comm,
                          stream) == NcclStatus::Success);
      }
    });
  }
  CHECK(world.run() == Status::Success);
  CHECK(world.numbers(0)[8] == 0);
  CHECK(world.numbers(0)[9] == 10);
  CHECK(world.numbers(1)[8] == 1);
  CHECK(world.numbers(1)[9] == 11);
}

TEST_CASE("fake NCCL: operations that differ between ranks end the context") {
  const SharedDevice shared;
  const struct {
    const char* difference;
    void (*queue)(World& world);
  } rows[] = {
      {"bytes", [](World& world) { world.gather(0, 8), world.gather(1, 4); }},
      {"kind", [](World& world) { world.gather(0, 8), world.broadcast(1, 0); }},
      {"root", [](World& world) { world.broadcast(0, 0), world.broadcast(1, 1); }},
  };
  for (const auto& row : rows) {
    INFO(row.difference);
    const Gpu gpu(kFolder);
    World world(gpu);
    row.queue(world);
    CHECK(world.run() == Status::LaunchFailed);
    gpu.control.reset();
  }
}

TEST_CASE("fake NCCL: a rank that has ended is an error only where the library reports it") {
  const SharedDevice shared;
  const Gpu gpu(kFolder);
  World world(gpu);
  world.gather(0, 8);
  CHECK(nccl().comm_abort(std::exchange(world.comms[1], nullptr)) == NcclStatus::Success);
  CHECK(state_of(world.comms[0]) == NcclStatus::Success);
  {
    const ReportsLostRanks reports;
    CHECK(state_of(world.comms[0]) == NcclStatus::Remote);
  }
  CHECK(world.run() == Status::NotReady);
  SECTION("it aborts, too") {
    CHECK(nccl().comm_abort(std::exchange(world.comms[0], nullptr)) == NcclStatus::Success);
    CHECK(gpu->stream_synchronize(world.streams[0]) == Status::Success);
  }
  SECTION("it waits") {
    CHECK(gpu->stream_synchronize(world.streams[0]) == Status::LaunchTimeout);
    gpu.control.reset();
  }
}

TEST_CASE("fake NCCL: misuse is rejected") {
  const SharedDevice shared;
  const Gpu gpu(kFolder);
  World world(gpu);
  const auto gather = [&](NcclComm comm, StreamHandle stream) {
    return nccl().all_gather(world.address(0), world.address(0, 32), 8, NcclDataType::UInt8, comm,
                             stream);
  };
  SECTION("a capture") {
    require_success(gpu->stream_begin_capture(world.streams[0], CaptureMode::ThreadLocal));
    CHECK(gather(world.comms[0], world.streams[0]) == NcclStatus::InProgress);
    CHECK(state_of(world.comms[0]) == NcclStatus::InProgress);
    CHECK(state_of(world.comms[0]) == NcclStatus::UnhandledCuda);
    GraphHandle graph = nullptr;
    CHECK(gpu->stream_end_capture(world.streams[0], &graph) != Status::Success);
  }
  SECTION("a second operation before the first is on its stream") {
    CHECK(gather(world.comms[0], world.streams[0]) == NcclStatus::InProgress);
    CHECK(gather(world.comms[0], world.streams[0]) == NcclStatus::InvalidUsage);
  }
  SECTION("a communicator that is gone") {
    const NcclComm gone = std::exchange(world.comms[0], nullptr);
    CHECK(nccl().comm_abort(gone) == NcclStatus::Success);
    CHECK(gather(gone, world.streams[0]) == NcclStatus::InvalidUsage);
    CHECK(nccl().comm_abort(gone) == NcclStatus::InvalidUsage);
  }
  SECTION("a rank, an id or a number of ranks that does not exist") {
    NcclComm comm = nullptr;
    CHECK(join(comm, 2, new_id(), 2) == NcclStatus::InvalidArgument);
    CHECK(join(comm, 2, NcclUniqueId{}, 0) == NcclStatus::InvalidArgument);
    CHECK(comm == nullptr);
    CHECK(nccl().broadcast(world.address(0), world.address(0), 8, NcclDataType::UInt8, 2,
                           world.comms[0], world.streams[0]) == NcclStatus::InvalidArgument);
  }
  SECTION("a second rank of the same number, and another number of ranks") {
    const NcclUniqueId id = new_id();
    NcclComm first = nullptr, second = nullptr;
    CHECK(join(first, 2, id, 0) == NcclStatus::InProgress);
    CHECK(state_of(first) == NcclStatus::InProgress);
    CHECK(join(second, 2, id, 0) == NcclStatus::InvalidUsage);
    CHECK(join(second, 3, id, 1) == NcclStatus::InvalidArgument);
    CHECK(state_of(first) == NcclStatus::InProgress);
    const ReportsLostRanks reports;
    CHECK(state_of(first) == NcclStatus::Remote);
    CHECK(nccl().comm_abort(first) == NcclStatus::Success);
  }
}

TEST_CASE("fake NCCL: two ranks on one device need its consent") {
  const EnvironmentVariable none("NCCL_MULTI_RANK_GPU_ENABLE", std::nullopt);
  const Gpu gpu(kFolder);
  const NcclUniqueId id = new_id();
  NcclComm comms[2] = {};
  for (const int rank : {0, 1}) CHECK(join(comms[rank], 2, id, rank) == NcclStatus::InProgress);
  for (NcclComm comm : comms) {
    // The same where another rank has given up already.
    CHECK(state_of(comm) == NcclStatus::InvalidUsage);
    CHECK(std::string(nccl().get_last_error(comm)) == "Duplicate GPU detected");
    CHECK(nccl().comm_abort(comm) == NcclStatus::Success);
  }
  NcclComm alone = nullptr;
  CHECK(join(alone, 1, new_id(), 0) == NcclStatus::InProgress);
  CHECK(state_of(alone) == NcclStatus::Success);
  CHECK(nccl().comm_abort(alone) == NcclStatus::Success);
}
