// A group of processes through the table of a communicator: RAII and exceptions around its C
// functions. All calls of a world and its parts come from one thread.
#pragma once

#include "backends/abi/kiln_communicator_idle.h"
#include "runtime/distributed/communicator_library.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace kiln::runtime::distributed {

/// Thrown when a communicator fails. what(): the reason that it gives, and its name.
class CommunicatorError : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};

/// The place of this process in a group.
struct Place {
  std::size_t rank = 0, size = 1;
  std::size_t local_rank = 0, local_size = 1;  // among the ranks of this host
  std::string library = {};  // what moves the bytes: name, version, file
};

enum class TransferKind : std::uint32_t {
  AllGather = KILN_COMM_ALL_GATHER,
  AllToAll = KILN_COMM_ALL_TO_ALL,
  Broadcast = KILN_COMM_BROADCAST
};
struct Transfer {
  TransferKind kind = TransferKind::AllGather;
  std::size_t root = 0;  // of a broadcast
  const std::byte* send = nullptr;  // null for a broadcast
  std::byte* receive = nullptr;
  std::size_t bytes = 0;  // of one rank's part, at most KILN_COMM_MAX_BYTES
};

using CommunicatorOptions = std::map<std::string, std::string>;

/// The number of ranks that a launcher announces, 1 without one. Throws CommunicatorError.
std::size_t announced_ranks(const CommunicatorLibrary& library, const CommunicatorOptions& options);

/// Lines "name: text" about this process or, unless a launcher started it, about the ranks of the
/// launcher at that path (kiln_communicator_report.h); none if the library has no report. The last
/// is "no group of ranks: text" if it cannot join one.
std::vector<std::string> report_of(const CommunicatorLibrary& library, const std::string& launcher,
                                   const std::string& version);

class World {
 public:
  /// Joins the group of all ranks; waits for them. Throws CommunicatorError.
  World(const CommunicatorLibrary& library, const CommunicatorOptions& options);
  /// Ends in close() only: a world that is merely destroyed has failed, and is left as it is.
  ~World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  kiln_comm* group() const { return world_; }
  Place place_of(kiln_comm* group) const;
  /// A part lives as long as the world. Throws CommunicatorError.
  kiln_comm* split(kiln_comm* group, std::int64_t color, std::int64_t key) const;
  kiln_comm_work* start(kiln_comm* group, const Transfer& transfer) const;
  /// Whether the transfer is over; `work` is then freed.
  bool is_done(kiln_comm_work* work) const;
  /// Tells the communicator, if it wants to know, that this rank starts nothing until one of its
  /// transfers is over.
  void idle() const;
  /// Sends the text to rank 0; on rank 0 calls on_text(rank, text) for what has arrived.
  template <class OnText>
  void notify(const std::string& text, OnText on_text) const {
    notify(
        text,
        [](void* context, std::uint32_t rank, kiln_string given) {
          (*static_cast<OnText*>(context))(rank, given);
        },
        &on_text);
  }
  /// Ends the processes of all ranks, as far as the library can.
  void abort(std::uint32_t exit_code) const;
  /// Leaves: called by all ranks. Throws CommunicatorError.
  void close();

 private:
  void notify(const std::string& text, void (*on_text)(void*, std::uint32_t, kiln_string),
              void* context) const;

  const CommunicatorLibrary& library_;
  const kiln_comm_idle* idle_;  // null: the library has none
  kiln_comm* world_ = nullptr;
};

}  // namespace kiln::runtime::distributed
