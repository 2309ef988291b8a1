// A group of ranks as the host's functions for collectives show it (kiln_backend.h).
#pragma once

#include "backends/abi/kiln_backend_sdk.h"

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kiln::cuda {

/// The place of this process in a group.
struct RankPlace {
  std::int64_t rank = 0, size = 1;
  std::int64_t local_rank = 0;  // among the ranks of this machine
  std::chrono::milliseconds time_limit{};
  std::int64_t session = 0;
};

/// The groups of one call; none: `call_context` is null, and only place() may be called. All
/// functions throw sdk::Failure.
class HostGroups {
 public:
  HostGroups(const sdk::Host& host, void* call_context)
      : host_(host), call_context_(call_context) {}

  RankPlace place(std::int64_t group) const;
  /// Has all ranks agree on the call.
  void open() const;
  /// The bytes of all ranks of the group, in rank order. `own`: as many on all ranks.
  std::vector<std::byte> exchange(std::int64_t group, std::int64_t ranks,
                                  std::span<const std::byte> own) const;
  /// Has all ranks of the group tell whether they have failed; throws the first failure. `failure`:
  /// the text of this rank's, empty for none.
  void require_success(std::int64_t group, const std::string& failure) const;
  /// Makes the groups unusable, and throws.
  [[noreturn]] void break_up(const std::string& reason) const;

 private:
  const sdk::Host& host_;
  void* call_context_;
};

}  // namespace kiln::cuda
