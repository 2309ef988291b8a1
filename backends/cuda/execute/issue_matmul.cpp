// The library's call, or the bias alone where the sums have nothing to add.
#include "backends/cuda/execute/issue_matmul.h"

#include "backends/codegen/bind/step_failure.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

using namespace codegen;
using api::DeviceAddress;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

DeviceAddress moved(DeviceAddress address, std::int64_t bytes) {
  return address + static_cast<DeviceAddress>(bytes);
}

/// A sum of nothing is 0.
void fill_with_zeros(DeviceAddress result, std::int64_t bytes, const CallContext& call) {
  call.device.check(call.device.driver().memset_8_async(result, 0, at(bytes), call.stream.handle()),
                    "fill a tensor with zeros");
}

/// Copies the bias to the first row, then all rows that are written to as many others.
void repeat_bias(DeviceAddress result, DeviceAddress bias, std::int64_t row_bytes,
                 std::int64_t bytes, const CallContext& call) {
  const auto copy = [&](DeviceAddress to, DeviceAddress from, std::int64_t length) {
    call.device.check(call.device.driver().memcpy_device_to_device_async(to, from, at(length),
                                                                         call.stream.handle()),
                      "copy on the device");
  };
  copy(result, bias, row_bytes);
  for (std::int64_t done = row_bytes; done < bytes; done *= 2) {
    copy(moved(result, done), result, std::min(done, bytes - done));
  }
}

}  // namespace

void issue_matmul(const MatmulStep& step, const DeviceMatmul& bound, const DevicePlan& plan,
                  const SlotAddresses& slots, DeviceAddress arena, const CallContext& call) {
  const DeviceAddress result = slots[at(step.result)];
  const DeviceAddress bias = step.bias < 0 ? 0 : slots[at(step.bias)];
  const std::int64_t bytes = plan.sizes.bytes[at(step.result)];
  if (bytes == 0) return;
  if (!bound.prepared) {
    if (bias == 0) return fill_with_zeros(result, bytes, call);
    return repeat_bias(result, bias, bound.row_bytes, bytes, call);
  }
  try {
    bound.prepared->issue({.lhs = moved(slots[at(step.lhs)], bound.lhs_offset),
                           .rhs = moved(slots[at(step.rhs)], bound.rhs_offset),
                           .result = result,
                           .bias = bias,
                           .workspace = moved(arena, bound.workspace)},
                          call.stream.handle());
  } catch (const sdk::Failure& failure) {
    throw step_failure(call.lowered.module, *step.node, failure.code(), failure.what())
        .native(failure.native_library, failure.native_code);
  }
}

}  // namespace kiln::cuda
