// Queries heuristics in mode A for the fastest engines, then in mode FALLBACK for general ones.
#include "backends/cuda/libraries/convolution_plan.h"

#include "backends/cuda/api/api_failure.h"
#include "backends/cuda/api/reported.h"
#include "core/types/text.h"

#include <algorithm>
#include <map>

namespace kiln::cuda {
namespace {

using api::CudnnAttribute;
using api::DescriptorType;
using ir::ConvRole;

constexpr const char* kDescribe = "describe a convolution";
constexpr const char* kChoose = "choose an engine for a convolution";

/// The operation descriptor of a role, and its attributes.
struct RoleAttributes {
  DescriptorType operation;
  CudnnAttribute convolution, input, filter, output, alpha, beta;
};

using A = CudnnAttribute;
constexpr RoleAttributes kRoles[] = {
    {.operation = DescriptorType::BackwardData,
     .convolution = A::DataConvolution,
     .input = A::DataInput,
     .filter = A::DataFilter,
     .output = A::DataOutput,
     .alpha = A::DataAlpha,
     .beta = A::DataBeta},
    {.operation = DescriptorType::BackwardFilter,
     .convolution = A::FilterConvolution,
     .input = A::FilterInput,
     .filter = A::FilterFilter,
     .output = A::FilterOutput,
     .alpha = A::FilterAlpha,
     .beta = A::FilterBeta},
    {.operation = DescriptorType::Forward,
     .convolution = A::ForwardConvolution,
     .input = A::ForwardInput,
     .filter = A::ForwardFilter,
     .output = A::ForwardOutput,
     .alpha = A::ForwardAlpha,
     .beta = A::ForwardBeta},
};

api::CudnnDataType data_type_of(DType dtype) {
  switch (dtype) {
    case DType::Float64: return api::CudnnDataType::Float64;
    case DType::Float16: return api::CudnnDataType::Float16;
    case DType::BFloat16: return api::CudnnDataType::BFloat16;
    default: return api::CudnnDataType::Float32;
  }
}

/// Of sums.
api::CudnnDataType compute_type_of(DType dtype) {
  return dtype == DType::Float64 ? api::CudnnDataType::Float64 : api::CudnnDataType::Float32;
}

BackendDescriptor tensor(const api::Cudnn& library, const Device* device,
                         const TensorLayout& layout, DType dtype, std::int64_t id,
                         std::int64_t alignment) {
  BackendDescriptor descriptor(library, device, DescriptorType::Tensor, kDescribe);
  descriptor.set(A::TensorType, data_type_of(dtype));
  descriptor.set_list(A::TensorDims, layout.dims);
  descriptor.set_list(A::TensorStrides, layout.strides);
  descriptor.set(A::TensorId, id);
  descriptor.set(A::TensorAlignment, alignment);
  descriptor.finalize();
  return descriptor;
}

BackendDescriptor window(const api::Cudnn& library, const Device* device,
                         const ConvolutionDescription& convolution) {
  BackendDescriptor descriptor(library, device, DescriptorType::Convolution, kDescribe);
  descriptor.set(A::ConvolutionComputeType, compute_type_of(convolution.dtype));
  descriptor.set(A::ConvolutionModeOf, api::ConvolutionMode::CrossCorrelation);
  descriptor.set(A::ConvolutionAxes, static_cast<std::int64_t>(convolution.strides.size()));
  descriptor.set_list(A::ConvolutionStrides, convolution.strides);
  descriptor.set_list(A::ConvolutionDilations, convolution.dilations);
  descriptor.set_list(A::ConvolutionLow, convolution.padding);
  descriptor.set_list(A::ConvolutionHigh, convolution.padding);
  descriptor.finalize();
  return descriptor;
}

/// Result = 1 x convolution + 0 x result.
void set_scales(const BackendDescriptor& operation, const RoleAttributes& role, DType dtype) {
  if (dtype == DType::Float64) {
    operation.set(role.alpha, 1.0);
    operation.set(role.beta, 0.0);
  } else {
    operation.set(role.alpha, 1.0f);
    operation.set(role.beta, 0.0f);
  }
}

}  // namespace

ConvolutionGraph::ConvolutionGraph(const api::Cudnn& library,
                                   const ConvolutionDescription& convolution,
                                   std::int64_t alignment, const PlanDevice& device)
    : input_(tensor(library, device.device, convolution.input, convolution.dtype, kInputId,
                    alignment)),
      filter_(tensor(library, device.device, convolution.filter, convolution.dtype, kFilterId,
                     alignment)),
      output_(tensor(library, device.device, convolution.output, convolution.dtype, kOutputId,
                     alignment)),
      convolution_(window(library, device.device, convolution)),
      operation_(library, device.device,
                 kRoles[static_cast<std::size_t>(convolution.role)].operation, kDescribe),
      graph_(library, device.device, DescriptorType::Graph, kDescribe) {
  const RoleAttributes& role = kRoles[static_cast<std::size_t>(convolution.role)];
  operation_.set(role.convolution, convolution_);
  operation_.set(role.input, input_);
  operation_.set(role.filter, filter_);
  operation_.set(role.output, output_);
  set_scales(operation_, role, convolution.dtype);
  operation_.finalize();
  if (device.handle != nullptr) graph_.set(A::GraphHandle, device.handle);
  graph_.set(A::GraphOperations, operation_);
  graph_.finalize();
}

const char* rejection_of_engine(std::span<const api::NumericalNote> notes,
                                const ConvolutionDescription& convolution) {
  using Note = api::NumericalNote;
  const auto has = [&](Note note) {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  };
  if (convolution.deterministic && has(Note::Nondeterministic)) return "is not deterministic";
  if (has(Note::DownConvertInputs)) return "rounds operands to a narrower type";
  if (has(Note::ReducedPrecision)) return "adds in a narrower type";
  // Tensor cores keep operands of other types.
  const bool rounds = convolution.dtype == DType::Float32 && has(Note::TensorCore);
  if (rounds && !convolution.tf32) return "rounds operands to TF32";
  if (has(Note::Fft)) return "transforms by FFT, which spreads NaN and infinity";
  for (const Note note :
       {Note::Winograd, Note::Winograd4x4, Note::Winograd6x6, Note::Winograd13x13}) {
    if (has(note)) return "transforms by Winograd, which spreads NaN and infinity";
  }
  return nullptr;
}

/// Searches the engines of one convolution until one is accepted.
class ConvolutionPlan::Search {
 public:
  Search(const api::Cudnn& library, const ConvolutionDescription& convolution,
         const ConvolutionGraph& graph, const PlanDevice& device)
      : library_(library), convolution_(convolution), graph_(graph), device_(device) {}

  std::unique_ptr<const Choice> run() {
    for (const api::HeuristicMode mode : {api::HeuristicMode::A, api::HeuristicMode::Fallback}) {
      if (search(mode)) break;
    }
    if (best_ == nullptr) throw no_engine();
    return std::move(best_);
  }

 private:
  /// True: best_ is accepted.
  bool search(api::HeuristicMode mode) {
    const BackendDescriptor heuristic = make(DescriptorType::Heuristic);
    heuristic.set(A::HeuristicGraph, graph_.graph());
    heuristic.set(A::HeuristicModeOf, mode);
    if (device_.properties != nullptr) heuristic.set(A::HeuristicDevice, *device_.properties);
    if (is_rejected(heuristic.try_finalize(), "has no heuristic")) return false;
    std::vector<BackendDescriptor> configs = results_of(heuristic);
    for (BackendDescriptor& config : configs) {
      if (try_config(std::move(config))) return true;
    }
    return false;
  }

  std::vector<BackendDescriptor> results_of(const BackendDescriptor& heuristic) const {
    constexpr std::size_t kMaxEngines = 4096;
    const auto count = heuristic.count<api::DescriptorHandle>(A::HeuristicResults, kMaxEngines);
    std::vector<BackendDescriptor> configs;
    std::vector<api::DescriptorHandle> handles;
    configs.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      configs.push_back(make(DescriptorType::EngineConfig));
      handles.push_back(configs.back().handle());
    }
    if (count == 0) return configs;
    const std::size_t found =
        heuristic.get(A::HeuristicResults, std::span<api::DescriptorHandle>(handles));
    while (configs.size() > found) configs.pop_back();
    return configs;
  }

  bool try_config(BackendDescriptor config) {
    BackendDescriptor engine = make(DescriptorType::Engine);
    config.get(A::EngineOfConfig, engine);
    api::NumericalNote notes[32];
    const std::size_t count = engine.get(A::EngineNotes, std::span<api::NumericalNote>(notes));
    if (const char* reason = rejection_of_engine({notes, count}, convolution_)) {
      ++rejections_[reason];
      return false;
    }
    BackendDescriptor plan = make(DescriptorType::Plan);
    if (device_.handle != nullptr) plan.set(A::PlanHandle, device_.handle);
    if (device_.properties != nullptr) plan.set(A::PlanDevice, *device_.properties);
    plan.set(A::PlanConfig, config);
    if (is_rejected(plan.try_finalize(), "does not support it")) return false;
    const std::int64_t workspace =
        api::checked_bytes(plan.get<std::int64_t>(A::PlanWorkspace),
                           {"cuDNN", "cudnnBackendGetAttribute", "the bytes of a workspace"});
    if (best_ == nullptr || workspace < best_->workspace_bytes) {
      best_ = std::make_unique<const Choice>(
          Choice{std::move(config), std::move(engine), std::move(plan), workspace});
    }
    return best_->workspace_bytes <= kMaxWorkspaceBytes;
  }

  BackendDescriptor make(DescriptorType type) const {
    return {library_, device_.device, type, kChoose};
  }

  /// Counts every error but out of memory as a rejection: each engine fails on its own, such as
  /// when it compiles its kernels. `unsupported`: the reason for CUDNN_STATUS_NOT_SUPPORTED.
  bool is_rejected(api::CudnnStatus status, const char* unsupported) {
    if (status == api::CudnnStatus::Success) return false;
    if (status == api::CudnnStatus::HostAllocationFailed ||
        status == api::CudnnStatus::DeviceAllocationFailed) {
      throw failure(library_, status, kChoose);
    }
    ++rejections_[is_not_supported(status) ? unsupported
                                           : "fails with " + api::text_of(library_, status)];
    return true;
  }

  /// Throws the error of an ended device: engines report a sticky error of the driver as their own.
  sdk::Failure no_engine() const {
    if (device_.device != nullptr) {
      std::size_t free = 0, total = 0;
      device_.device->check(device_.device->driver().mem_get_info(&free, &total), kChoose);
    }
    std::string reasons;
    for (const auto& [reason, count] : rejections_) {
      reasons += text(reasons.empty() ? ": " : ", ", count, " ", reason);
    }
    return {KILN_CODE_UNIMPLEMENTED,
            text("cuDNN has no engine for the convolution ", text_of(convolution_), reasons)};
  }

  const api::Cudnn& library_;
  const ConvolutionDescription& convolution_;
  const ConvolutionGraph& graph_;
  const PlanDevice& device_;
  std::unique_ptr<const Choice> best_;
  std::map<std::string, int> rejections_;
};

ConvolutionPlan::ConvolutionPlan(const api::Cudnn& library,
                                 const ConvolutionDescription& convolution, std::int64_t alignment,
                                 const PlanDevice& device)
    : graph_(library, convolution, alignment, device),
      chosen_(Search(library, convolution, graph_, device).run()) {}

}  // namespace kiln::cuda
