// Memory pages for machine code, pooled: all modules of the process share a few mappings, since the
// kernel limits a process to vm.max_map_count of them (65,530 by default).
#pragma once

#include <array>
#include <cstddef>

namespace kiln::cpu {

/// The protection that pages have while code may run; no page is ever writable and executable.
enum class PageUse { Code, Constants, Data };  // read and execute; read; read and write
inline constexpr std::size_t kPageUses = 3;

/// Bytes of each PageUse.
using PageSizes = std::array<std::size_t, kPageUses>;

/// The pages of one linked module. All are in one reservation, normally of 16 MiB, so that 32-bit
/// offsets reach constants from code. Any thread may make and destroy objects.
class CodePages {
 public:
  static std::size_t page_bytes() noexcept;

  /// Zeroed and writable, rounded up to whole pages. Throws std::bad_alloc.
  explicit CodePages(const PageSizes& sizes);
  /// Gives the memory back to the system; the addresses may then be handed out again.
  ~CodePages();
  CodePages(const CodePages&) = delete;
  CodePages& operator=(const CodePages&) = delete;

  /// Of the first page of that use; null when none was asked for.
  std::byte* address(PageUse use) const;
  /// Gives each use its protection: nothing but Data can be written from now on. Throws
  /// std::bad_alloc where the kernel has no memory to split a mapping.
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
