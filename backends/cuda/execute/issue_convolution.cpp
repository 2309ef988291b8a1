// Fills the result with zeros if the convolution has no terms, else queues the library's call. The
// library's filter is the step's, or the transposed one in the workspace.
#include "backends/cuda/execute/issue_convolution.h"

#include "backends/codegen/bind/step_failure.h"
#include "backends/cuda/device/device_address.h"
#include "backends/cuda/execute/fill_with_zeros.h"

#include <utility>

namespace kiln::cuda {
namespace {

/// Maps operands and result to cuDNN's tensors. The operands are the tensors other than the result,
/// in the order of ir::ConvRole.
ConvolutionAddresses addresses_of(ir::ConvRole role, const ConvolutionCall& call) {
  switch (role) {
    case ir::ConvRole::Input: return {call.result, call.lhs, call.rhs, call.workspace};
    case ir::ConvRole::Filter: return {call.lhs, call.result, call.rhs, call.workspace};
    case ir::ConvRole::Output: break;
  }
  return {call.lhs, call.rhs, call.result, call.workspace};
}

/// The address of the transposed filter.
api::DeviceAddress filter_of(const DeviceConvolution& bound, api::DeviceAddress workspace) {
  constexpr api::DeviceAddress kAlignment = kTensorAlignment;
  const api::DeviceAddress begin = offset_by(workspace, bound.filter_offset);
  return (begin + kAlignment - 1) / kAlignment * kAlignment;
}

/// Queues the library's call and the transposition of its filter.
void issue_prepared(ir::ConvRole role, const DeviceConvolution& bound,
                    const ConvolutionCall& call) {
  ConvolutionAddresses addresses = addresses_of(role, call);
  if (!bound.transposition) return bound.prepared->issue(addresses, call.stream);
  const api::DeviceAddress step_filter =
      std::exchange(addresses.filter, filter_of(bound, call.workspace));
  const auto transpose = [&](api::DeviceAddress from, api::DeviceAddress to) {
    const api::DeviceAddress operands[] = {from, to};
    // Its number is 0: it runs after an index out of range, too. That writes to no variable, which
    // share buffers with results of kernels alone.
    launch_kernel(call.stream, *bound.transposition,
                  {.operands = operands, .call_block = call.call_block}, call.launch_memory);
  };
  if (role != ir::ConvRole::Filter) transpose(step_filter, addresses.filter);
  bound.prepared->issue(addresses, call.stream);
  if (role == ir::ConvRole::Filter) transpose(addresses.filter, step_filter);
}

}  // namespace

void issue_convolution(const codegen::ConvolutionStep& step, const DeviceConvolution& bound,
                       const ConvolutionCall& call) {
  if (call.result_bytes == 0) return;
  if (!bound.prepared || bound.zero_fills_result) {
    fill_with_zeros(call.stream, call.result, call.result_bytes);
  }
  if (!bound.prepared) return;
  const ir::ConvRole role = step.node->as<ir::ConvAttrs>().role;
  try {
    issue_prepared(role, bound, call);
  } catch (const sdk::Failure& failure) {
    throw codegen::step_failure(call.module, *step.node, failure.code(), failure.what())
        .native(failure.native_library, failure.native_code);
  }
}

}  // namespace kiln::cuda
