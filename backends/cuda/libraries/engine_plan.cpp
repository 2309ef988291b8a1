// Queries heuristics in mode A for the fastest engines, then in mode FALLBACK for general ones.
#include "backends/cuda/libraries/engine_plan.h"

#include "backends/cuda/api/api_failure.h"
#include "backends/cuda/api/reported.h"
#include "core/types/text.h"

#include <algorithm>
#include <map>

namespace kiln::cuda {

using A = api::CudnnAttribute;
using api::DescriptorType;

const char* rejection_of_engine(std::span<const api::NumericalNote> notes,
                                const EngineRules& rules) {
  using Note = api::NumericalNote;
  const auto has = [&](Note note) {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  };
  if (rules.deterministic && has(Note::Nondeterministic)) return "is not deterministic";
  if (has(Note::DownConvertInputs)) return "rounds operands to a narrower type";
  if (has(Note::ReducedPrecision)) return "adds in a narrower type";
  if (rules.keeps_float32 && has(Note::TensorCore)) return "rounds operands to TF32";
  if (has(Note::Fft)) return "transforms by FFT, which spreads NaN and infinity";
  for (const Note note :
       {Note::Winograd, Note::Winograd4x4, Note::Winograd6x6, Note::Winograd13x13}) {
    if (has(note)) return "transforms by Winograd, which spreads NaN and infinity";
  }
  return nullptr;
}

/// Searches the engines of one graph until one is accepted.
class EnginePlan::Search {
 public:
  Search(const api::Cudnn& library, const PlanDevice& device, const EngineRequest& request)
      : library_(library), device_(device), request_(request) {}

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
    heuristic.set(A::HeuristicGraph, request_.graph);
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
    if (const char* reason = rejection_of_engine({notes, count}, request_.rules)) {
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
    return {library_, device_.device, type, request_.action};
  }

  /// Counts every error but out of memory as a rejection: each engine fails on its own, such as
  /// when it compiles its kernels. `unsupported`: the reason for CUDNN_STATUS_NOT_SUPPORTED.
  bool is_rejected(api::CudnnStatus status, const char* unsupported) {
    if (status == api::CudnnStatus::Success) return false;
    if (status == api::CudnnStatus::HostAllocationFailed ||
        status == api::CudnnStatus::DeviceAllocationFailed) {
      throw failure(library_, status, request_.action);
    }
    ++rejections_[is_not_supported(status) ? unsupported
                                           : "fails with " + api::text_of(library_, status)];
    return true;
  }

  /// Throws the error of an ended device: engines report a sticky error of the driver as their own.
  sdk::Failure no_engine() const {
    if (device_.device != nullptr) {
      std::size_t free = 0, total = 0;
      device_.device->check(device_.device->driver().mem_get_info(&free, &total), request_.action);
    }
    std::string reasons;
    for (const auto& [reason, count] : rejections_) {
      reasons += text(reasons.empty() ? ": " : ", ", count, " ", reason);
    }
    return {KILN_CODE_UNIMPLEMENTED,
            text("cuDNN has no engine for the ", request_.operation, reasons)};
  }

  const api::Cudnn& library_;
  const PlanDevice& device_;
  const EngineRequest& request_;
  std::unique_ptr<const Choice> best_;
  std::map<std::string, int> rejections_;
};

EnginePlan::EnginePlan(const api::Cudnn& library, const PlanDevice& device,
                       const EngineRequest& request)
    : chosen_(Search(library, device, request).run()) {}

}  // namespace kiln::cuda
