// Maps worlds.
#include "tests/backends/cuda_fakes/nccl/shared_world.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <span>
#include <string>

namespace kiln::fake_nccl {
namespace {

constexpr std::size_t kBytes = sizeof(SharedWorld) + kMaxRanks * kSendBytes;

struct Name {
  char title[16] = "fake NCCL world";
  pid_t process = 0;
  int file = -1;
};
static_assert(sizeof(Name) <= sizeof(NcclUniqueId));

std::span<const SharedRank> ranks_of(const SharedWorld& world) {
  return std::span(world.ranks).first(static_cast<std::size_t>(world.size.load()));
}

}  // namespace

NcclUniqueId make_world() {
  Name name;
  name.process = ::getpid();
  name.file = ::memfd_create(name.title, MFD_CLOEXEC);
  if (name.file >= 0 && ::ftruncate(name.file, kBytes) != 0) name.file = -1;
  NcclUniqueId id{};
  std::memcpy(id.internal, &name, sizeof(name));
  return id;
}

std::shared_ptr<SharedWorld> open_world(const NcclUniqueId& id) {
  Name name;
  std::memcpy(&name, id.internal, sizeof(name));
  if (std::memcmp(name.title, Name().title, sizeof(name.title)) != 0) return nullptr;
  const std::string path =
      "/proc/" + std::to_string(name.process) + "/fd/" + std::to_string(name.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  ::close(file);
  if (memory == MAP_FAILED) return nullptr;
  const auto unmap = [](SharedWorld* world) { ::munmap(world, kBytes); };
  return {static_cast<SharedWorld*>(memory), unmap};
}

bool has_lost_rank(const SharedWorld& world) {
  for (const SharedRank& rank : ranks_of(world)) {
    const pid_t process = rank.process.load();
    if (process == 0) continue;
    if (rank.has_ended.load() || ::kill(process, 0) != 0) return true;
  }
  return false;
}

bool have_all_joined(const SharedWorld& world) {
  for (const SharedRank& rank : ranks_of(world)) {
    if (rank.process.load() == 0) return false;
  }
  return world.size.load() != 0;
}

}  // namespace kiln::fake_nccl
