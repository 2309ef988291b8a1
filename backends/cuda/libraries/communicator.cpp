// Each transfer is one group of the library's calls, queued when the communicator is ready again.
#include "backends/cuda/libraries/communicator.h"

#include "backends/cuda/api/api_failure.h"
#include "backends/cuda/device/device_address.h"
#include "backends/cuda/libraries/rank_wait.h"
#include "core/types/at.h"

#include <utility>

namespace kiln::cuda {
namespace {

using api::NcclStatus;

constexpr const char* kJoin = "join the ranks";

void* pointer(api::DeviceAddress address) { return reinterpret_cast<void*>(address); }

}  // namespace

Communicator::Communicator(std::shared_ptr<const api::Nccl> library,
                           std::shared_ptr<const Device> device, const sdk::Host& host,
                           const RankPlace& place, const api::NcclUniqueId& id)
    : library_(std::move(library)), device_(std::move(device)), host_(host), place_(place) {
  api::NcclConfig config;
  try {
    require(library_->comm_init(&comm_, static_cast<int>(place.size), id,
                                static_cast<int>(place.rank), &config),
            kJoin);
  } catch (...) {
    abort();
    throw;
  }
}

Communicator::~Communicator() {
  if (comm_ == nullptr || !device_->is_usable()) return;
  try {
    const ScopedContext context(*device_);
    abort();
  } catch (...) {
    // The device has just ended: the library cannot free the communicator without its context.
  }
}

void Communicator::abort() noexcept {
  if (comm_ != nullptr) library_->comm_abort(std::exchange(comm_, nullptr));
}

void Communicator::require(NcclStatus status, const char* action) const {
  const bool is_well = status == NcclStatus::Success || status == NcclStatus::InProgress;
  if (!is_well) throw api::failure(*library_, status, action);
}

void Communicator::check() const {
  NcclStatus status = NcclStatus::Success;
  require(library_->comm_get_async_error(comm_, &status), "ask for the state of the ranks");
  require(status, "run collectives");
}

void Communicator::wait_until_joined() const { wait_until_ready(kJoin, place_.time_limit / 2); }

void Communicator::wait_until_ready(const char* action, std::chrono::milliseconds limit) const {
  RankWait waiting(host_, limit, action);
  while (true) {
    NcclStatus status = NcclStatus::Success;
    require(library_->comm_get_async_error(comm_, &status), "ask for the state of the ranks");
    require(status, action);
    if (status == NcclStatus::Success) return;
    waiting.pause();
  }
}

template <class Queue>
void Communicator::run(const char* action, const Queue& queue) {
  require(library_->group_start(), action);
  const NcclStatus queued = queue();
  const NcclStatus ended = library_->group_end();
  require(queued, action);
  require(ended, action);
  wait_until_ready(action, place_.time_limit);
}

void Communicator::all_to_all(api::DeviceAddress from, api::DeviceAddress to, std::int64_t bytes,
                              const Stream& stream) {
  const auto is_well = [](NcclStatus status) {
    return status == NcclStatus::Success || status == NcclStatus::InProgress;
  };
  run("exchange parts of the ranks", [&] {
    for (std::int64_t rank = 0; rank < place_.size; ++rank) {
      const int peer = static_cast<int>(rank);
      const NcclStatus sent =
          library_->send(pointer(offset_by(from, rank * bytes)), at(bytes),
                         api::NcclDataType::UInt8, peer, comm_, stream.handle());
      if (!is_well(sent)) return sent;
      const NcclStatus received =
          library_->recv(pointer(offset_by(to, rank * bytes)), at(bytes), api::NcclDataType::UInt8,
                         peer, comm_, stream.handle());
      if (!is_well(received)) return received;
    }
    return NcclStatus::Success;
  });
}

void Communicator::all_gather(api::DeviceAddress from, api::DeviceAddress to, std::int64_t bytes,
                              const Stream& stream) {
  run("gather the parts of the ranks", [&] {
    return library_->all_gather(pointer(from), pointer(to), at(bytes), api::NcclDataType::UInt8,
                                comm_, stream.handle());
  });
}

void Communicator::broadcast(api::DeviceAddress data, std::int64_t bytes, std::int64_t root,
                             const Stream& stream) {
  run("broadcast", [&] {
    return library_->broadcast(pointer(data), pointer(data), at(bytes), api::NcclDataType::UInt8,
                               static_cast<int>(root), comm_, stream.handle());
  });
}

}  // namespace kiln::cuda
