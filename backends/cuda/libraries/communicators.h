// The communicators of an instance, one for each group whose collectives it runs.
#pragma once

#include "backends/cuda/libraries/communicator.h"

#include <map>
#include <mutex>
#include <utility>

namespace kiln::cuda {

/// Opens NCCL for the first program with collectives. Thread-safe.
class Communicators {
 public:
  Communicators(api::NcclSettings settings, std::shared_ptr<const Device> device,
                const sdk::Host& host)
      : settings_(std::move(settings)), device_(std::move(device)), host_(host) {}

  /// Throws sdk::Failure if NCCL cannot be used, with the report of the search. The next call
  /// tries again.
  std::shared_ptr<const api::Nccl> library();

  /// The communicator of the group. All its ranks call this at the same point of a call. The first
  /// one creates it: on all ranks, or a failure on all. Ends those of earlier sessions of the
  /// process. Throws sdk::Failure. REQUIRES: library() has returned; a ScopedContext of the thread;
  /// the call is open.
  std::shared_ptr<Communicator> of(std::int64_t group, const HostGroups& groups);
  /// Aborts and forgets all communicators: a rank that is in one cannot go on with the others.
  void abort_all() noexcept;

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;  // session and group

  std::shared_ptr<Communicator> join(std::int64_t group, const RankPlace& place,
                                     const HostGroups& groups);
  void warn_of_shared_device(std::span<const std::byte> uuids, const RankPlace& place) const;

  api::NcclSettings settings_;
  std::shared_ptr<const Device> device_;
  sdk::Host host_;
  std::mutex mutex_;
  std::shared_ptr<const api::Nccl> library_;
  std::map<Key, std::shared_ptr<Communicator>> communicators_;
};

}  // namespace kiln::cuda
