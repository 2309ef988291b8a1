// Fibres run one after the other, so that the accesses to a byte have one order.
#include "tests/backends/codegen/memory_watch.h"

#include "core/types/text.h"

#include <algorithm>

namespace kiln::test {
namespace {

bool is_set(const ThreadProgress& progress) { return progress.block >= 0; }

/// REQUIRES: of one block, `earlier` was noted before `later`.
bool are_ordered_in_block(const ThreadProgress& earlier, const ThreadProgress& later) {
  if (earlier.thread == later.thread) return true;
  if (earlier.block_barriers != later.block_barriers) return true;
  return earlier.warp == later.warp && earlier.warp_barriers != later.warp_barriers;
}

bool are_same_thread(const ThreadProgress& x, const ThreadProgress& y) {
  return x.block == y.block && x.thread == y.thread;
}

bool are_same_warp(const ThreadProgress& x, const ThreadProgress& y) {
  return x.block == y.block && x.warp == y.warp;
}

void add_load(std::array<ThreadProgress, 3>& loads, const ThreadProgress& progress) {
  const std::array<ThreadProgress, 3> before = loads;  // a later one has a smaller number
  loads = {progress, {}, {}};
  for (const ThreadProgress& one : before) {
    if (!is_set(one)) continue;
    if (!is_set(loads[1]) && !are_same_thread(one, progress)) loads[1] = one;
    if (!is_set(loads[2]) && !are_same_warp(one, progress)) loads[2] = one;
  }
}

std::string title(const ThreadProgress& progress) {
  return text("thread ", progress.thread, " of block ", progress.block);
}

}  // namespace

bool MemoryWatch::are_ordered(const ThreadProgress& earlier, const ThreadProgress& later) const {
  if (!is_set(earlier)) return true;
  if (earlier.block == later.block) return are_ordered_in_block(earlier, later);
  return std::any_of(atomics_.begin(), atomics_.end(), [&](const auto& entry) {
    bool is_released = false;
    for (const ThreadProgress& one : entry.second) {
      if (one.block == earlier.block && are_ordered_in_block(earlier, one)) is_released = true;
      const bool is_acquired = one.block == later.block && are_ordered_in_block(one, later);
      if (is_released && is_acquired) return true;
    }
    return false;
  });
}

void MemoryWatch::note_atomic(const void* address, const ThreadProgress& progress) {
  atomics_[address].push_back(progress);
}

bool MemoryWatch::check_global(const std::byte* address, std::size_t bytes, Access access,
                               const ThreadProgress& progress) {
  if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) {
    report(text(title(progress), access == Access::Load ? " loads " : " stores ", bytes,
                " bytes at a misaligned address"));
    return false;
  }
  if (address >= shared_begin_ && address + bytes <= shared_end_) {
    check_shared(address, bytes, access, progress);
    return true;
  }
  if (!is_in_bounds_(address, bytes)) {
    report(text(title(progress), access == Access::Load ? " loads " : " stores ", bytes,
                " bytes outside of every operand"));
    return false;
  }
  if (finds_races_) note(global_, address, bytes, access, progress);
  return true;
}

void MemoryWatch::check_shared(const std::byte* address, std::size_t bytes, Access access,
                               const ThreadProgress& progress) {
  note(shared_, address, bytes, access, progress);
}

void MemoryWatch::note(Bytes& all, const std::byte* address, std::size_t bytes, Access access,
                       const ThreadProgress& progress) {
  const char* const memory = &all == &shared_ ? " of shared memory" : " of an operand";
  for (std::size_t i = 0; i < bytes; ++i) {
    Byte& byte = all[address + i];
    if (!are_ordered(byte.store, progress)) {
      report(text(title(progress), access == Access::Load ? " loads" : " stores", " a byte", memory,
                  " that ", title(byte.store), " stores, without a barrier between them"));
    }
    if (access == Access::Load) {
      add_load(byte.loads, progress);
      continue;
    }
    for (const ThreadProgress& load : byte.loads) {
      if (are_ordered(load, progress)) continue;
      report(text(title(progress), " stores a byte", memory, " that ", title(load),
                  " loads, without a barrier between them"));
    }
    byte = {progress, {}};
  }
}

void MemoryWatch::report(const std::string& error) {
  if (error_.empty()) error_ = error;
}

}  // namespace kiln::test
