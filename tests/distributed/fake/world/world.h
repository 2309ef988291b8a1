// The shared memory of the fake communicator: settings, ranks, groups and the transfers in
// progress. All fields but settings are read and written under the lock, by the harness and by the
// plugin in every rank. The memory is zero at first; a killed rank may leave any field half
// changed.
#pragma once

#include "backends/abi/kiln_communicator.h"

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace kiln::fake {

inline constexpr std::uint32_t kMaxRanks = 32;
inline constexpr std::uint32_t kMaxGroups = 256;
/// A rank may start a transfer only if all ranks are done with the one so many before it.
inline constexpr std::uint64_t kWindow = 128;
inline constexpr std::uint32_t kMaxNotes = 64;
inline constexpr std::uint64_t kMagic = 0x444c524f57454b46ull;
/// Follows the kinds of kiln_comm_transfer, as ranks split a group in the order of its transfers.
inline constexpr std::uint32_t kSplit = KILN_COMM_BROADCAST + 1;

struct Settings {
  std::uint32_t ranks = 1;
  /// 0: a transfer is over at the first test that can find it complete. Any other: after a number
  /// of further tests, so that transfers in progress are over in an order that the seed decides;
  /// and a broadcast may wait for all ranks, which no rank may rely on.
  std::uint64_t seed = 0;
  std::uint32_t ranks_per_host = kMaxRanks;  // consecutive ranks
  bool threads = false;  // ranks are threads of one process
  bool idle_waits = true;  // `idle` returns when the rank has something to test
  std::uint64_t send_bytes = 256 << 20;  // of one rank's transfers in progress
};

/// A fault of one rank, in its transfer of this number, counted from 0 over all groups.
struct Fault {
  enum class Kind : std::uint32_t {
    None,
    FailStart,  // `start` is an error, on this rank alone
    FailTest,  // `test` is an error, on this rank alone
    Never,  // never over on this rank
    Delay,  // over after `polls` tests more
    Kill  // SIGKILL when the transfer has started
  };
  Kind kind = Kind::None;
  std::uint64_t transfer = 0;
  std::uint64_t polls = 0;
};

enum class RankState : std::uint32_t { NotOpened, Open, Closed, Ended };

struct RankEntry {
  pid_t pid;
  RankState state;
  bool is_idle;  // kiln_comm_idle
  bool is_in_split;  // tests no transfer meanwhile
  bool has_failed;  // a call has returned an error
  Fault fault;
  std::uint64_t transfers;  // started
  /// Sent, where each rank sends each part directly to the rank that needs it: n bytes to each of
  /// the others in an all-gather or all-to-all, and from the root of a broadcast.
  std::uint64_t messages, bytes;
  char report[1 << 14];  // of the harness: the text of the rank's end
};

/// A rank's part in a transfer of its group.
struct Posting {
  std::uint32_t kind, root;
  std::uint64_t bytes;
  std::int64_t color, key;  // of a split
  std::uint64_t send;  // offset of a copy of the bytes that the rank sends
  bool needs_all;  // over only when all ranks have started it
  bool is_lost;  // Fault::Kind::Never
  bool is_over;
};

struct Group {
  std::uint32_t size;
  std::uint32_t members[kMaxRanks];  // ranks of the world, by rank in the group
  std::uint64_t started[kMaxRanks];  // transfers
  std::uint64_t oldest[kMaxRanks];  // the first that is in progress; `started` if none is
  std::uint32_t parent;  // it is the part of `color` of the parent's transfer `split`
  std::uint64_t split;
  std::int64_t color;
  Posting postings[kMaxRanks][kWindow];  // of transfer i in element i % kWindow
};

struct Note {
  std::uint32_t rank, size;
  char text[1024];
};

struct World {
  std::uint64_t magic;
  Settings settings;
  pthread_mutex_t mutex;
  RankEntry ranks[kMaxRanks];
  std::uint32_t groups_made;
  Group groups[kMaxGroups];  // the first is the world
  std::uint32_t notes_sent;
  Note notes[kMaxNotes];
  std::atomic<std::uint32_t> changes;  // futex; see note_change
  bool is_aborted;
  std::uint32_t abort_code;
  std::uint32_t broken_code;  // KILN_CODE_OK while the world is not broken
  char broken_text[1 << 13];

  /// The memory behind this struct for copies of what the rank sends.
  std::byte* send_area(std::uint32_t rank) {
    return reinterpret_cast<std::byte*>(this + 1) + rank * settings.send_bytes;
  }
};

/// Holds the lock. A rank that was killed while holding it does not keep it.
class Locked {
 public:
  explicit Locked(World& world);
  ~Locked();
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  World& world_;
};

/// Returns a world of `settings` in new memory, which children of this process share.
/// Throws std::invalid_argument for settings out of range.
World* make_world(const Settings& settings);
void free_world(World* world);

/// Ends the waits of all ranks: a transfer may have become complete. Under the lock.
void note_change(World& world);
/// Returns after a change since `world.changes` was `seen`, and sometimes without one.
void wait_for_change(World& world, std::uint32_t seen);

/// Makes this the error of every later call on every rank, unless there is one. Under the lock.
void break_world(World& world, std::uint32_t code, std::string_view text);

/// "all_gather 64 bytes", "broadcast 8 bytes from rank 1", "split".
std::string text_of(const Posting& posting);

/// Posting of transfer `index` of a member. REQUIRES: it has started it, and some rank is not done
/// with it.
inline Posting& posting_of(Group& group, std::uint32_t member, std::uint64_t index) {
  return group.postings[member][index % kWindow];
}

/// Whether a member needs another's part, or its arrival, for the transfer it has posted.
bool needs(const Posting& posting, std::uint32_t other);

/// Whether all that the member's transfer needs has been started. Under the lock.
bool is_complete(Group& group, std::uint32_t member, std::uint64_t index);

/// The oldest transfer that any member has in progress or will start next.
std::uint64_t oldest_of(const Group& group);

}  // namespace kiln::fake
