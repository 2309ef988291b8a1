// The links of a free list are stored in the idle blocks. Blocks are allocated and freed outside of
// the lock.
#include "runtime/array/block_pool.h"

#include "backends/abi/kiln_backend_memory.h"
#include "runtime/array/small_blocks.h"
#include "runtime/files/machine_limits.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <ctime>
#include <exception>
#include <new>
#include <utility>

namespace kiln::runtime {

bool has_address_sanitizer() noexcept { return abi::has_address_sanitizer(); }

namespace {

constexpr std::size_t kSmallPage = std::size_t{1} << 12, kLargePage = std::size_t{1} << 21;

/// Whether blocks of this size are mapped, so that freeing one returns it to the system at once.
/// AddressSanitizer checks only memory of malloc.
bool is_mapped(std::size_t size) { return size >= 2 * kLargePage && !has_address_sanitizer(); }

/// Bytes of the mapping of a block of any colour.
std::size_t mapped_bytes(std::size_t size) {
  const std::size_t used = abi::kColouredPage + BlockPool::kHeader + size;
  return (used + kSmallPage - 1) / kSmallPage * kSmallPage;
}

/// Maps memory at the alignment of a large page and colours the block; null without memory.
void* map(std::size_t size) {
  const std::size_t bytes = mapped_bytes(size), all = bytes + kLargePage;
  void* mapped = ::mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(mapped) % kLargePage;
  auto* memory = static_cast<std::byte*>(mapped) + before;
  if (before != 0) ::munmap(mapped, before);
  if (before != kLargePage) ::munmap(memory + bytes, kLargePage - before);
  abi::ask_for_large_pages(memory, bytes);
  return memory + abi::next_colour();
}

void* allocate(std::size_t size) {
  return is_mapped(size) ? map(size) : abi::allocate_tensor(BlockPool::kHeader + size);
}

void free_block(void* block, std::size_t size) {
  if (!is_mapped(size)) return abi::free_tensor(block, BlockPool::kHeader + size);
  const std::size_t colour = reinterpret_cast<std::uintptr_t>(block) % kLargePage;
  ::munmap(static_cast<std::byte*>(block) - colour, mapped_bytes(size));
}

}  // namespace

struct BlockPool::IdleBlock {
  IdleBlock* younger;
  IdleBlock* older;
  std::int64_t since;
  std::size_t size;
};

std::size_t BlockPool::rounded(std::size_t bytes) noexcept {
  if (bytes <= kMinBytes) return kMinBytes;
  if (bytes > PTRDIFF_MAX / 2) return 0;
  const std::size_t step = std::bit_floor(bytes - 1) / kSizes;
  return (bytes + step - 1) / step * step;
}

/// Returns the index of a size class: the power of two, then the three bits below the highest one.
std::size_t BlockPool::list_of(std::size_t size) noexcept {
  const auto power = static_cast<std::size_t>(std::bit_width(size) - std::bit_width(kMinBytes));
  return power * kSizes + (size - std::bit_floor(size)) / (std::bit_floor(size) / kSizes);
}

void BlockPool::push(void* block, std::size_t size, std::int64_t now) noexcept {
  static_assert(sizeof(IdleBlock) <= kHeader);
  FreeList& list = free_lists_[list_of(size)];
  IdleBlock* idle = ::new (block) IdleBlock{nullptr, list.youngest, now, size};
  (list.youngest != nullptr ? list.youngest->younger : list.oldest) = idle;
  list.youngest = idle;
  counts_.idle += size;
  if (oldest_.load(std::memory_order_relaxed) == kNever) oldest_ = idle->since;
}

BlockPool::IdleBlock* BlockPool::pop_youngest(FreeList& list) noexcept {
  IdleBlock* idle = list.youngest;
  if (idle == nullptr) return nullptr;
  list.youngest = idle->older;
  (list.youngest != nullptr ? list.youngest->younger : list.oldest) = nullptr;
  counts_.idle -= idle->size;
  if (counts_.idle == 0) oldest_ = kNever;
  return idle;
}

BlockPool::FreeList* BlockPool::oldest_list() noexcept {
  FreeList* found = nullptr;
  for (FreeList& list : free_lists_) {
    if (list.oldest == nullptr) continue;
    if (found == nullptr || list.oldest->since < found->oldest->since) found = &list;
  }
  return found;
}

BlockPool::IdleBlock* BlockPool::pop_oldest(FreeList& list) noexcept {
  IdleBlock* idle = list.oldest;
  list.oldest = idle->younger;
  (list.oldest != nullptr ? list.oldest->older : list.youngest) = nullptr;
  counts_.idle -= idle->size;
  return idle;
}

BlockPool::IdleBlock* BlockPool::pop_excess(std::int64_t since) noexcept {
  if (counts_.idle <= limit_ && oldest_.load(std::memory_order_relaxed) >= since) return nullptr;
  IdleBlock* chain = nullptr;
  FreeList* list = oldest_list();
  for (; list != nullptr; list = oldest_list()) {
    if (counts_.idle <= limit_ && list->oldest->since >= since) break;
    IdleBlock* idle = pop_oldest(*list);
    idle->older = std::exchange(chain, idle);
  }
  oldest_ = list != nullptr ? list->oldest->since : kNever;
  return chain;
}

void BlockPool::free_chain(IdleBlock* chain) noexcept {
  while (chain != nullptr) {
    IdleBlock* next = chain->older;
    free_block(chain, chain->size);
    chain = next;
  }
}

void* BlockPool::acquire(std::size_t bytes, bool* is_zeroed) noexcept {
  const std::size_t size = rounded(bytes);
  if (size == 0) return nullptr;
  if (is_zeroed != nullptr) *is_zeroed = false;
  {
    const std::lock_guard lock(mutex_);
    if (IdleBlock* idle = pop_youngest(free_lists_[list_of(size)])) {
      counts_.used += size;
      ++counts_.reused;
      return idle;
    }
  }
  void* block = allocate(size);
  if (block == nullptr && release_idle() != 0) block = allocate(size);
  if (block == nullptr) return nullptr;
  if (is_zeroed != nullptr) *is_zeroed = is_mapped(size);
  const std::lock_guard lock(mutex_);
  counts_.used += size;
  ++counts_.fresh;
  return block;
}

void BlockPool::recycle(void* block, std::size_t bytes) noexcept {
  const std::size_t size = rounded(bytes);
  const std::int64_t now = clock_();
  IdleBlock* excess = nullptr;
  {
    const std::lock_guard lock(mutex_);
    counts_.used -= size;
    push(block, size, now);
    excess = pop_excess(now - kMaxIdle);
  }
  free_chain(excess);
}

void BlockPool::release_older() noexcept {
  const std::int64_t since = clock_() - kMaxIdle;
  if (oldest_.load(std::memory_order_relaxed) >= since) return;
  IdleBlock* old = nullptr;
  {
    const std::lock_guard lock(mutex_);
    old = pop_excess(since);
  }
  free_chain(old);
}

std::size_t BlockPool::release_idle() noexcept {
  std::size_t bytes = 0;
  IdleBlock* all = nullptr;
  {
    const std::lock_guard lock(mutex_);
    bytes = counts_.idle;
    all = pop_excess(kNever);
  }
  free_chain(all);
  return bytes;
}

void BlockPool::set_limit(std::size_t bytes) noexcept {
  IdleBlock* excess = nullptr;
  {
    const std::lock_guard lock(mutex_);
    limit_ = bytes;
    excess = pop_excess(0);
  }
  free_chain(excess);
}

BlockPool::Counts BlockPool::counts() const noexcept {
  const std::lock_guard lock(mutex_);
  return counts_;
}

// ---- The pool of all Arrays ----

namespace {

/// Reads a clock of some milliseconds' precision in a few nanoseconds.
std::int64_t coarse_now() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec;
}

constinit BlockPool shared_pool(coarse_now, 0);

std::size_t default_limit() noexcept try {
  if (has_address_sanitizer()) return 0;
  const long pages = ::sysconf(_SC_PHYS_PAGES), bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || bytes <= 0) return 0;
  const auto machine = static_cast<std::size_t>(pages) * static_cast<std::size_t>(bytes);
  // Linux ends a process whose control group exceeds its limit, also where memory is idle.
  const auto limit = read_memory_limit();
  return (limit ? std::min<std::size_t>(machine, limit->value) : machine) / 8;
} catch (const std::exception&) {  // no memory to read it
  return 0;
}

/// Registered when the library is loaded: if a function-local static registered the handlers, a
/// child forked while another thread initialises that static would deadlock. Arrays that static
/// constructors create earlier use a pool that keeps nothing idle.
[[maybe_unused]] const bool is_ready = [] {
  shared_pool.set_limit(default_limit());
  SmallBlocks::start();
  const auto lock = [] {
    shared_pool.lock();
    SmallBlocks::lock();
  };
  const auto unlock = [] {
    SmallBlocks::unlock();
    shared_pool.unlock();
  };
  const auto unlock_in_child = [] {
    SmallBlocks::unlock_in_child();
    shared_pool.unlock();
  };
  return ::pthread_atfork(lock, unlock, unlock_in_child) == 0;
}();

}  // namespace

BlockPool& block_pool() noexcept { return shared_pool; }

void release_old_blocks() noexcept { shared_pool.release_old(); }

}  // namespace kiln::runtime
