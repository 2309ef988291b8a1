// Sums of many bytes: each rank adds one part of them, in multiples of kAlignment, so that NCCL
// copies whole vectors.
#include "backends/cuda/execute/bind_collective.h"

#include "backends/codegen/inspect/source.h"
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

template <class... Args>
[[noreturn]] void reject(const codegen::HostCallStep& step, const Args&... reason) {
  throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT,
                     text("the collective of ", codegen::source_of(*step.node), " ", reason...));
}

bool has_axis(CollectiveKind kind) {
  return kind == CollectiveKind::AllGather || kind == CollectiveKind::ReduceScatter;
}

/// Throws sdk::Failure for operands that do not fit the payload.
void check_operands(const codegen::HostCallStep& step, const ir::CollectiveAttrs& attrs,
                    const codegen::SlotSizes& sizes) {
  const std::size_t count = step.operands.size() - 1;  // the first is the position
  if (count == 0) reject(step, "has no operands");
  const bool is_bucket = attrs.kind == CollectiveKind::AllReduce;
  if (count > 1 && !is_bucket) reject(step, "has ", count, " operands, but its kind takes one");
  if (!has_axis(attrs.kind)) return;
  const std::span<const std::int64_t> dims = sizes.dims(step.operands[1]);
  if (attrs.axis >= static_cast<std::int64_t>(dims.size())) {
    reject(step, "has axis ", attrs.axis, ", but its operand has ", dims.size(), " axes");
  }
  const std::int64_t size = dims[at(attrs.axis)];
  if (attrs.kind == CollectiveKind::ReduceScatter && size % attrs.ranks != 0) {
    reject(step, "divides axis ", attrs.axis, " of size ", size, " by ", attrs.ranks, " ranks");
  }
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
  std::int64_t of_all_ranks(std::int64_t bytes) const {
    return codegen::checked_product(bytes, ranks_, bound_.node);
  }

  void reduce(std::int64_t bytes) {
    bound_.part = bytes;
    bound_.work_bytes = of_all_ranks(bytes);
    bound_.reduction = kernels_.reduce(dtype_, bound_.attrs.reduction, ranks_, bytes / width_);
  }

  void all_reduce() {
    bound_.is_gathered_sum = of_all_ranks(bound_.bytes) <= kMaxGatheredSum;
    reduce(bound_.is_gathered_sum ? bound_.bytes : aligned((bound_.bytes + ranks_ - 1) / ranks_));
    bound_.buffer_bytes = bound_.is_gathered_sum ? bound_.bytes : bound_.work_bytes;
  }

  void reduce_scatter() {
    reduce(bound_.bytes / ranks_);
    bound_.buffer_bytes = bound_.bytes;
    bound_.result_bytes = bound_.part;
    if (outer() > 1) swap(outer(), ranks_, bound_.part / outer());
  }

  void all_gather() {
    bound_.part = bound_.bytes;
    bound_.buffer_bytes = bound_.result_bytes = of_all_ranks(bound_.bytes);
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
  check_operands(step, attrs, sizes);
  for (const codegen::SlotId operand : bound.operands) {
    bound.bytes = codegen::checked_sum(bound.bytes, sizes.bytes[operand], step.node);
  }
  if (bound.bytes == 0) return bound;  // all ranks agree on the sizes
  const codegen::SlotId first = bound.operands.at(0);
  Binding(bound, plan.slots[first].dtype, sizes.dims(first), kernels).run();
  return bound;
}

void check_results(const codegen::HostCallStep& step, const codegen::SlotSizes& sizes,
                   std::span<const DeviceCollective> collectives, std::int64_t number) {
  if (number >= static_cast<std::int64_t>(collectives.size())) {
    reject(step, "waits for number ", number, ", but ", collectives.size(), " have started");
  }
  std::int64_t bytes = 0;
  for (const codegen::SlotId result : step.results) bytes += sizes.bytes[result];
  const std::int64_t expected = collectives[at(number)].result_bytes;
  if (bytes != expected) reject(step, "gives ", expected, " bytes, but its results have ", bytes);
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
