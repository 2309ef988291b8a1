// Sums of many bytes: each rank adds one part of them, in multiples of kAlignment, so that NCCL
// copies whole vectors.
#include "backends/cuda/execute/bind_collective.h"

#include "core/types/at.h"
#include "core/types/text.h"

namespace kiln::cuda {
namespace {

using ir::CollectiveKind;

constexpr std::int64_t kAlignment = 256;
/// Sums of up to so many bytes over all ranks take one transfer instead of two.
constexpr std::int64_t kMaxGatheredSum = std::int64_t{64} << 10;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::int64_t product(std::span<const std::int64_t> dims) {
  std::int64_t size = 1;
  for (const std::int64_t dim : dims) size *= dim;
  return size;
}

class Binding {
 public:
  Binding(DeviceCollective& bound, DType dtype, std::span<const std::int64_t> dims,
          const RankKernels& kernels)
      : bound_(bound),
        dtype_(dtype),
        width_(static_cast<std::int64_t>(dtype_bytes(dtype))),
        ranks_(bound.attrs.ranks),
        dims_(dims),
        kernels_(kernels) {}

  void run() {
    bound_.result_bytes = bound_.bytes;
    switch (bound_.attrs.kind) {
      case CollectiveKind::AllReduce:
      case CollectiveKind::Reduce: return all_reduce();
      case CollectiveKind::ReduceScatter: return reduce_scatter();
      case CollectiveKind::AllGather: return all_gather();
      case CollectiveKind::Broadcast: bound_.buffer_bytes = bound_.bytes; return;
    }
  }

 private:
  void reduce(std::int64_t bytes) {
    bound_.part = bytes;
    bound_.work_bytes = bytes * ranks_;
    bound_.reduction = kernels_.reduce(dtype_, bound_.attrs.reduction, ranks_, bytes / width_);
  }

  void all_reduce() {
    bound_.is_gathered_sum = bound_.bytes * ranks_ <= kMaxGatheredSum;
    reduce(bound_.is_gathered_sum ? bound_.bytes : aligned((bound_.bytes + ranks_ - 1) / ranks_));
    bound_.buffer_bytes = bound_.is_gathered_sum ? bound_.bytes : bound_.part * ranks_;
  }

  void reduce_scatter() {
    reduce(bound_.bytes / ranks_);
    bound_.buffer_bytes = bound_.bytes;
    bound_.result_bytes = bound_.part;
    if (outer() > 1) swap(outer(), ranks_, bound_.part / outer());
  }

  void all_gather() {
    bound_.part = bound_.bytes;
    bound_.buffer_bytes = bound_.result_bytes = bound_.bytes * ranks_;
    if (outer() > 1) swap(ranks_, outer(), bound_.bytes / outer());
  }

  /// The axes before that of the collective.
  std::int64_t outer() const { return product(dims_.first(at(bound_.attrs.axis))); }
  void swap(std::int64_t a, std::int64_t b, std::int64_t block_bytes) {
    bound_.swap =
        kernels_.swap_blocks(static_cast<std::size_t>(width_), a, b, block_bytes / width_);
  }

  DeviceCollective& bound_;
  DType dtype_;
  std::int64_t width_, ranks_;
  std::span<const std::int64_t> dims_;
  const RankKernels& kernels_;
};

}  // namespace

DeviceCollective bind_collective(const codegen::HostCallStep& step,
                                 const ir::CollectiveAttrs& attrs, const codegen::Plan& plan,
                                 const codegen::SlotSizes& sizes, const RankKernels& kernels) {
  DeviceCollective bound;
  bound.attrs = attrs;
  bound.node = step.node;
  bound.operands.assign(step.operands.begin() + 1, step.operands.end());
  for (const int operand : bound.operands) bound.bytes += sizes.bytes[at(operand)];
  if (bound.bytes == 0) return bound;  // all ranks agree on the sizes
  const int first = bound.operands.at(0);
  Binding(bound, plan.slots[at(first)].dtype, sizes.dims(first), kernels).run();
  return bound;
}

bool starts_collective(const codegen::HostCallStep& step) {
  return step.node->as<ir::HostCallAttrs>().function == "collective_start";
}

std::optional<ir::CollectivePayload> collective_of(const codegen::HostCallStep& step) {
  const auto& call = step.node->as<ir::HostCallAttrs>();
  if (!starts_collective(step) && call.function != "collective_wait") return std::nullopt;
  const auto payload = ir::decode_collective(call.payload);
  if (payload && payload->attrs.ranks <= RankKernels::kMaxRanks) return payload;
  throw sdk::Failure(payload ? KILN_CODE_UNIMPLEMENTED : KILN_CODE_INVALID_ARGUMENT,
                     payload ? text("a collective of ", payload->attrs.ranks,
                                    " ranks; cuda has those of up to ", RankKernels::kMaxRanks)
                             : text("a collective has the payload '", call.payload, "'"));
}

}  // namespace kiln::cuda
