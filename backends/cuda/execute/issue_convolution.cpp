// Fills the result with zeros if the convolution has no terms, else queues the library's call.
#include "backends/cuda/execute/issue_convolution.h"

#include "backends/codegen/bind/step_failure.h"
#include "backends/cuda/execute/fill_with_zeros.h"

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
    bound.prepared->issue(addresses_of(role, call), call.stream);
  } catch (const sdk::Failure& failure) {
    throw codegen::step_failure(call.module, *step.node, failure.code(), failure.what())
        .native(failure.native_library, failure.native_code);
  }
}

}  // namespace kiln::cuda
