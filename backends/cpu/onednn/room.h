// The library makes code while it works, and where it finds no memory for that, version 2.6 ends
// the process. What makes it do so takes a Room before.
#pragma once

#include <mutex>

namespace kiln::cpu {

/// Says whether there is memory for the code that the library makes at one time, for one thread
/// after the other: while a Room lives, no other one is looked for.
class Room {
 public:
  Room();
  explicit operator bool() const noexcept { return found_; }
  /// std::bad_alloc where there is none.
  void require() const;

 private:
  std::unique_lock<std::mutex> lock_;
  bool found_;
};

}  // namespace kiln::cpu
