// A program made ready for the sizes that its calls come with: each tuple of sizes is bound once,
// the last few are kept. Used by several threads at once.
#pragma once

#include "backends/codegen/bind/sized_cache.h"
#include "backends/codegen/dumps.h"
#include "backends/codegen/host/bind/host_description.h"
#include "backends/codegen/host/run.h"

#include <mutex>

namespace kiln::codegen {

/// A plan bound to one tuple of sizes, with the frames that calls take in turn.
struct SizedPlan {
  std::unique_ptr<BoundPlan> plan;
  std::uint64_t number = 0;  // of all that were made, from 1
  std::vector<std::vector<std::int64_t>> result_dims;
  std::mutex mutex;
  std::vector<std::unique_ptr<Frame>> frames;
};

/// A frame for one call: one that no other call uses, or a new one.
class FrameLease {
 public:
  explicit FrameLease(SizedPlan& plan);
  ~FrameLease();
  FrameLease(const FrameLease&) = delete;
  FrameLease& operator=(const FrameLease&) = delete;
  Frame& operator*() { return *frame_; }

 private:
  SizedPlan& plan_;
  std::unique_ptr<Frame> frame_;
};

/// What is bound; all of it outlives the plans.
struct SizedParts {
  const std::vector<ir::Value>& inputs;
  const std::vector<ir::Value>& results;
  const std::vector<ir::Guard>& guards;
  const Program& program;
  const std::vector<KernelFunction>& functions;
  const std::vector<bool>& kept;  // arguments that no call of this program changes
  ProductLibrary* library;
  HostDescription host;
  const Dumps& dumps;
};

class SizedPlans {
 public:
  explicit SizedPlans(const SizedParts& parts) : parts_(parts) {}

  /// REQUIRES: ranks fit. Throws sdk::Failure for sizes that the program does not take.
  std::shared_ptr<SizedPlan> of(const InputSizes& sizes);
  /// The cached plans.
  std::vector<std::shared_ptr<SizedPlan>> all() const { return plans_.all(); }
  /// Bindings and the most memory that one of them has planned.
  sdk::ExecutableStats stats() const;

 private:
  std::shared_ptr<SizedPlan> make(const InputSizes& given) const;
  /// Gives the plan its number.
  void count(SizedPlan& plan);

  SizedParts parts_;
  SizedCache<SizedPlan> plans_;
  mutable std::mutex mutex_;  // of stats_
  sdk::ExecutableStats stats_;
};

/// Hands over the memory plan and the library's choices for one tuple of sizes; the first has
/// number 1.
void dump_binding(const Dumps& dumps, const Program& program, const BoundPlan& bound,
                  std::uint64_t number);

}  // namespace kiln::codegen
