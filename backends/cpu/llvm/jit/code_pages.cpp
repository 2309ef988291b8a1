// A slab is one range of addresses with an area for each use. Pages of an area have the same
// protection, so that Linux merges neighbours into one mapping. Freed pages keep their protection
// for the same reason; MADV_DONTNEED returns their memory.
#include "backends/cpu/llvm/jit/code_pages.h"
#include "core/types/no_destructor.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <vector>

namespace kiln::cpu {
namespace {

constexpr std::array<int, kPageUses> kProtection{PROT_READ | PROT_EXEC, PROT_READ,
                                                 PROT_READ | PROT_WRITE};

/// Pages of each area of a slab: 16 MiB of addresses. Sized for kernels: mostly code, some
/// constants; writable data is only linker tables.
constexpr std::array<std::size_t, kPageUses> kAreaPages{2304, 1536, 256};

std::size_t index_of(PageUse use) { return static_cast<std::size_t>(use); }

/// Address space without memory behind it.
class Reservation {
 public:
  explicit Reservation(std::size_t bytes) : bytes_(bytes) {
    void* memory = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(memory);
  }
  ~Reservation() { ::munmap(base_, bytes_); }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  std::byte* base() const { return base_; }

 private:
  std::byte* base_ = nullptr;
  std::size_t bytes_;
};

}  // namespace

/// Allocates pages of one range, first fit.
class CodePages::Area {
 public:
  void start(std::byte* base, std::size_t pages) {
    base_ = base;
    taken_.assign(pages, false);
  }

  /// Allocates the first fit; false when there is none.
  bool take(std::size_t count, Run& run) {
    std::size_t first = 0;
    for (std::size_t i = 0; i < taken_.size() && i - first < count; ++i) {
      if (taken_[i]) first = i + 1;
    }
    if (taken_.size() - first < count) return false;
    run = {first, count};
    mark(run, true);
    return true;
  }
  void give_back(const Run& run) noexcept { mark(run, false); }

  std::byte* address(const Run& run) const { return base_ + run.first * page_bytes(); }

 private:
  void mark(const Run& run, bool taken) noexcept {
    const auto from = taken_.begin() + static_cast<std::ptrdiff_t>(run.first);
    std::fill_n(from, run.count, taken);
  }

  std::byte* base_ = nullptr;
  std::vector<bool> taken_;
};

class CodePages::Slab {
 public:
  explicit Slab(const std::array<std::size_t, kPageUses>& pages)
      : reservation_(std::accumulate(pages.begin(), pages.end(), std::size_t{0}) * page_bytes()) {
    std::byte* next = reservation_.base();
    for (std::size_t use = 0; use < kPageUses; ++use) {
      areas_[use].start(next, pages[use]);
      next += pages[use] * page_bytes();
    }
  }

  bool take(const std::array<std::size_t, kPageUses>& pages, std::array<Run, kPageUses>& runs) {
    for (std::size_t use = 0; use < kPageUses; ++use) {
      if (pages[use] == 0 || areas_[use].take(pages[use], runs[use])) continue;
      for (std::size_t taken = 0; taken < use; ++taken) areas_[taken].give_back(runs[taken]);
      runs = {};
      return false;
    }
    ++users_;
    return true;
  }
  void give_back(const std::array<Run, kPageUses>& runs) noexcept {
    for (std::size_t use = 0; use < kPageUses; ++use) areas_[use].give_back(runs[use]);
    --users_;
  }

  bool is_unused() const { return users_ == 0; }
  std::byte* address(std::size_t use, const Run& run) const { return areas_[use].address(run); }

 private:
  Reservation reservation_;  // constructed first: an absurd size fails before its areas are written
  std::size_t users_ = 0;
  std::array<Area, kPageUses> areas_;
};

/// All slabs of the process. At most one of them is unused.
class CodePages::Pool {
 public:
  static Pool& instance() {
    static NoDestructor<Pool> pool;  // code may outlive static objects
    // Holds the mutex across fork(), so that it is unlocked in the child.
    static const bool registered [[maybe_unused]] = [] {
      if (::pthread_atfork(lock, unlock, unlock) != 0) throw std::bad_alloc();  // tried again later
      return true;
    }();
    return *pool;
  }

  Slab* take(const std::array<std::size_t, kPageUses>& pages, std::array<Run, kPageUses>& runs) {
    const std::lock_guard lock(mutex_);
    for (const std::unique_ptr<Slab>& slab : slabs_) {
      if (slab->take(pages, runs)) return slab.get();
    }
    std::array<std::size_t, kPageUses> area_pages = kAreaPages;
    for (std::size_t use = 0; use < kPageUses; ++use) {
      area_pages[use] = std::max(area_pages[use], pages[use]);
    }
    slabs_.push_back(std::make_unique<Slab>(area_pages));
    slabs_.back()->take(pages, runs);
    return slabs_.back().get();
  }

  void give_back(Slab* slab, const std::array<Run, kPageUses>& runs) noexcept {
    const std::lock_guard lock(mutex_);
    slab->give_back(runs);
    if (!slab->is_unused()) return;
    const auto is_other_unused = [&](const std::unique_ptr<Slab>& other) {
      return other.get() != slab && other->is_unused();
    };
    if (std::none_of(slabs_.begin(), slabs_.end(), is_other_unused)) return;
    std::erase_if(slabs_, [&](const auto& other) { return other.get() == slab; });
  }

 private:
  static void lock() { instance().mutex_.lock(); }
  static void unlock() { instance().mutex_.unlock(); }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Slab>> slabs_;
};

std::size_t CodePages::page_bytes() noexcept {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

CodePages::CodePages(const PageSizes& sizes) {
  std::array<std::size_t, kPageUses> pages{};
  for (std::size_t use = 0; use < kPageUses; ++use) {
    if (sizes[use] > SIZE_MAX / 8) throw std::bad_alloc();
    pages[use] = (sizes[use] + page_bytes() - 1) / page_bytes();
  }
  slab_ = Pool::instance().take(pages, runs_);
  for (std::size_t use = 0; use < kPageUses; ++use) {
    if (runs_[use].count == 0) continue;
    std::byte* const memory = slab_->address(use, runs_[use]);
    const std::size_t bytes = runs_[use].count * page_bytes();
    if (::mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0) continue;
    release();
    throw std::bad_alloc();
  }
}

CodePages::~CodePages() { release(); }

void CodePages::release() noexcept {
  for (std::size_t use = 0; use < kPageUses; ++use) {
    if (runs_[use].count == 0) continue;
    std::byte* const memory = slab_->address(use, runs_[use]);
    const std::size_t bytes = runs_[use].count * page_bytes();
    const bool is_given_back = ::madvise(memory, bytes, MADV_DONTNEED) == 0;
    // Locked memory (mlockall) cannot be returned; its pages must still read as zeros.
    if (!is_given_back && ::mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0) {
      std::memset(memory, 0, bytes);
    }
    ::mprotect(memory, bytes, kProtection[use]);  // also of pages that were never protected
  }
  Pool::instance().give_back(slab_, runs_);
}

std::byte* CodePages::address(PageUse use) const {
  const Run& run = runs_[index_of(use)];
  return run.count == 0 ? nullptr : slab_->address(index_of(use), run);
}

void CodePages::protect() {
  for (std::size_t use = 0; use < kPageUses; ++use) {
    if (runs_[use].count == 0) continue;
    std::byte* const memory = slab_->address(use, runs_[use]);
    const std::size_t bytes = runs_[use].count * page_bytes();
    if (::mprotect(memory, bytes, kProtection[use]) != 0) throw std::bad_alloc();
  }
}

}  // namespace kiln::cpu
