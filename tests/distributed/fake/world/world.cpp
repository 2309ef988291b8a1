// Allocates the world, guards it, and decides when transfers are complete.
#include "tests/distributed/fake/world/world.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <stdexcept>

namespace kiln::fake {
namespace {

std::size_t size_of(const Settings& settings) {
  return sizeof(World) + settings.ranks * settings.send_bytes;
}

void initialise(pthread_mutex_t& mutex) {
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  ::pthread_mutex_init(&mutex, &attributes);
  ::pthread_mutexattr_destroy(&attributes);
}

}  // namespace

Locked::Locked(World& world) : world_(world) {
  if (::pthread_mutex_lock(&world_.mutex) == EOWNERDEAD) {
    ::pthread_mutex_consistent(&world_.mutex);
  }
}
Locked::~Locked() { ::pthread_mutex_unlock(&world_.mutex); }

World* make_world(const Settings& settings) {
  if (settings.ranks < 1 || settings.ranks > kMaxRanks || settings.ranks_per_host < 1) {
    throw std::invalid_argument("make_world: " + std::to_string(settings.ranks) + " ranks, " +
                                std::to_string(settings.ranks_per_host) + " per host");
  }
  constexpr int kFlags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const memory = ::mmap(nullptr, size_of(settings), PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  auto* const world = static_cast<World*>(memory);
  world->magic = kMagic;
  world->settings = settings;
  initialise(world->mutex);
  world->groups_made = 1;
  Group& all = world->groups[0];
  all.size = settings.ranks;
  for (std::uint32_t rank = 0; rank < settings.ranks; ++rank) all.members[rank] = rank;
  return world;
}

void free_world(World* world) {
  ::pthread_mutex_destroy(&world->mutex);
  ::munmap(world, size_of(world->settings));
}

void break_world(World& world, std::uint32_t code, std::string_view text) {
  if (world.broken_code != KILN_CODE_OK) return;
  const std::size_t size = std::min(text.size(), sizeof world.broken_text - 1);
  std::memcpy(world.broken_text, text.data(), size);
  world.broken_text[size] = 0;
  world.broken_code = code;
  note_change(world);
}

void note_change(World& world) {
  ++world.changes;
  ::syscall(SYS_futex, &world.changes, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void wait_for_change(World& world, std::uint32_t seen) {
  ::syscall(SYS_futex, &world.changes, FUTEX_WAIT, seen, nullptr, nullptr, 0);
}

std::string text_of(const Posting& posting) {
  static constexpr const char* kNames[] = {"all_gather", "all_to_all", "broadcast", "split"};
  const std::string name = kNames[posting.kind];
  if (posting.kind == kSplit) return name;
  const std::string sized = name + " " + std::to_string(posting.bytes) + " bytes";
  if (posting.kind != KILN_COMM_BROADCAST) return sized;
  return sized + " from rank " + std::to_string(posting.root);
}

bool needs(const Posting& posting, std::uint32_t other) {
  return posting.needs_all || other == posting.root;
}

bool is_complete(Group& group, std::uint32_t member, std::uint64_t index) {
  const Posting& posting = posting_of(group, member, index);
  if (posting.is_lost) return false;
  for (std::uint32_t other = 0; other < group.size; ++other) {
    if (needs(posting, other) && group.started[other] <= index) return false;
  }
  return true;
}

std::uint64_t oldest_of(const Group& group) {
  return *std::min_element(group.oldest, group.oldest + group.size);
}

}  // namespace kiln::fake
