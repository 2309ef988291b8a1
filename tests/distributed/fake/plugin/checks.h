// Finds what a host does wrong in one call, and what ranks do differently.
#pragma once

#include "tests/distributed/fake/plugin/guarded_buffers.h"
#include "tests/distributed/fake/world/world.h"

#include <string>

namespace kiln::fake {

/// Throws Misuse for an unknown kind, a root outside of the group, too many bytes, a missing buffer
/// or one that the kind does not have.
void check_transfer(const kiln_comm_transfer& transfer, std::uint32_t ranks);

/// The memory of a checked transfer on one rank of its group; the root of a broadcast sends what
/// the interface calls `receive`.
TransferBuffers buffers_of(const kiln_comm_transfer& transfer, std::uint32_t ranks,
                           std::uint32_t rank);

/// Returns a text that names both if the member's transfer differs from that of any other member
/// who has started it, else "". Under the lock.
std::string difference(Group& group, std::uint32_t number, std::uint32_t member,
                       std::uint64_t index);

/// Returns a text if two members that have closed, without an error, started different numbers of
/// transfers, else "". Under the lock.
std::string missing_transfer(World& world);

}  // namespace kiln::fake
