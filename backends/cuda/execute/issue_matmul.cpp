// Queues the library's calls. For K = 0 the result is zero, or the broadcast bias.
#include "backends/cuda/execute/issue_matmul.h"

#include "backends/codegen/bind/step_failure.h"
#include "backends/cuda/device/device_address.h"
#include "backends/cuda/execute/fill_with_zeros.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

using namespace codegen;
using api::DeviceAddress;

void copy(const Stream& stream, DeviceAddress to, DeviceAddress from, std::int64_t bytes) {
  stream.submit(
      [&] {
        return stream.device().driver().memcpy_device_to_device_async(
            to, from, static_cast<std::size_t>(bytes), stream.handle());
      },
      "copy on the device");
}

/// The address of the bias, or of an aligned copy in the workspace.
DeviceAddress aligned_bias(const DeviceMatmul& bound, const MatmulCall& call) {
  if (call.slots.bias % kBiasAlignment == 0) return call.slots.bias;
  const DeviceAddress unaligned = offset_by(call.slots.workspace, bound.bias_offset);
  const DeviceAddress to = (unaligned + kBiasAlignment - 1) / kBiasAlignment * kBiasAlignment;
  copy(call.stream, to, call.slots.bias, bound.row_bytes);
  return to;
}

/// Copies the bias to the first row, then doubles the number of rows with each copy.
void broadcast_bias(const MatmulCall& call, std::int64_t row_bytes) {
  copy(call.stream, call.slots.result, call.slots.bias, row_bytes);
  for (std::int64_t done = row_bytes; done < call.result_bytes; done *= 2) {
    copy(call.stream, offset_by(call.slots.result, done), call.slots.result,
         std::min(done, call.result_bytes - done));
  }
}

}  // namespace

void issue_matmul(const MatmulStep& step, const DeviceMatmul& bound, const MatmulCall& call) {
  if (call.result_bytes == 0) return;
  if (bound.parts.empty()) {
    if (step.bias) return broadcast_bias(call, bound.row_bytes);
    return fill_with_zeros(call.stream, call.slots.result, call.result_bytes);
  }
  MatmulAddresses slots = call.slots;
  slots.bias = aligned_bias(bound, call);
  try {
    for (const MatmulPart& part : bound.parts) {
      MatmulAddresses matrices = slots;
      matrices.lhs = offset_by(matrices.lhs, part.lhs_offset);
      matrices.rhs = offset_by(matrices.rhs, part.rhs_offset);
      matrices.result = offset_by(matrices.result, part.result_offset);
      part.prepared->issue(matrices, call.stream);
    }
  } catch (const sdk::Failure& failure) {
    throw step_failure(call.module, *step.node, failure.code(), failure.what())
        .native(failure.native_library, failure.native_code);
  }
}

}  // namespace kiln::cuda
