// Rank 0 makes the unique id of a communicator; the host's exchanges bring it to the others, and
// tell all whether one has failed.
#include "backends/cuda/libraries/communicators.h"

#include "backends/cuda/api/api_failure.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>
#include <cstring>

namespace kiln::cuda {
namespace {

/// The text of the failure of `work`; empty for none.
template <class Work>
std::string failure_of(const Work& work) {
  try {
    work();
    return "";
  } catch (const std::exception& failure) {
    return failure.what();
  }
}

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

std::shared_ptr<const api::Nccl> Communicators::library() {
  const std::lock_guard lock(mutex_);
  if (library_) return library_;
  api::Messages messages;
  try {
    library_ = api::open_nccl(settings_, messages);
  } catch (const sdk::Failure& failure) {
    throw sdk::Failure(failure.code(),
                       text("collectives on cuda need NCCL: ", failure.what(),
                            "; install the wheel nvidia-nccl-cu13, or set the option collectives "
                            "(KILN_CUDA_COLLECTIVES) to host"));
  }
  for (const std::string& message : messages) host_.log(KILN_LOG_INFO, "cuda", message);
  return library_;
}

std::shared_ptr<Communicator> Communicators::of(std::int64_t group, const HostGroups& groups) {
  const RankPlace place = groups.place(group);
  const Key key{place.session, group};
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(communicators_,
                  [&](const auto& one) { return one.first.first != place.session; });
    const auto found = communicators_.find(key);
    if (found != communicators_.end()) return found->second;
  }
  std::shared_ptr<Communicator> created = join(group, place, groups);
  const std::lock_guard lock(mutex_);
  return communicators_[key] = std::move(created);
}

void Communicators::abort_all() noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& one : communicators_) one.second->abort();
  communicators_.clear();
}

std::shared_ptr<Communicator> Communicators::join(std::int64_t group, const RankPlace& place,
                                                  const HostGroups& groups) {
  api::NcclUniqueId id{};
  api::DeviceUuid uuid{};
  const std::string failed = failure_of([&] {
    device_->check(device_->driver().device_get_uuid(&uuid, device_->identity().handle),
                   "read the UUID of the device");
    if (place.rank != 0) return;
    const api::NcclStatus status = library_->get_unique_id(&id);
    if (status != api::NcclStatus::Success) {
      throw api::failure(*library_, status, "make an id for the ranks");
    }
  });
  groups.require_success(group, failed);
  const auto ids = groups.exchange(group, place.size, bytes_of(id));
  std::memcpy(&id, ids.data(), sizeof(id));  // of rank 0
  warn_of_shared_device(groups.exchange(group, place.size, bytes_of(uuid)), place);
  // A rank that cannot begin would leave the others waiting: the library does not tell them.
  std::shared_ptr<Communicator> created;
  groups.require_success(group, failure_of([&] {
                           created =
                               std::make_shared<Communicator>(library_, device_, host_, place, id);
                         }));
  groups.require_success(group, failure_of([&] { created->wait_until_joined(); }));
  return created;
}

void Communicators::warn_of_shared_device(std::span<const std::byte> uuids,
                                          const RankPlace& place) const {
  constexpr std::size_t kBytes = sizeof(api::DeviceUuid);
  const auto of = [&](std::int64_t rank) { return uuids.subspan(at(rank) * kBytes, kBytes); };
  for (std::int64_t rank = 0; rank < place.rank; ++rank) {
    if (!std::ranges::equal(of(rank), of(place.rank))) continue;
    return host_.log(KILN_LOG_WARNING, "cuda",
                     text("ranks ", rank, " and ", place.rank, " share ", device_->title()));
  }
}

}  // namespace kiln::cuda
