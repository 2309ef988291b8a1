// Builds cuDNN's operation graph of a convolution and an execution plan of an engine for it.
#pragma once

#include "backends/cuda/libraries/backend_descriptor.h"
#include "backends/cuda/libraries/convolution_description.h"

namespace kiln::cuda {

/// The device to choose engines for: the device of `handle`, or the one that `properties`
/// describes, which needs cuDNN 9.8 but no GPU in the machine. One of them is null; a graph without
/// plans needs neither.
struct PlanDevice {
  api::CudnnHandle handle = nullptr;
  const Device* device = nullptr;  // of the handle
  const BackendDescriptor* properties = nullptr;
};

/// The descriptors of an operation graph with one convolution. `alignment`: of the address of each
/// tensor, in bytes. The constructor throws sdk::Failure. REQUIRES: `library` and device.device
/// outlive the object.
class ConvolutionGraph {
 public:
  ConvolutionGraph(const api::Cudnn& library, const ConvolutionDescription& convolution,
                   std::int64_t alignment, const PlanDevice& device);

  const BackendDescriptor& graph() const { return graph_; }

 private:
  BackendDescriptor input_, filter_, output_, convolution_, operation_, graph_;
};

/// Identifiers of the tensors in a variant pack.
inline constexpr std::int64_t kInputId = 1, kFilterId = 2, kOutputId = 3;

/// The reason to reject an engine with these numerical notes; null: the engine is accepted.
const char* rejection_of_engine(std::span<const api::NumericalNote> notes,
                                const ConvolutionDescription& convolution);

/// The execution plan of the first engine, in the order of the library's heuristics, that is not
/// rejected, that the library can finalize for the device, and that needs at most
/// kMaxWorkspaceBytes of workspace; if all need more, of the engine with the smallest workspace.
/// Throws sdk::Failure: RESOURCE_EXHAUSTED without memory; UNIMPLEMENTED without an engine, with
/// the number of engines for each reason. REQUIRES: as ConvolutionGraph; with a handle, a
/// ScopedContext of the thread, which captures no stream.
class ConvolutionPlan {
 public:
  ConvolutionPlan(const api::Cudnn& library, const ConvolutionDescription& convolution,
                  std::int64_t alignment, const PlanDevice& device);

  api::DescriptorHandle handle() const { return chosen_->plan.handle(); }
  std::int64_t workspace_bytes() const { return chosen_->workspace_bytes; }

 private:
  struct Choice {
    BackendDescriptor config, engine, plan;
    std::int64_t workspace_bytes = 0;
  };
  class Search;

  ConvolutionGraph graph_;
  std::unique_ptr<const Choice> chosen_;
};

inline constexpr std::int64_t kMaxWorkspaceBytes = std::int64_t{1} << 30;

}  // namespace kiln::cuda
