// The bound plans of a program: each tuple of input sizes is bound once, and the most recently used
// ones are cached. Thread-safe.
#pragma once

#include "backends/codegen/bind/binding_times.h"
#include "backends/codegen/bind/sized_cache.h"
#include "backends/codegen/dumps.h"
#include "backends/codegen/host/bind/bind_inputs.h"
#include "backends/codegen/host/sized_plan.h"

#include <mutex>

namespace kiln::codegen {

/// The inputs of binding. REQUIRES: they outlive the plans.
struct SizedParts {
  const std::vector<ir::Value>& inputs;
  const std::vector<ir::Guard>& guards;
  const Program& program;
  const KernelFunctions& functions;
  const std::vector<bool>& unchanged;  // arguments that no call of this program changes
  WeightForms& forms;
  HostLibrary* library;
  HostDescription host;
  const Dumps& dumps;
  BindingTimes& bindings;
};

class SizedPlans {
 public:
  explicit SizedPlans(const SizedParts& parts);

  /// The plan for those sizes, bound on a cache miss. REQUIRES: ranks and dtypes are checked.
  /// Throws sdk::Failure for sizes that the program rejects.
  std::shared_ptr<SizedPlan> of(const InputSizes& sizes);
  /// The cached plans.
  std::vector<std::shared_ptr<SizedPlan>> all() const { return plans_.all(); }
  /// The cached plan with most temporary memory; null for none.
  std::shared_ptr<SizedPlan> largest() const;
  /// The number of bindings and the maximum of their planned memory.
  sdk::ExecutableStats stats() const;

 private:
  std::shared_ptr<SizedPlan> bind(const InputSizes& given);
  BoundPlanPtr bind(SizedPlan& sized, const BoundPlan* previous,
                    std::pmr::memory_resource* scratch) const;
  /// Assigns the plan its number and adds it to the statistics.
  void count(SizedPlan& plan);

  SizedParts parts_;
  ProgramFacts facts_;
  // While a plan is bound, its thread has the lock of plans_, which guards these.
  CallSizes sizes_;
  std::vector<std::byte> scratch_;
  std::int64_t plan_bytes_ = 0;  // of the plan that was bound last
  std::weak_ptr<SizedPlan> last_;  // likewise

  SizedCache<SizedPlan> plans_;
  mutable std::mutex mutex_;  // of stats_
  sdk::ExecutableStats stats_;
};

/// Dumps the memory plan and the library's choices for one tuple of sizes; the first is number 1.
void dump_binding(const Dumps& dumps, const Program& program, const BoundPlan& bound,
                  std::uint64_t number);

}  // namespace kiln::codegen
