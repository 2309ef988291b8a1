// Lists the tensors of the graph that have memory.
#include "backends/cuda/libraries/half_attention.h"

#include <limits>

namespace kiln::cuda {

PreparedAttention::PreparedAttention(const CudnnContext& context,
                                     const AttentionDescription& attention)
    : context_(context),
      attention_(attention),
      title_("attention " + text_of(attention)),
      plans_(
          [&](std::int64_t alignment) {
            return AttentionPlan(*context.library, attention, alignment, context.plan_device());
          },
          static_cast<std::int64_t>(dtype_bytes(attention.dtype))) {}

void PreparedAttention::issue(const AttentionOperands& operands, const Stream& stream) const {
  using enum AttentionTensor;
  float scale = attention_.scale, unseen = -std::numeric_limits<float>::infinity(), one = 1;
  std::vector<PackedTensor> tensors;
  api::DeviceAddress all = 0;
  const auto add = [&](AttentionTensor id, void* memory) {
    tensors.push_back({static_cast<std::int64_t>(id), memory});
  };
  const auto add_tensor = [&](AttentionTensor id, api::DeviceAddress address) {
    add(id, pointer(address));
    all |= address;
  };
  add_tensor(Q, operands.q);
  add_tensor(K, operands.k);
  add_tensor(V, operands.v);
  add_tensor(O, operands.o);
  add_tensor(LogSum, operands.log_sum);
  if (attention_.is_gradient) {
    add_tensor(DResult, operands.d_result);
    add_tensor(Dq, operands.dq);
    add_tensor(Dk, operands.dk);
    add_tensor(Dv, operands.dv);
    add_tensor(QuerySums, operands.query_sums);
    add(One, &one);
  }
  add(Scale, &scale);
  if (attention_.causal) add(Unseen, &unseen);
  const AttentionPlan& plan = plans_.of(all, title_);
  const bool has_workspace = plan.workspace_bytes() != 0;
  queue_plan(context_, plan.handle(), tensors, has_workspace ? operands.workspace : 0, stream,
             "queue the " + title_);
}

}  // namespace kiln::cuda
