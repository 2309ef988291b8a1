// The memory that the ranks of a communicator share: a file without a name, which the unique id
// names by the process and the descriptor that have it open. Ranks are forked processes.
#pragma once

#include "backends/cuda/api/nccl_api.h"

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace kiln::fake_nccl {

using namespace cuda::api;

inline constexpr int kMaxRanks = 16;
inline constexpr std::size_t kMaxParts = 2 * kMaxRanks;
/// Of the bytes that a rank sends at a time; a sparse file.
inline constexpr std::size_t kSendBytes = std::size_t{256} << 20;

enum class PartKind : std::uint32_t { AllGather, Broadcast, Send, Receive };

/// A collective, or one end of a transfer, as the other ranks see it.
struct Part {
  PartKind kind;
  std::int32_t rank;  // the root, or the other end
  std::uint64_t bytes;
  std::uint64_t offset;  // of what is sent, in the rank's memory
};

struct SharedRank {
  std::atomic<pid_t> process;  // 0: has not joined
  std::atomic<bool> has_ended;  // aborted or destroyed
  /// Groups of operations that the rank has published and completed. It publishes the next one
  /// only when all ranks have completed the one before.
  std::atomic<std::uint64_t> published, completed;
  std::uint64_t part_count;
  Part parts[kMaxParts];
};

struct SharedWorld {
  std::atomic<int> size;  // 0: no rank has joined
  std::atomic<bool> shares_device;  // a rank joined without NCCL_MULTI_RANK_GPU_ENABLE=1
  std::atomic<bool> has_failed;  // a rank could not join
  SharedRank ranks[kMaxRanks];

  std::byte* memory_of(int rank) {
    return reinterpret_cast<std::byte*>(this + 1) + static_cast<std::size_t>(rank) * kSendBytes;
  }
};

/// Makes a world, open until the process ends.
NcclUniqueId make_world();
/// Null for an id that names none, or whose process has ended.
std::shared_ptr<SharedWorld> open_world(const NcclUniqueId& id);

/// Whether a rank of the world that has joined can take part in nothing more.
bool has_lost_rank(const SharedWorld& world);
bool have_all_joined(const SharedWorld& world);

}  // namespace kiln::fake_nccl
