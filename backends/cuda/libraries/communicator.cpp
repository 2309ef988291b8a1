// Each transfer is one group of the library's calls, queued when the communicator is ready again.
#include "backends/cuda/libraries/communicator.h"

#include "backends/cuda/api/api_failure.h"
#include "backends/cuda/device/device_address.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>
#include <thread>

namespace kiln::cuda {
namespace {

using api::NcclStatus;

void* pointer(api::DeviceAddress address) { return reinterpret_cast<void*>(address); }

}  // namespace

PollPause::PollPause(std::chrono::milliseconds limit)
    : limit_(limit), begin_(std::chrono::steady_clock::now()) {}

void PollPause::pause() {
  constexpr int kSpins = 200, kMaxPause = 1000;  // microseconds
  if (polls_++ < kSpins) return std::this_thread::yield();
  const auto waited = std::chrono::steady_clock::now() - begin_;
  // In milliseconds: a limit may have more than 2^63 nanoseconds.
  if (std::chrono::duration_cast<std::chrono::milliseconds>(waited) > limit_) {
    throw sdk::Failure(KILN_CODE_DEADLINE_EXCEEDED,
                       text("the ranks of NCCL did not answer within ", limit_.count() / 1000,
                            " s (init's time_limit)"));
  }
  std::this_thread::sleep_for(std::chrono::microseconds(std::min(polls_ - kSpins, kMaxPause)));
}

Communicator::Communicator(std::shared_ptr<const api::Nccl> library,
                           std::shared_ptr<const Device> device, const RankPlace& place,
                           const api::NcclUniqueId& id)
    : library_(std::move(library)), device_(std::move(device)), place_(place) {
  constexpr const char* kAction = "join the ranks";
  api::NcclConfig config;
  require(library_->comm_init(&comm_, static_cast<int>(place.size), id,
                              static_cast<int>(place.rank), &config),
          kAction);
  try {
    wait_until_ready(kAction);
  } catch (...) {
    abort();
    throw;
  }
}

Communicator::~Communicator() {
  if (comm_ == nullptr || !device_->is_usable()) return;
  try {
    const ScopedContext context(*device_);
    library_->comm_destroy(comm_);
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

void Communicator::wait_until_ready(const char* action) const {
  PollPause polling(place_.time_limit);
  while (true) {
    NcclStatus status = NcclStatus::Success;
    require(library_->comm_get_async_error(comm_, &status), "ask for the state of the ranks");
    require(status, action);
    if (status == NcclStatus::Success) return;
    polling.pause();
  }
}

template <class Queue>
void Communicator::run(const char* action, const Queue& queue) {
  require(library_->group_start(), action);
  const NcclStatus queued = queue();
  const NcclStatus ended = library_->group_end();
  require(queued, action);
  require(ended, action);
  wait_until_ready(action);
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
