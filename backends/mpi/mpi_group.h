// A group of ranks as a communicator of MPI.
#pragma once

#include "backends/mpi/communicator.h"
#include "backends/mpi/engine.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace kiln::mpi {

template <class Handle>
class MpiWork final : public kiln_comm_work {
 public:
  explicit MpiWork(Engine<Handle>& engine) : engine_(engine) {}
  /// REQUIRES: the request is that of a transfer.
  bool is_done() override {
    int done = 0;
    engine_.call(&Functions<Handle>::test, "MPI_Test", &request, &done, engine_.status_ignore());
    if (done != 0) --engine_.transfers;
    return done != 0;
  }

  Handle request{};

 private:
  Engine<Handle>& engine_;
};

template <class Handle>
class MpiGroup final : public kiln_comm {
 public:
  /// Takes a communicator, which it frees, and makes its errors codes. Called by all its ranks.
  MpiGroup(Engine<Handle>& engine, std::vector<std::unique_ptr<kiln_comm>>& parts, Handle comm);
  ~MpiGroup() override { engine_.functions.comm_free(&comm_); }

  const std::string& library() const override { return engine_.library; }
  kiln_comm* split(std::int64_t color, std::int64_t key) override;
  std::unique_ptr<kiln_comm_work> start(const kiln_comm_transfer& transfer) override;
  /// Gathers a value of each rank, in rank order; waits for all ranks.
  template <class Value>
  std::vector<Value> gather(const Value& mine);
  Handle comm() const { return comm_; }

 private:
  std::uint32_t number(int (*Functions<Handle>::*function)(Handle, int*), const char* name,
                       Handle comm) const {
    int value = 0;
    engine_.call(function, name, comm, &value);
    return static_cast<std::uint32_t>(value);
  }

  Engine<Handle>& engine_;
  std::vector<std::unique_ptr<kiln_comm>>& parts_;  // of the world
  Handle comm_;
};

template <class Handle>
MpiGroup<Handle>::MpiGroup(Engine<Handle>& engine, std::vector<std::unique_ptr<kiln_comm>>& parts,
                           Handle comm)
    : engine_(engine), parts_(parts), comm_(comm) {
  using F = Functions<Handle>;
  engine_.call(&F::comm_set_errhandler, "MPI_Comm_set_errhandler", comm,
               engine.handles.errors_return);
  rank = number(&F::comm_rank, "MPI_Comm_rank", comm);
  size = number(&F::comm_size, "MPI_Comm_size", comm);
  Handle local{};
  engine_.call(&F::comm_split_type, "MPI_Comm_split_type", comm, engine.numbers.shared_memory,
               static_cast<int>(rank), engine.handles.info_null, &local);
  local_rank = number(&F::comm_rank, "MPI_Comm_rank", local);
  local_size = number(&F::comm_size, "MPI_Comm_size", local);
  engine_.call(&F::comm_free, "MPI_Comm_free", &local);
}

template <class Handle>
std::unique_ptr<kiln_comm_work> MpiGroup<Handle>::start(const kiln_comm_transfer& transfer) {
  using F = Functions<Handle>;
  const int bytes = static_cast<int>(transfer.bytes);
  const Handle byte = engine_.handles.byte;
  auto work = std::make_unique<MpiWork<Handle>>(engine_);
  if (transfer.kind == KILN_COMM_ALL_GATHER) {
    engine_.call(&F::all_gather, "MPI_Iallgather", transfer.send, bytes, byte, transfer.receive,
                 bytes, byte, comm_, &work->request);
  } else if (transfer.kind == KILN_COMM_ALL_TO_ALL) {
    engine_.call(&F::all_to_all, "MPI_Ialltoall", transfer.send, bytes, byte, transfer.receive,
                 bytes, byte, comm_, &work->request);
  } else {
    engine_.call(&F::broadcast, "MPI_Ibcast", transfer.receive, bytes, byte,
                 static_cast<int>(transfer.root), comm_, &work->request);
  }
  ++engine_.transfers;
  return work;
}

template <class Handle>
template <class Value>
std::vector<Value> MpiGroup<Handle>::gather(const Value& mine) {
  std::vector<Value> all(size);
  auto transfer = abi::fresh<kiln_comm_transfer>();
  transfer.kind = KILN_COMM_ALL_GATHER;
  transfer.send = &mine;
  transfer.receive = all.data();
  transfer.bytes = sizeof(Value);
  const std::unique_ptr<kiln_comm_work> work = start(transfer);
  while (!work->is_done()) std::this_thread::yield();
  return all;
}

/// MPI's colors and keys are of type int, and its colors not negative: it gets their positions in
/// the order of all ranks.
template <class Handle>
kiln_comm* MpiGroup<Handle>::split(std::int64_t color, std::int64_t key) {
  struct Member {
    std::int64_t color, key;
  };
  const std::vector<Member> all = gather(Member{color, key});
  const auto precedes = [](std::int64_t a, std::uint32_t a_rank, std::int64_t b,
                           std::uint32_t b_rank) { return a != b ? a < b : a_rank < b_rank; };
  int first_of_color = 0, place = 0;  // numbers of ranks below
  for (std::uint32_t other = 0; other < size; ++other) {
    if (all[other].color < color) ++first_of_color;
    if (precedes(all[other].key, other, key, rank)) ++place;
  }
  Handle part{};
  engine_.call(&Functions<Handle>::comm_split, "MPI_Comm_split", comm_, first_of_color, place,
               &part);
  parts_.push_back(std::make_unique<MpiGroup>(engine_, parts_, part));
  return parts_.back().get();
}

}  // namespace kiln::mpi
