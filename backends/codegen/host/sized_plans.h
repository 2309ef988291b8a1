// A program made ready for the sizes that its calls come with: each tuple of sizes is bound once,
// the last few are kept. Used by several threads at once.
#pragma once

#include "backends/codegen/dumps.h"
#include "backends/codegen/host/bind/host_description.h"
#include "backends/codegen/host/run.h"

#include <mutex>

namespace kiln::codegen {

/// Dims of each input.
using InputSizes = std::vector<sdk::Dims>;

/// A plan bound to one tuple of sizes, with the frames that calls take in turn.
struct SizedPlan {
  std::vector<std::int64_t> sizes;  // of all axes of all inputs
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
  /// Those that are kept.
  std::vector<std::shared_ptr<SizedPlan>> all() const;
  /// Bindings and the most memory that one of them has planned.
  sdk::ExecutableStats stats() const;

 private:
  std::shared_ptr<SizedPlan> make(const InputSizes& given) const;
  void check_guards(const EvaluateDim& evaluate) const;

  SizedParts parts_;
  mutable std::mutex mutex_;  // of the two below
  std::vector<std::shared_ptr<SizedPlan>> plans_;  // the one used last is compared first
  sdk::ExecutableStats stats_;
};

/// What is said of an input that does not have the type that it has in the program.
sdk::Failure input_mismatch(const std::vector<ir::Value>& inputs, std::size_t i);

/// Hands over the memory plan and the library's choices for one tuple of sizes; the first has
/// number 1.
void dump_binding(const Dumps& dumps, const Program& program, const BoundPlan& bound,
                  std::uint64_t number);

}  // namespace kiln::codegen
