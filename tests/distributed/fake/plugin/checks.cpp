// Compares transfers with the rules of kiln_communicator.h.
#include "tests/distributed/fake/plugin/checks.h"
#include "tests/distributed/fake/plugin/failure.h"

namespace kiln::fake {
namespace {

std::string name_of(const Group& group, std::uint32_t member) {
  return "rank " + std::to_string(group.members[member]);
}

bool differ(const Posting& a, const Posting& b) {
  if (a.kind != b.kind || a.bytes != b.bytes) return true;
  return a.kind == KILN_COMM_BROADCAST && a.root != b.root;
}

}  // namespace

void check_transfer(const kiln_comm_transfer& transfer, std::uint32_t ranks) {
  if (transfer.kind > KILN_COMM_BROADCAST) {
    throw Misuse("start: unknown kind " + std::to_string(transfer.kind));
  }
  const bool is_broadcast = transfer.kind == KILN_COMM_BROADCAST;
  if (is_broadcast && transfer.root >= ranks) {
    throw Misuse("start: root " + std::to_string(transfer.root) + " of " + std::to_string(ranks) +
                 " ranks");
  }
  if (transfer.bytes > KILN_COMM_MAX_BYTES) {
    throw Misuse("start: " + std::to_string(transfer.bytes) +
                 " bytes, more than KILN_COMM_MAX_BYTES");
  }
  if (is_broadcast && transfer.send != nullptr) throw Misuse("start: send of a broadcast");
  if (transfer.bytes == 0) return;
  if (transfer.receive == nullptr) throw Misuse("start: receive is null");
  if (!is_broadcast && transfer.send == nullptr) throw Misuse("start: send is null");
}

TransferBuffers buffers_of(const kiln_comm_transfer& transfer, std::uint32_t ranks,
                           std::uint32_t rank) {
  auto* const send = static_cast<std::byte*>(const_cast<void*>(transfer.send));
  auto* const receive = static_cast<std::byte*>(transfer.receive);
  const std::size_t part = transfer.bytes, all = part * ranks;
  switch (transfer.kind) {
    case KILN_COMM_ALL_GATHER: return {{send, part}, {receive, all}};
    case KILN_COMM_ALL_TO_ALL: return {{send, all}, {receive, all}};
    default: break;
  }
  if (rank == transfer.root) return {{receive, part}, {}};
  return {{}, {receive, part}};
}

std::string difference(Group& group, std::uint32_t number, std::uint32_t member,
                       std::uint64_t index) {
  const Posting& own = posting_of(group, member, index);
  for (std::uint32_t other = 0; other < group.size; ++other) {
    if (group.started[other] <= index) continue;
    const Posting& its = posting_of(group, other, index);
    if (!differ(own, its)) continue;
    const std::uint32_t first = other < member ? other : member;
    const std::uint32_t second = other < member ? member : other;
    return "transfer " + std::to_string(index) + " of group " + std::to_string(number) +
           " differs: " + name_of(group, first) + " " + text_of(posting_of(group, first, index)) +
           ", " + name_of(group, second) + " " + text_of(posting_of(group, second, index));
  }
  return "";
}

std::string missing_transfer(World& world) {
  for (std::uint32_t number = 0; number < world.groups_made; ++number) {
    const Group& group = world.groups[number];
    for (std::uint32_t a = 0; a < group.size; ++a) {
      for (std::uint32_t b = 0; b < a; ++b) {
        const auto has_closed = [&](std::uint32_t member) {
          const RankEntry& entry = world.ranks[group.members[member]];
          return entry.state == RankState::Closed && !entry.has_failed;
        };
        if (!has_closed(a) || !has_closed(b) || group.started[a] == group.started[b]) continue;
        return "close: " + name_of(group, b) + " started " + std::to_string(group.started[b]) +
               " transfers of group " + std::to_string(number) + ", " + name_of(group, a) + " " +
               std::to_string(group.started[a]);
      }
    }
  }
  return "";
}

}  // namespace kiln::fake
