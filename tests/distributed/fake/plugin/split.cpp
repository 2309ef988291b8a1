// Divides a group.
#include "tests/distributed/fake/plugin/communicator.h"
#include "tests/distributed/fake/world/deadlock.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace kiln::fake {
namespace {

/// The members of the group, ordered by color, key and rank.
std::vector<std::uint32_t> order_of(Group& group, std::uint64_t index) {
  std::vector<std::uint32_t> members(group.size);
  std::iota(members.begin(), members.end(), 0u);
  std::stable_sort(members.begin(), members.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Posting &of_a = posting_of(group, a, index), &of_b = posting_of(group, b, index);
    return std::tie(of_a.color, of_a.key) < std::tie(of_b.color, of_b.key);
  });
  return members;
}

/// The number of the part of that color; 0 if the parts of the split have not been made.
std::uint32_t find_part(const World& world, std::uint32_t parent, std::uint64_t index,
                        std::int64_t color) {
  for (std::uint32_t number = 1; number < world.groups_made; ++number) {
    const Group& part = world.groups[number];
    const bool is_of_split = part.parent == parent && part.split == index;
    if (is_of_split && part.color == color) return number;
  }
  return 0;
}

}  // namespace

kiln_comm* Communicator::split(const kiln_comm& comm, std::int64_t color, std::int64_t key) {
  Posting posting{};
  posting.kind = kSplit;
  posting.root = comm.member;
  posting.color = color;
  posting.key = key;
  posting.needs_all = true;
  std::uint64_t index = 0;
  {
    Locked lock(world_);
    index = post(comm, posting);
    entry().is_idle = entry().is_in_split = true;
    look_for_deadlock(world_);
  }
  for (std::uint32_t seen = 0;; wait_for_change(world_, seen)) {
    Locked lock(world_);
    seen = world_.changes;
    require_intact();
    if (!is_complete(group_of(comm), comm.member, index)) continue;
    entry().is_idle = entry().is_in_split = false;
    const std::uint32_t number = part_of(comm, index);
    finish(comm, index);
    const Group& part = world_.groups[number];
    const std::uint32_t* const own = std::find(part.members, part.members + part.size, rank_);
    const auto member = static_cast<std::uint32_t>(own - part.members);
    return &comms_.emplace_back(kiln_comm{.rank = this, .group = number, .member = member});
  }
}

std::uint32_t Communicator::part_of(const kiln_comm& comm, std::uint64_t index) {
  Group& group = group_of(comm);
  const std::int64_t color = posting_of(group, comm.member, index).color;
  if (const std::uint32_t made = find_part(world_, comm.group, index, color)) return made;
  // All parts at once, so that their numbers do not depend on who is first.
  for (const std::uint32_t member : order_of(group, index)) {
    const std::int64_t its = posting_of(group, member, index).color;
    std::uint32_t number = find_part(world_, comm.group, index, its);
    if (number == 0 && world_.groups_made == kMaxGroups) {
      throw Failure(KILN_CODE_RESOURCE_EXHAUSTED,
                    "split: " + std::to_string(kMaxGroups) + " groups exist");
    }
    if (number == 0) number = world_.groups_made++;
    Group& part = world_.groups[number];
    part.parent = comm.group;
    part.split = index;
    part.color = its;
    part.members[part.size++] = group.members[member];
  }
  return find_part(world_, comm.group, index, color);
}

}  // namespace kiln::fake
