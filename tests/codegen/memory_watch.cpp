// Fibres run one after the other, so the accesses to a byte come in one order.
#include "tests/codegen/memory_watch.h"

#include "core/types/text.h"

#include <algorithm>

namespace kiln::test {
namespace {

bool is_one(const ThreadMoment& moment) { return moment.block >= 0; }

/// REQUIRES: of one block, `earlier` was noted before `later`.
bool are_ordered_in_block(const ThreadMoment& earlier, const ThreadMoment& later) {
  if (earlier.thread == later.thread) return true;
  if (earlier.block_barriers != later.block_barriers) return true;
  return earlier.warp == later.warp && earlier.warp_barriers != later.warp_barriers;
}

bool are_same_thread(const ThreadMoment& x, const ThreadMoment& y) {
  return x.block == y.block && x.thread == y.thread;
}

bool are_same_warp(const ThreadMoment& x, const ThreadMoment& y) {
  return x.block == y.block && x.warp == y.warp;
}

void add_load(std::array<ThreadMoment, 3>& loads, const ThreadMoment& moment) {
  const std::array<ThreadMoment, 3> before = loads;  // a later one has a smaller number
  loads = {moment, {}, {}};
  for (const ThreadMoment& one : before) {
    if (!is_one(one)) continue;
    if (!is_one(loads[1]) && !are_same_thread(one, moment)) loads[1] = one;
    if (!is_one(loads[2]) && !are_same_warp(one, moment)) loads[2] = one;
  }
}

std::string title(const ThreadMoment& moment) {
  return text("thread ", moment.thread, " of block ", moment.block);
}

}  // namespace

bool MemoryWatch::are_ordered(const ThreadMoment& earlier, const ThreadMoment& later) const {
  if (!is_one(earlier)) return true;
  if (earlier.block == later.block) return are_ordered_in_block(earlier, later);
  return std::any_of(atomics_.begin(), atomics_.end(), [&](const auto& entry) {
    bool is_released = false;
    for (const ThreadMoment& one : entry.second) {
      if (one.block == earlier.block && are_ordered_in_block(earlier, one)) is_released = true;
      const bool is_acquired = one.block == later.block && are_ordered_in_block(one, later);
      if (is_released && is_acquired) return true;
    }
    return false;
  });
}

void MemoryWatch::note_atomic(const void* address, const ThreadMoment& moment) {
  atomics_[address].push_back(moment);
}

bool MemoryWatch::check_global(const std::byte* address, std::size_t bytes, Access access,
                               const ThreadMoment& moment) {
  if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) {
    report(text(title(moment), access == Access::Load ? " loads " : " stores ", bytes,
                " bytes at a misaligned address"));
    return false;
  }
  if (!is_in_bounds_(address, bytes)) {
    report(text(title(moment), access == Access::Load ? " loads " : " stores ", bytes,
                " bytes outside of every operand"));
    return false;
  }
  note(global_, address, bytes, access, moment);
  return true;
}

void MemoryWatch::check_shared(const std::byte* address, std::size_t bytes, Access access,
                               const ThreadMoment& moment) {
  note(shared_, address, bytes, access, moment);
}

void MemoryWatch::note(Bytes& all, const std::byte* address, std::size_t bytes, Access access,
                       const ThreadMoment& moment) {
  const char* const memory = &all == &shared_ ? " of shared memory" : " of an operand";
  for (std::size_t i = 0; i < bytes; ++i) {
    Byte& byte = all[address + i];
    if (!are_ordered(byte.store, moment)) {
      report(text(title(moment), access == Access::Load ? " loads" : " stores", " a byte", memory,
                  " that ", title(byte.store), " stores, without a barrier between them"));
    }
    if (access == Access::Load) {
      add_load(byte.loads, moment);
      continue;
    }
    for (const ThreadMoment& load : byte.loads) {
      if (are_ordered(load, moment)) continue;
      report(text(title(moment), " stores a byte", memory, " that ", title(load),
                  " loads, without a barrier between them"));
    }
    byte = {moment, {}};
  }
}

void MemoryWatch::report(const std::string& error) {
  if (error_.empty()) error_ = error;
}

}  // namespace kiln::test
