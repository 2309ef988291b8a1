// Ranks are on one machine if the kernel's boot id is the same, in containers of any name.
#include "runtime/distributed/processors.h"

#include "core/types/text.h"
#include "runtime/host/log.h"
#include "runtime/host/thread_pool.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <vector>

namespace kiln::runtime::distributed {
namespace {

/// The machine and the processors of a rank, as it tells the others.
struct Seat {
  std::array<char, 40> machine{};
  cpu_set_t processors{};

  bool is_beside(const Seat& other) const { return machine == other.machine; }
  std::size_t count() const { return static_cast<std::size_t>(CPU_COUNT(&processors)); }
};

Seat own_seat() {
  Seat seat;
  std::ifstream("/proc/sys/kernel/random/boot_id").read(seat.machine.data(), 36);
  CPU_ZERO(&seat.processors);
  ::sched_getaffinity(0, sizeof(seat.processors), &seat.processors);
  return seat;
}

bool overlap(const Seat& a, const Seat& b) {
  cpu_set_t both;
  CPU_AND(&both, &a.processors, &b.processors);
  return CPU_COUNT(&both) != 0;
}

}  // namespace

void share_processors(Group& world, Where where) {
  const Seat own = own_seat();
  std::size_t sharing = 0, beside = 0;
  Operation operation(HeadKind::Barrier, "init", where);
  operation.bytes = world.place().size * sizeof(Seat);
  world.run(operation, [&](Channel& channel) {
    const auto all = channel.all_gather(std::as_bytes(std::span(&own, 1)));
    for (std::size_t rank = 0; rank < world.place().size; ++rank) {
      Seat seat;
      std::memcpy(&seat, all.data() + rank * sizeof(Seat), sizeof(Seat));
      if (!seat.is_beside(own)) continue;
      ++beside;
      if (overlap(seat, own)) ++sharing;
    }
  });
  if (own.count() == 0 || sharing == 0) return;  // not known: more than 1,024 processors
  const std::size_t threads = std::max<std::size_t>(1, own.count() / sharing);
  const auto online = static_cast<std::size_t>(std::max(1l, ::sysconf(_SC_NPROCESSORS_ONLN)));
  const std::size_t part = std::max<std::size_t>(1, online / beside);
  if (sharing == 1 && beside > 1 && own.count() < part) {
    log_line(LogLevel::Warning, "distributed",
             text("init: the launcher bound this rank to ", own.count(), " of ", online,
                  " processors; mpirun --bind-to none lets it use ", part));
  }
  set_default_thread_count(static_cast<unsigned>(threads));
}

}  // namespace kiln::runtime::distributed
