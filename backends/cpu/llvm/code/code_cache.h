// Caches machine code by kernel key, for all programs of the process.
#pragma once

#include "backends/cpu/llvm/jit/jit.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace kiln::cpu {

/// The machine code of one kernel. Immutable.
struct KernelCode {
  std::shared_ptr<const MachineCode> module;  // may hold the code of other kernels, too
  const void* address = nullptr;
  std::size_t bytes = 0;
};
using KernelCodePtr = std::shared_ptr<const KernelCode>;

struct CodeCacheStats {
  std::uint64_t compiled = 0, shared = 0;  // misses and hits since the process began
  std::size_t entries = 0, bytes = 0;      // now; bytes of code and keys
};

/// Keeps code while a program uses it, and unused code up to `max_bytes` of code and keys in all,
/// evicting the least recently used first. Any thread; a child of fork() may use it.
class CodeCache {
 public:
  /// The cache of the process. Never destroyed: functions may be compiled while the process exits.
  static CodeCache& instance();

  explicit CodeCache(std::size_t max_bytes);
  ~CodeCache();
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;

  /// Compiles the keys with these indices, in this order.
  using Compile = std::function<std::vector<KernelCodePtr>(const std::vector<std::size_t>&)>;
  /// Returns the code of each key. Of concurrent callers one compiles a key and the others wait; if
  /// it fails, one of them compiles the key. Rethrows what `compile` throws, and keeps nothing of
  /// that call. REQUIRES: the keys differ.
  std::vector<KernelCodePtr> get(const std::vector<std::string>& keys, const Compile& compile);

  CodeCacheStats stats() const;

 private:
  class State;
  const std::unique_ptr<State> state_;
};

}  // namespace kiln::cpu
