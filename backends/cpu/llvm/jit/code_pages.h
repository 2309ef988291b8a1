// Pools memory pages for machine code: all modules of the process share a few mappings, since Linux
// limits a process to vm.max_map_count of them (65,530 by default).
#pragma once

#include <array>
#include <cstddef>

namespace kiln::cpu {

/// The protection of pages while code may run; no page is ever writable and executable.
enum class PageUse { Code, Constants, Data };  // read and execute; read; read and write
inline constexpr std::size_t kPageUses = 3;

/// Bytes of each PageUse.
using PageSizes = std::array<std::size_t, kPageUses>;

/// The pages of one linked module. All are in one reservation, normally of 16 MiB, so that 32-bit
/// offsets reach constants from code. Any thread may create and destroy objects.
class CodePages {
 public:
  static std::size_t page_bytes() noexcept;

  /// Allocates zeroed, writable memory, rounded up to whole pages. Throws std::bad_alloc.
  explicit CodePages(const PageSizes& sizes);
  /// Returns the memory to the system; the addresses may then be allocated again.
  ~CodePages();
  CodePages(const CodePages&) = delete;
  CodePages& operator=(const CodePages&) = delete;

  /// The address of the first page of that use; null when no bytes were requested for it.
  std::byte* address(PageUse use) const;
  /// Sets the protection of each use: afterwards only Data is writable. Throws std::bad_alloc where
  /// the system cannot split a mapping.
  void protect();

 private:
  class Area;
  class Slab;
  class Pool;
  struct Run {
    std::size_t first = 0, count = 0;  // pages of the slab's area
  };

  void release() noexcept;

  Slab* slab_ = nullptr;
  std::array<Run, kPageUses> runs_{};
};

}  // namespace kiln::cpu
