// Index maps are affine, so that the corners of the iteration space bound them.
#include "tests/backends/cuda_fakes/driver/operand_ranges.h"

#include "backends/codegen/kernel/needed.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::fake_cuda {
namespace {

using namespace codegen;

class Ranges {
 public:
  Ranges(const Kernel& kernel, const std::vector<std::int64_t>& sizes)
      : kernel_(kernel), sizes_(sizes) {}

  bool is_empty() const {
    return std::any_of(kernel_.axes.begin(), kernel_.axes.end(),
                       [&](const ir::Dim& axis) { return evaluate(axis) == 0; });
  }

  void add(const Access& access, std::vector<OperandRange>& ranges) const {
    std::int64_t low = evaluate(access.offset), high = low;
    const auto extend = [&](std::int64_t stride, std::int64_t extent) {
      (stride < 0 ? low : high) += stride * (extent - 1);
    };
    for (std::size_t i = 0; i < access.strides.size(); ++i) {
      extend(evaluate(access.strides[i]), evaluate(kernel_.axes[i]));
    }
    if (access.dynamic) {
      const std::int64_t limit = evaluate(access.dynamic_limit);
      if (limit == 0) return;
      extend(evaluate(access.dynamic_stride), limit);
    }
    const DType dtype = kernel_.operands[access.operand].dtype;
    const auto width = static_cast<std::int64_t>(dtype_bytes(dtype));
    ranges.push_back({access.operand, low * width, (high + 1) * width});
  }

 private:
  std::int64_t evaluate(const ir::Dim& dim) const {
    return dim.is_static() ? dim.value() : sizes_[at(size_argument(kernel_, dim))];
  }

  const Kernel& kernel_;
  const std::vector<std::int64_t>& sizes_;
};

void add_used(const Kernel& kernel, const Stage& stage, IdVector<AccessId, bool>& is_used) {
  for (const Store& store : stage.stores) is_used[store.access] = true;
  const ExpressionFlags is_needed = needed(kernel, roots_of(kernel, stage));
  for (const ExpressionId i : is_needed.ids()) {
    const Expression& e = kernel.expressions[i];
    if (is_needed[i] && e.kind == ExpressionKind::Load) is_used[e.access] = true;
  }
}

}  // namespace

std::vector<AccessId> unguarded_accesses(const Kernel& kernel) {
  IdVector<AccessId, bool> is_used(kernel.accesses.size());
  for (const Stage& stage : kernel.stages) add_used(kernel, stage, is_used);
  std::vector<AccessId> list;
  for (const AccessId i : is_used.ids()) {
    if (is_used[i] && !kernel.accesses[i].when) list.push_back(i);
  }
  return list;
}

std::vector<OperandRange> operand_ranges(const Kernel& kernel,
                                         const std::vector<AccessId>& accesses,
                                         const std::vector<std::int64_t>& sizes) {
  const Ranges bounds(kernel, sizes);
  std::vector<OperandRange> ranges;
  if (bounds.is_empty()) return ranges;
  for (const AccessId access : accesses) bounds.add(kernel.accesses[access], ranges);
  return ranges;
}

}  // namespace kiln::fake_cuda
