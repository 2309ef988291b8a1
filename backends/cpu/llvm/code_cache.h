// Machine code that all programs of the process share, by what it computes.
#pragma once

#include "backends/cpu/llvm/jit.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace kiln::cpu {

/// The code of one kernel. Immutable.
struct KernelCode {
  std::shared_ptr<const MachineCode> module;  // with the code of other kernels, maybe
  const void* address = nullptr;
  std::size_t bytes = 0;
};
using KernelCodePtr = std::shared_ptr<const KernelCode>;

struct CodeCacheStats {
  std::uint64_t compiled = 0, shared = 0;  // answers since the process began
  std::size_t entries = 0, bytes = 0;      // of code and keys, now
};

/// Code is kept while a program uses it; up to `max_bytes` of code and keys in all, code that none
/// uses is kept too, the one that was asked for last the longest. Any thread; a child of fork() may
/// use it.
class CodeCache {
 public:
  /// The process's. Never destroyed: functions may be compiled while the process ends.
  static CodeCache& instance();

  explicit CodeCache(std::size_t max_bytes);
  ~CodeCache();
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;

  /// Makes code for some of the keys, by their numbers.
  using Compile = std::function<std::vector<KernelCodePtr>(const std::vector<std::size_t>&)>;
  /// The code of each key. One caller compiles a key, the others wait for it; where that caller
  /// fails, they compile it themselves. What `compile` throws is thrown here, and nothing is kept
  /// of that call. REQUIRES: the keys differ.
  std::vector<KernelCodePtr> get(const std::vector<std::string>& keys, const Compile& compile);

  CodeCacheStats stats() const;

 private:
  class State;
  const std::unique_ptr<State> state_;
};

}  // namespace kiln::cpu
