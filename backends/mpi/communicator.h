// Defines the objects behind the handles of kiln_communicator.h.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/abi/kiln_communicator.h"

#include <cstdint>
#include <memory>
#include <string>

/// A transfer in progress. Its destructor does not end the transfer.
struct kiln_comm_work {
  virtual ~kiln_comm_work() = default;
  /// Whether the transfer is over. Throws sdk::Failure; the transfer may then still run.
  virtual bool is_done() = 0;
};

/// A group of ranks. Functions throw sdk::Failure.
struct kiln_comm {
  virtual ~kiln_comm() = default;
  kiln_comm() = default;
  kiln_comm(const kiln_comm&) = delete;
  kiln_comm& operator=(const kiln_comm&) = delete;

  std::uint32_t rank = 0, size = 1, local_rank = 0, local_size = 1;

  virtual const std::string& library() const = 0;
  /// Returns a group that the world owns.
  virtual kiln_comm* split(std::int64_t color, std::int64_t key) = 0;
  /// REQUIRES: a valid transfer.
  virtual std::unique_ptr<kiln_comm_work> start(const kiln_comm_transfer& transfer) = 0;
};

namespace kiln::mpi {

using OnText = void (*)(void* context, std::uint32_t rank, kiln_string text);

/// The group of all ranks, and the functions that kiln_communicator_api has for it alone.
struct World {
  virtual ~World() = default;
  virtual kiln_comm& group() = 0;
  virtual void notify(std::string_view text, OnText on_text, void* context) = 0;
  virtual void abort(int exit_code) = 0;
  /// Leaves the group. Its groups are invalid afterwards, but not after an exception.
  virtual void close() = 0;
};

/// Joins the ranks of the launcher by its MPI library, or those of an MPI that the program has
/// initialised; else returns the world of a process that no launcher started. Throws sdk::Failure.
std::unique_ptr<World> open_world();

}  // namespace kiln::mpi
