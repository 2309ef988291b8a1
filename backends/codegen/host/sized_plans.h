// The bound plans of a program: each tuple of input sizes is bound once, and the most recent ones
// are cached. Thread-safe.
#pragma once

#include "backends/codegen/bind/sized_cache.h"
#include "backends/codegen/dumps.h"
#include "backends/codegen/host/bind/host_description.h"
#include "backends/codegen/host/call_memory.h"

#include <mutex>

namespace kiln::codegen {

/// A plan bound to one tuple of sizes, with the memory that idle calls have returned.
struct SizedPlan {
  std::unique_ptr<BoundPlan> plan;
  std::uint64_t number = 0;  // in order of binding, from 1
  std::vector<std::vector<std::int64_t>> result_dims;
  std::mutex mutex;  // of idle_memory
  std::vector<std::unique_ptr<CallMemory>> idle_memory;
};

/// The memory of one call: acquires idle memory or allocates; the destructor recycles it.
class CallMemoryLease {
 public:
  explicit CallMemoryLease(SizedPlan& plan);
  ~CallMemoryLease();
  CallMemoryLease(const CallMemoryLease&) = delete;
  CallMemoryLease& operator=(const CallMemoryLease&) = delete;
  CallMemory& operator*() { return *memory_; }

 private:
  SizedPlan& plan_;
  std::unique_ptr<CallMemory> memory_;
};

/// The inputs of binding. REQUIRES: they outlive the plans.
struct SizedParts {
  const std::vector<ir::Value>& inputs;
  const std::vector<ir::Value>& results;
  const std::vector<ir::Guard>& guards;
  const Program& program;
  const std::vector<KernelFunction>& functions;
  const std::vector<bool>& unchanged;  // arguments that no call of this program changes
  HostLibrary* library;
  HostDescription host;
  const Dumps& dumps;
};

class SizedPlans {
 public:
  explicit SizedPlans(const SizedParts& parts) : parts_(parts) {}

  /// The plan for those sizes, bound on a cache miss. REQUIRES: ranks and dtypes are checked.
  /// Throws sdk::Failure for sizes that the program rejects.
  std::shared_ptr<SizedPlan> of(const InputSizes& sizes);
  /// The cached plans.
  std::vector<std::shared_ptr<SizedPlan>> all() const { return plans_.all(); }
  /// The number of bindings and the maximum of their planned memory.
  sdk::ExecutableStats stats() const;

 private:
  std::shared_ptr<SizedPlan> bind(const InputSizes& given) const;
  /// Assigns the plan its number and adds it to the statistics.
  void count(SizedPlan& plan);

  SizedParts parts_;
  SizedCache<SizedPlan> plans_;
  mutable std::mutex mutex_;  // of stats_
  sdk::ExecutableStats stats_;
};

/// Dumps the memory plan and the library's choices for one tuple of sizes; the first is number 1.
void dump_binding(const Dumps& dumps, const Program& program, const BoundPlan& bound,
                  std::uint64_t number);

}  // namespace kiln::codegen
