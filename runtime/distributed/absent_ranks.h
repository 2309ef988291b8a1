// Names the ranks that others wait for: each waiting rank tells rank 0 so, which knows the rest.
#pragma once

#include "runtime/distributed/communicator.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::runtime::distributed {

class AbsentRanks {
 public:
  /// `transfer`: the number of the transfer that is waited for, equal on all ranks of the world; 0
  /// for one of a part of the world, whose absent ranks are not known. REQUIRES: the other
  /// arguments outlive the object.
  AbsentRanks(const World& world, const Place& place, std::uint64_t transfer)
      : world_(world), place_(place), transfer_(std::to_string(transfer)) {}

  /// Tells rank 0 that this rank waits.
  void tell();
  /// "ranks 2, 17", those that have not told so; "other ranks" where that is not known.
  std::string list();

 private:
  bool is_of_world() const { return transfer_ != "0"; }
  void exchange(const std::string& sent);

  const World& world_;
  const Place& place_;
  const std::string transfer_;
  std::vector<bool> has_told_ = {};
};

}  // namespace kiln::runtime::distributed
