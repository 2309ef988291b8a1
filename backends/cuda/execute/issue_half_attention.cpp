// Advances the addresses by whole matrices from part to part.
#include "backends/cuda/execute/issue_half_attention.h"

#include "backends/codegen/bind/step_failure.h"
#include "backends/cuda/device/device_address.h"
#include "backends/cuda/execute/fill_with_zeros.h"

namespace kiln::cuda {
namespace {

using codegen::SlotId;

/// Without keys or queries, o and cotangents are zero, the logarithm of the sum is -inf.
void fill_results(const codegen::AttentionStep& step, const HalfAttentionCall& call) {
  constexpr unsigned kMinusInfinity = 0xff800000;
  const bool is_gradient = step.node->op == ir::Op::AttentionGradient;
  for (std::size_t i = 0; i < step.results.size(); ++i) {
    const SlotId slot = step.results[i];
    if (!slot || call.sizes.bytes[slot] == 0) continue;
    if (is_gradient || i == 0) {
      fill_with_zeros(call.stream, call.slots[slot], call.sizes.bytes[slot]);
      continue;
    }
    const auto count = static_cast<std::size_t>(call.sizes.bytes[slot]) / sizeof(float);
    const auto fill = [&] {
      return call.stream.device().driver().memset_32_async(call.slots[slot], kMinusInfinity, count,
                                                           call.stream.handle());
    };
    call.stream.submit(fill, "fill a tensor with -inf");
  }
}

/// Addresses of the first matrix.
AttentionOperands operands_of(const codegen::AttentionStep& step, const DeviceHalfAttention& bound,
                              const HalfAttentionCall& call) {
  const auto slot = [&](SlotId id) { return id ? call.slots[id] : 0; };
  const auto& x = step.operands;
  AttentionOperands to{.q = slot(x[0]), .k = slot(x[1]), .v = slot(x[2])};
  to.workspace = offset_by(call.scratch, bound.workspace);
  if (step.node->op == ir::Op::Attention) {
    to.o = slot(step.results[0]);
    to.log_sum = slot(step.results[1]);
    return to;
  }
  to.o = slot(x[4]);
  to.log_sum = slot(x[5]);
  to.d_result = slot(x[6]);
  to.dq = slot(step.results[0]);
  to.dk = slot(step.results[1]);
  to.dv = slot(step.results[2]);
  to.query_sums = offset_by(call.scratch, bound.query_sums);
  return to;
}

AttentionOperands at_matrix(AttentionOperands to, const AttentionDescription& attention,
                            std::int64_t first) {
  const auto width = static_cast<std::int64_t>(dtype_bytes(attention.dtype));
  const auto advance = [&](std::int64_t elements, auto&... addresses) {
    ((addresses = offset_by(addresses, first * elements * width)), ...);
  };
  const auto [t, s, d, e] = std::tie(attention.t, attention.s, attention.d, attention.e);
  advance(t * d, to.q, to.dq);
  advance(s * d, to.k, to.dk);
  advance(s * e, to.v, to.dv);
  advance(t * e, to.o, to.d_result);
  if (to.log_sum != 0) {
    constexpr std::int64_t kFloat = sizeof(float);
    to.log_sum = offset_by(to.log_sum, first * t * kFloat);
  }
  return to;
}

}  // namespace

void issue_half_attention(const codegen::AttentionStep& step, const DeviceHalfAttention& bound,
                          const HalfAttentionCall& call) {
  if (bound.parts.empty()) return fill_results(step, call);
  const AttentionOperands whole = operands_of(step, bound, call);
  try {
    for (const AttentionPart& part : bound.parts) {
      AttentionOperands operands = at_matrix(whole, part.prepared->description(), part.first);
      // All parts may write a logarithm that nothing reads to the same memory.
      if (operands.log_sum == 0) operands.log_sum = offset_by(call.scratch, bound.log_sums);
      part.prepared->issue(operands, call.stream);
    }
  } catch (const sdk::Failure& failure) {
    throw codegen::step_failure(call.module, *step.node, failure.code(), failure.what())
        .native(failure.native_library, failure.native_code);
  }
}

}  // namespace kiln::cuda
