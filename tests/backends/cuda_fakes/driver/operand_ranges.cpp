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
    if (access.dynamic >= 0) {
      const std::int64_t limit = evaluate(access.dynamic_limit);
      if (limit == 0) return;
      extend(evaluate(access.dynamic_stride), limit);
    }
    const DType dtype = kernel_.operands[at(access.operand)].dtype;
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

void add_used(const Kernel& kernel, const Stage& stage, std::vector<bool>& is_used) {
  for (const Store& store : stage.stores) is_used[at(store.access)] = true;
  const std::vector<bool> is_needed = needed(kernel, roots_of(kernel, stage));
  for (std::size_t i = 0; i < is_needed.size(); ++i) {
    const Expression& e = kernel.expressions[i];
    if (is_needed[i] && e.kind == ExpressionKind::Load) is_used[at(e.number)] = true;
  }
}

}  // namespace

std::vector<int> unguarded_accesses(const Kernel& kernel) {
  std::vector<bool> is_used(kernel.accesses.size());
  for (const Stage& stage : kernel.stages) add_used(kernel, stage, is_used);
  std::vector<int> list;
  for (std::size_t i = 0; i < is_used.size(); ++i) {
    if (is_used[i] && kernel.accesses[i].when < 0) list.push_back(static_cast<int>(i));
  }
  return list;
}

std::vector<OperandRange> operand_ranges(const Kernel& kernel, const std::vector<int>& accesses,
                                         const std::vector<std::int64_t>& sizes) {
  const Ranges bounds(kernel, sizes);
  std::vector<OperandRange> ranges;
  if (bounds.is_empty()) return ranges;
  for (const int access : accesses) bounds.add(kernel.accesses[at(access)], ranges);
  return ranges;
}

}  // namespace kiln::fake_cuda
