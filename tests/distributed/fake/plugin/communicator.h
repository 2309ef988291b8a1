// One rank of a world: groups and transfers of the fake communicator.
#pragma once

#include "tests/distributed/fake/plugin/failure.h"
#include "tests/distributed/fake/plugin/guarded_buffers.h"
#include "tests/distributed/fake/plugin/send_area.h"
#include "tests/distributed/fake/plugin/timing.h"
#include "tests/distributed/fake/world/world.h"

#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace kiln::fake {
class Communicator;
}

/// A group of ranks, as one of them sees it.
struct kiln_comm {
  kiln::fake::Communicator* rank;
  std::uint32_t group, member;
};

/// Kept until close, so that a test of a transfer that is over is found.
struct kiln_comm_work {
  const kiln_comm* comm;
  kiln_comm_transfer transfer;
  std::uint64_t number;     // of the rank's transfers
  std::uint64_t index = 0;  // in its group
  std::uint64_t polls = 0;  // that find it complete before it is over
  std::unique_ptr<kiln::fake::GuardedBuffers> guard = nullptr;  // null: it is over
};

namespace kiln::fake {

/// Every function throws Failure, and after one that did only close and abort work. A Misuse is an
/// error on all ranks.
class Communicator {
 public:
  /// Joins the world.
  Communicator(World& world, std::uint32_t rank);

  kiln_comm* world() { return &comms_.front(); }
  kiln_comm_info info(const kiln_comm& comm);
  /// Waits for all ranks of the group.
  kiln_comm* split(const kiln_comm& comm, std::int64_t color, std::int64_t key);
  kiln_comm_work* start(const kiln_comm& comm, const kiln_comm_transfer& transfer);
  /// Whether the transfer is over.
  bool test(kiln_comm_work& work);
  /// Sends a text that is not empty. Returns the texts that have arrived at rank 0, of which at
  /// most kMaxNotes are kept.
  std::vector<Note> notify(const kiln_comm& comm, std::string_view text);
  void idle();
  /// Ends this process, and the harness those of the other ranks; of threads: breaks the world.
  void abort(std::uint32_t exit_code);
  /// Waits for no other rank. Returns a text if ranks started different numbers of transfers.
  /// Throws Misuse, and does not leave, if a transfer is in progress and no call has failed.
  std::string close(const kiln_comm& comm);

  /// Runs `body`, a call of that function. Throws what it throws, and Misuse for a call on another
  /// thread or after an error.
  template <class Body>
  auto call(const char* function, const Body& body) {
    require_thread(function);
    try {
      require_usable(function);
      return body();
    } catch (const Misuse& misuse) {
      break_by(misuse);
      fail(misuse.what());
      throw;
    } catch (const Failure& failure) {
      fail(failure.what());
      throw;
    }
  }

 private:
  /// Touches no field, as another thread may be in a call.
  void require_thread(const char* function);
  void require_usable(const char* function) const;
  /// Throws the error of a broken world. Under the lock.
  void require_intact() const;
  void break_by(const Misuse& misuse);
  void fail(const std::string& text);
  void require_apart(const TransferBuffers& buffers);
  bool has_fault(Fault::Kind kind, std::uint64_t number);
  /// Adds the rank's part to the table and returns its index. Under the lock.
  std::uint64_t post(const kiln_comm& comm, const Posting& posting);
  /// Returns the offset of a copy in the send area.
  std::uint64_t copy(const kiln_comm& comm, Bytes sent);
  Posting posting_of_transfer(const kiln_comm& comm, const kiln_comm_transfer& transfer,
                              const Timing& timing);
  void count(const kiln_comm& comm, const Posting& posting);
  bool is_due(kiln_comm_work& work);
  void end_guard(kiln_comm_work& work);
  void receive(const kiln_comm_work& work);
  /// Under the lock.
  void finish(const kiln_comm& comm, std::uint64_t index);
  /// Returns the number of the part of a complete split. Under the lock.
  std::uint32_t part_of(const kiln_comm& comm, std::uint64_t index);
  Group& group_of(const kiln_comm& comm) { return world_.groups[comm.group]; }
  RankEntry& entry() { return world_.ranks[rank_]; }

  World& world_;
  const std::uint32_t rank_;
  const std::thread::id thread_ = std::this_thread::get_id();
  SendArea area_;
  std::deque<kiln_comm> comms_;  // the first is the world
  std::deque<kiln_comm_work> works_;
  std::vector<kiln_comm_work*> in_progress_;
  std::string failed_;  // text of the first error that was returned
};

}  // namespace kiln::fake
