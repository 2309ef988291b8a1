// The end of a process's part in its groups. It leaves all of them at once: one after the other, it
// would wait in one group for a rank that waits for it in another.
#pragma once

#include "runtime/distributed/channel.h"
#include "runtime/distributed/protocol.h"

#include <cstdint>
#include <span>
#include <string>

namespace kiln::runtime::distributed {

/// The exchanges by which this rank leaves one group. Used on the communication thread; throws
/// CommunicatorError.
class Departure {
 public:
  /// `call`: the number of the leave among the group's operations. `reason`: of the other ranks'
  /// error. REQUIRES: the channel outlives the object.
  Departure(Channel& channel, std::uint64_t call, const std::string& reason);

  /// Starts the next exchange.
  void start();
  /// Returns whether the exchange has ended since the last call, and starts the next one if so.
  bool poll();
  /// Whether all ranks of the group know that this one has left.
  bool is_over() const { return protocol_.next() == Action::Publish; }

 private:
  Channel& channel_;
  RankProtocol protocol_;
  Text reason_;
};

/// Leaves the groups: waits until the other ranks of each leave it, too, or call an operation of
/// it, which is then their error.
void leave_groups(Channel& world, std::span<Departure> groups);

}  // namespace kiln::runtime::distributed
