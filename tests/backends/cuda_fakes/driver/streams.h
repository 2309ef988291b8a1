// Streams as lists of operations that nothing runs until the host waits, and then only those that
// the wait needs: the most unfavourable order that is legal.
#pragma once

#include "backends/cuda/api/driver_api.h"
#include "tests/backends/cuda_fakes/driver/handles.h"

#include <chrono>
#include <deque>
#include <functional>
#include <vector>

namespace kiln::fake_cuda {

using namespace cuda::api;

struct Capture;
struct Stream;

enum class OperationKind : std::uint8_t {
  Kernel,
  HostToDevice,
  DeviceToHost,
  DeviceToDevice,
  Memset,
  // In no graph:
  Allocate,
  Free,
  Record,
  Wait,
  Graph,
};

enum class Readiness : std::int8_t { Never = -1, NotYet = 0, Ready = 1 };

struct Operation {
  OperationKind kind;
  /// May run several times, as a part of a graph.
  std::function<Status()> run;
  /// Null: ready. Of work that other processes take part in, in no graph.
  std::function<Readiness()> is_ready = nullptr;
};

/// One recording of an event.
struct EventRecord {
  std::shared_ptr<Stream> stream;
  bool is_done = false;
  bool was_queried = false;  // a query has answered NotReady
  std::chrono::steady_clock::time_point time;
};

struct Stream {
  std::deque<Operation> pending;
  bool was_queried = false;          // a query has answered NotReady for these operations
  std::shared_ptr<Capture> capture;  // or null
  bool is_origin = false;            // of its capture
  std::vector<std::size_t> tail;     // nodes that the next node of the capture depends on
};

struct Event {
  EventFlags flags = EventFlags::Default;
  std::shared_ptr<EventRecord> record;  // the last one; null: none
  std::shared_ptr<Capture> capture;     // where the last record is part of a capture
  std::vector<std::size_t> tail;        // the nodes before that record
};

/// All streams. REQUIRES: the lock of state() is held.
class Streams : public Handles<StreamHandle, Stream> {
 public:
  /// Queues, or captures; CaptureInvalidated where that failed before.
  Status enqueue(Stream& stream, Operation operation);
  /// Runs everything of the stream and what its waits demand.
  Status run(Stream& stream);
  /// The same up to an operation that is not ready (NotReady), or until the record of an event, if
  /// one is given, is done.
  Status run_what_is_ready(Stream& stream, const EventRecord* end = nullptr);
  /// Runs the stream up to the record.
  Status run_to(EventRecord& record);
  /// Runs everything.
  Status run_all();
  /// Destroys the handle. The operations of the stream stay queued.
  bool destroy(StreamHandle handle);
  /// Drops all operations.
  void drop();
  std::size_t pending() const;

 private:
  /// REQUIRES: the stream has operations.
  Status run_next(Stream& stream);
  static Status wait_for_next(const Stream& stream);
  std::vector<std::shared_ptr<Stream>> with_operations() const;

  std::vector<std::shared_ptr<Stream>> destroyed_;  // that had operations
};

}  // namespace kiln::fake_cuda
