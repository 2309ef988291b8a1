// Chooses an engine of cuDNN for an operation graph, and makes its execution plan.
#pragma once

#include "backends/cuda/libraries/backend_descriptor.h"

#include <memory>
#include <string>

namespace kiln::cuda {

/// The device to choose engines for: the device of `handle`, or the one that `properties`
/// describes, which needs cuDNN 9.8 but no GPU in the machine. One of them is null; a graph without
/// plans needs neither.
struct PlanDevice {
  api::CudnnHandle handle = nullptr;
  const Device* device = nullptr;  // of the handle
  const BackendDescriptor* properties = nullptr;
};

struct EngineRules {
  bool deterministic = true;  // rejects engines that are not deterministic
  bool keeps_float32 = false;  // rejects engines of tensor cores, which round float32 to TF32
};

/// The reason to reject an engine with these numerical notes; null: the engine is accepted.
const char* rejection_of_engine(std::span<const api::NumericalNote> notes,
                                const EngineRules& rules);

struct EngineRequest {
  const BackendDescriptor& graph;
  EngineRules rules = {};
  const char* action = "";  // of errors: "choose an engine for a convolution"
  std::string operation;  // of the error that there is no engine: "convolution forward .."
};

/// The execution plan of the first engine, in the order of the library's heuristics, that is not
/// rejected, that the library can finalize for the device, and that needs at most
/// kMaxWorkspaceBytes of workspace; if all need more, of the engine with the smallest workspace.
/// Throws sdk::Failure: RESOURCE_EXHAUSTED without memory; UNIMPLEMENTED without an engine, with
/// the number of engines for each reason. REQUIRES: `library`, device.device and the action outlive
/// the object; with a handle, a ScopedContext of the thread, which captures no stream.
class EnginePlan {
 public:
  EnginePlan(const api::Cudnn& library, const PlanDevice& device, const EngineRequest& request);

  api::DescriptorHandle handle() const { return chosen_->plan.handle(); }
  std::int64_t workspace_bytes() const { return chosen_->workspace_bytes; }

 private:
  struct Choice {
    BackendDescriptor config, engine, plan;
    std::int64_t workspace_bytes = 0;
  };
  class Search;

  std::unique_ptr<const Choice> chosen_;
};

inline constexpr std::int64_t kMaxWorkspaceBytes = std::int64_t{1} << 30;

}  // namespace kiln::cuda
