// The sizes that a program was bound to while its calls were measured, for profiles.
#pragma once

#include "backends/abi/kiln_backend_profile.h"
#include "backends/codegen/bind/sized_cache.h"

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

namespace kiln::codegen {

/// Counts measurements that have begun and not ended, and keeps the last bindings. Thread-safe.
class BindingTimes {
 public:
  void begin() { measurements_.fetch_add(1, std::memory_order_relaxed); }
  void end() { measurements_.fetch_sub(1, std::memory_order_relaxed); }
  bool is_measured() const { return measurements_.load(std::memory_order_relaxed) > 0; }

  /// `number`: of the binding, from 1.
  void add(std::uint64_t number, double seconds, const InputSizes& sizes);
  void print(sdk::ProfileText& out) const;

 private:
  struct Binding {
    std::uint64_t number = 0;
    double seconds = 0;
    std::string sizes;
  };

  std::atomic<int> measurements_{0};
  mutable std::mutex mutex_;
  std::vector<Binding> bindings_;
};

}  // namespace kiln::codegen
