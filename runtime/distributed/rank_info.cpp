// Ranks are on one machine if the kernel's boot id is the same, in containers of any name.
#include "runtime/distributed/rank_info.h"

#include "core/k/base/random_state_impl.h"
#include "core/types/text.h"
#include "runtime/host/log.h"
#include "runtime/host/thread_pool.h"

#include <kiln/random_state.h>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <vector>

namespace kiln::runtime::distributed {
namespace {

/// The machine, the processors and the random state of a rank, as it tells the others.
struct RankInfo {
  std::array<char, 40> machine{};
  cpu_set_t processors{};
  RandomPosition random = {};

  bool is_beside(const RankInfo& other) const { return machine == other.machine; }
  std::size_t count() const { return static_cast<std::size_t>(CPU_COUNT(&processors)); }
};

RankInfo own_info() {
  RankInfo own;
  std::ifstream("/proc/sys/kernel/random/boot_id").read(own.machine.data(), 36);
  CPU_ZERO(&own.processors);
  ::sched_getaffinity(0, sizeof(own.processors), &own.processors);
  own.random = RandomState::of_process().position();
  return own;
}

bool overlap(const cpu_set_t& a, const cpu_set_t& b) {
  cpu_set_t both;
  CPU_AND(&both, &a, &b);
  return CPU_COUNT(&both) != 0;
}

void share_processors(const RankInfo& own, const std::vector<RankInfo>& all) {
  std::size_t sharing = 0, beside = 0;
  for (const RankInfo& one : all) {
    if (!one.is_beside(own)) continue;
    ++beside;
    if (overlap(one.processors, own.processors)) ++sharing;
  }
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

}  // namespace

void exchange_rank_info(Group& world, Where where) {
  const RankInfo own = own_info();
  std::vector<RankInfo> all(world.place().size);
  Operation operation(HeadKind::Barrier, "init", where);
  operation.bytes = all.size() * sizeof(RankInfo);
  world.run(operation, [&](Channel& channel) {
    const auto received = channel.all_gather(std::as_bytes(std::span(&own, 1)));
    std::memcpy(all.data(), received.data(), received.size());
  });
  // Not on the root, where another thread may have drawn since.
  if (world.place().rank != 0) set_default_position(all[0].random);
  share_processors(own, all);
}

}  // namespace kiln::runtime::distributed
