// Index maps are affine, so that the corners of the iteration space bound them.
#include "tests/cuda_fakes/driver/operand_ranges.h"

#include "backends/codegen/kernel/needed.h"

#include <algorithm>

namespace kiln::fake_cuda {
namespace {

using namespace codegen;

class Ranges {
 public:
  Ranges(const Kernel& kernel, const std::vector<std::int64_t>& sizes)
      : kernel_(kernel), sizes_(sizes) {}

  std::vector<OperandRange> run() const {
    std::vector<OperandRange> ranges;
    const auto is_empty = [&](const ir::Dim& axis) { return evaluate(axis) == 0; };
    if (std::any_of(kernel_.axes.begin(), kernel_.axes.end(), is_empty)) return ranges;
    for (const int access : used_accesses()) add(kernel_.accesses[at(access)], ranges);
    return ranges;
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  std::int64_t evaluate(const ir::Dim& dim) const {
    return dim.is_static() ? dim.value() : sizes_[at(size_argument(kernel_, dim))];
  }

  std::vector<int> used_accesses() const {
    std::vector<int> list;
    for (const Stage& stage : kernel_.stages) {
      for (const Store& store : stage.stores) list.push_back(store.access);
      const std::vector<bool> is_needed = needed(kernel_, roots_of(kernel_, stage));
      for (std::size_t i = 0; i < is_needed.size(); ++i) {
        const Expression& e = kernel_.expressions[i];
        if (is_needed[i] && e.kind == ExpressionKind::Load) list.push_back(e.number);
      }
    }
    return list;
  }

  void add(const Access& access, std::vector<OperandRange>& ranges) const {
    if (access.when >= 0) return;
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

  const Kernel& kernel_;
  const std::vector<std::int64_t>& sizes_;
};

}  // namespace

std::vector<OperandRange> operand_ranges(const Kernel& kernel,
                                         const std::vector<std::int64_t>& sizes) {
  return Ranges(kernel, sizes).run();
}

}  // namespace kiln::fake_cuda
