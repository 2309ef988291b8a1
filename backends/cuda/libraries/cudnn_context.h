// Wraps a handle of cuDNN, and queues execution plans with the addresses of their tensors.
#pragma once

#include "backends/cuda/device/stream.h"
#include "backends/cuda/libraries/engine_plan.h"

#include <mutex>
#include <optional>

namespace kiln::cuda {

/// In bytes, of tensors for which the library has most engines: its kernels load vectors.
inline constexpr std::int64_t kTensorAlignment = 16;

/// A cuDNN handle. A handle has one current stream, so its users hold the mutex.
struct CudnnContext {
  std::shared_ptr<const api::Cudnn> library;
  std::shared_ptr<const Device> device;
  api::CudnnHandle handle = nullptr;
  mutable std::mutex mutex;

  PlanDevice plan_device() const { return {.handle = handle, .device = device.get()}; }
};

/// A tensor of an operation graph by its identifier, with its memory: of the device, or, where its
/// descriptor says that it is passed by value, of the host.
struct PackedTensor {
  std::int64_t id = 0;
  void* memory = nullptr;
};

inline void* pointer(api::DeviceAddress address) { return reinterpret_cast<void*>(address); }

/// Queues an operation. `workspace`: of padded_workspace_bytes(). Values are read during the call.
/// Throws sdk::Failure with the text "cannot `action`: ..". REQUIRES: a ScopedContext of the
/// thread.
void queue_plan(const CudnnContext& context, api::DescriptorHandle plan,
                std::span<const PackedTensor> tensors, api::DeviceAddress workspace,
                const Stream& stream, const std::string& action);

/// The bytes of a workspace without alignment of which queue_plan() takes an aligned part.
std::int64_t padded_workspace_bytes(std::int64_t bytes);

/// Two plans of one operation: one for tensors that are aligned to kTensorAlignment, one for any
/// address.
template <class Plan>
class PlansByAlignment {
 public:
  /// `make(alignment)` makes a plan; `width`: the bytes of an element. Throws as it does, but where
  /// the library has no engine for any address.
  template <class Make>
  PlansByAlignment(const Make& make, std::int64_t width) : aligned_(make(kTensorAlignment)) {
    try {
      unaligned_.emplace(make(width));
    } catch (const sdk::Failure& failure) {
      if (failure.code() != KILN_CODE_UNIMPLEMENTED) throw;
      reason_ = failure.what();
    }
  }

  /// 0: no workspace is needed.
  std::int64_t workspace_bytes() const {
    return padded_workspace_bytes(
        std::max(aligned_.workspace_bytes(), unaligned_ ? unaligned_->workspace_bytes() : 0));
  }
  /// `addresses`: those of the tensors, combined by "or". Throws sdk::Failure, UNIMPLEMENTED, if
  /// there is no plan for them.
  const Plan& of(api::DeviceAddress addresses, const std::string& operation) const {
    if (addresses % static_cast<api::DeviceAddress>(kTensorAlignment) == 0) return aligned_;
    if (unaligned_) return *unaligned_;
    throw sdk::Failure(KILN_CODE_UNIMPLEMENTED,
                       "cuDNN has no engine for the " + operation +
                           " at addresses that are not multiples of 16 bytes: " + reason_);
  }

 private:
  Plan aligned_;
  std::optional<Plan> unaligned_;  // none: the library has no such engine
  std::string reason_;  // for that
};

}  // namespace kiln::cuda
