// The library frees its code at the end of the process, while threads may still compute and static
// objects of the host may still call. A LibraryUse says whether it is there, and holds it while it
// lives; the end waits for those who hold it. Not for a thread that makes the library write code of
// a new kind in that very moment: what frees it is registered after what would wait.
#pragma once

#include <string>

namespace kiln::cpu {

class LibraryUse {
 public:
  LibraryUse();
  ~LibraryUse();
  LibraryUse(const LibraryUse&) = delete;
  LibraryUse& operator=(const LibraryUse&) = delete;

  /// False once the process is ending.
  explicit operator bool() const noexcept { return allowed_; }

 private:
  unsigned place_;
  bool allowed_;
};

/// To be said after the library did `what` for the first time: it may have made what it frees at
/// the end, and the end has to be known before.
void library_has_done(const std::string& what);

}  // namespace kiln::cpu
