// The parameters of all functions are the same words, which the driver copies during the call.
#include "backends/cuda/execute/issue_attention.h"

#include "backends/codegen/bind/attention_shape.h"
#include "backends/cuda/device/device_address.h"
#include "backends/cuda/execute/fill_with_zeros.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

using codegen::SlotId;

AttentionArguments::Addresses addresses_of(const codegen::AttentionStep& step,
                                           const SlotAddresses& slots) {
  const auto slot = [&](SlotId id) { return id ? slots[id] : 0; };
  const auto& x = step.operands;
  const bool is_gradient = step.node->op == ir::Op::AttentionGradient;
  AttentionArguments::Addresses to{
      .q = slot(x[0]), .k = slot(x[1]), .v = slot(x[2]), .scale = slot(x[3])};
  if (codegen::has_bias(*step.node)) to.bias = slot(x[4]);
  if (!is_gradient) {
    to.o = slot(step.results[0]);
    to.lse = slot(step.results[1]);
    return to;
  }
  to.o = slot(x[x.size() - 3]);
  to.lse = slot(x[x.size() - 2]);
  to.d_result = slot(x[x.size() - 1]);
  to.dq = slot(step.results[0]);
  to.dk = slot(step.results[1]);
  to.dv = slot(step.results[2]);
  return to;
}

void launch(const AttentionLaunch& one, const Stream& stream, AttentionArguments& arguments) {
  std::vector<void*> parameters;
  const auto add_words = [&](auto& words) {
    auto* const first = reinterpret_cast<std::byte*>(&words);
    for (std::size_t i = 0; i < sizeof(words); i += sizeof(std::uint64_t)) {
      parameters.push_back(first + i);
    }
  };
  add_words(arguments.addresses);
  add_words(arguments.sizes);
  std::int64_t units = one.units;
  parameters.push_back(&units);
  const std::int64_t blocks = std::min(units, stream.device().grid().max_blocks);
  stream.submit(
      [&] {
        return stream.device().driver().launch_kernel(
            one.loaded->handle, static_cast<unsigned>(blocks), 1, 1,
            static_cast<unsigned>(one.loaded->function.threads), 1, 1, 0, stream.handle(),
            parameters.data(), nullptr);
      },
      "launch a kernel of an attention");
}

}  // namespace

void issue_attention(const codegen::AttentionStep& step, const DeviceAttention& bound,
                     const Stream& stream, const SlotAddresses& slots,
                     const codegen::SlotSizes& sizes, api::DeviceAddress scratch) {
  if (bound.launches.empty()) {
    for (const SlotId slot : step.results) {
      if (slot && sizes.bytes[slot] != 0) fill_with_zeros(stream, slots[slot], sizes.bytes[slot]);
    }
    return;
  }
  AttentionArguments arguments{addresses_of(step, slots), bound.sizes};
  arguments.addresses.facts = scratch;
  arguments.addresses.group_dq = offset_by(scratch, bound.group_dq);
  arguments.addresses.finite = offset_by(scratch, bound.finite);
  for (const AttentionLaunch& one : bound.launches) launch(one, stream, arguments);
}

}  // namespace kiln::cuda
