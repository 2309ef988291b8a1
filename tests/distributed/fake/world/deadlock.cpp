// Searches the table of transfers in progress.
#include "tests/distributed/fake/world/deadlock.h"

#include <functional>

namespace kiln::fake {
namespace {

/// A transfer that a rank has in progress.
struct Waiting {
  std::uint32_t group;
  std::uint32_t member;
  std::uint64_t index;
};

/// Calls `visit` for each transfer that the rank would find complete, until one returns true.
bool any_of_rank(World& world, std::uint32_t rank,
                 const std::function<bool(const Waiting&)>& visit) {
  for (std::uint32_t g = 0; g < world.groups_made; ++g) {
    Group& group = world.groups[g];
    for (std::uint32_t member = 0; member < group.size; ++member) {
      if (group.members[member] != rank) continue;
      for (std::uint64_t i = group.oldest[member]; i < group.started[member]; ++i) {
        const Posting& posting = posting_of(group, member, i);
        const bool is_tested = !world.ranks[rank].is_in_split || posting.kind == kSplit;
        if (is_tested && !posting.is_over && visit({g, member, i})) return true;
      }
    }
  }
  return false;
}

bool has_stopped(World& world, std::uint32_t rank) {
  const RankEntry& entry = world.ranks[rank];
  if (entry.state == RankState::Closed || entry.state == RankState::Ended) return true;
  if (!entry.is_idle) return false;
  return !any_of_rank(world, rank, [&](const Waiting& waiting) {
    return is_complete(world.groups[waiting.group], waiting.member, waiting.index);
  });
}

/// "transfer 3 of group 0 (all_gather 64 bytes) for ranks 1, 2"
std::string text_of(World& world, const Waiting& waiting) {
  Group& group = world.groups[waiting.group];
  const Posting& posting = posting_of(group, waiting.member, waiting.index);
  std::string ranks;
  for (std::uint32_t other = 0; other < group.size; ++other) {
    if (!needs(posting, other) || group.started[other] > waiting.index) continue;
    ranks += (ranks.empty() ? "" : ", ") + std::to_string(group.members[other]);
  }
  const std::string reason = posting.is_lost                 ? "which is never over"
                             : ranks.find(',') == ranks.npos ? "for rank " + ranks
                                                             : "for ranks " + ranks;
  return "transfer " + std::to_string(waiting.index) + " of group " +
         std::to_string(waiting.group) + " (" + text_of(posting) + ") " + reason;
}

std::string text_of_rank(World& world, std::uint32_t rank) {
  const std::string name = "rank " + std::to_string(rank);
  const RankState state = world.ranks[rank].state;
  const char* const reason = world.ranks[rank].has_failed ? " after an error" : "";
  if (state == RankState::Closed) return name + " has closed" + reason;
  if (state == RankState::Ended) return name + " has ended";
  std::string transfers;
  any_of_rank(world, rank, [&](const Waiting& waiting) {
    transfers += (transfers.empty() ? "" : " and ") + text_of(world, waiting);
    return false;
  });
  return name + " waits in " + transfers;
}

}  // namespace

void look_for_deadlock(World& world) {
  bool is_any_idle = false;
  for (std::uint32_t rank = 0; rank < world.settings.ranks; ++rank) {
    if (!has_stopped(world, rank)) return;
    is_any_idle = is_any_idle || world.ranks[rank].is_idle;
  }
  if (!is_any_idle || world.broken_code != KILN_CODE_OK) return;
  std::string text = "deadlock: ";
  for (std::uint32_t rank = 0; rank < world.settings.ranks; ++rank) {
    text += (rank == 0 ? "" : "; ") + text_of_rank(world, rank);
  }
  break_world(world, KILN_CODE_ABORTED, text);
}

}  // namespace kiln::fake
