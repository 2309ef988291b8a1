// Properties of kernels that several passes and emitters query.
#include "backends/codegen/kernel/kernel.h"

#include "core/ops/convert.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace kiln::codegen {
namespace {

bool is_column_sum(const Kernel& kernel, const Store& store) {
  const Access& access = kernel.accesses[store.access];
  return store.accumulate && !access.dynamic && access.strides[0] == ir::Dim(0);
}

}  // namespace

int size_argument(const Kernel& kernel, const ir::Dim& dim) {
  if (dim.is_static()) return -1;
  const auto found = std::find(kernel.sizes.begin(), kernel.sizes.end(), dim);
  return found == kernel.sizes.end() ? -1 : static_cast<int>(found - kernel.sizes.begin());
}

int add_size(Kernel& kernel, const ir::Dim& dim) {
  if (dim.is_static()) return -1;
  const int known = size_argument(kernel, dim);
  if (known >= 0) return known;
  kernel.sizes.push_back(dim);
  return static_cast<int>(kernel.sizes.size()) - 1;
}

std::uint64_t identity_bits(Combiner combiner, DType dtype) {
  const bool is_min = combiner == Combiner::Min, is_product = combiner == Combiner::Prod;
  std::vector<std::byte> bytes;
  if (combiner == Combiner::Sum || is_product) {
    bytes = ir::scalar_bytes(dtype, is_product ? 1 : 0);
  } else if (is_float(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    bytes = ir::scalar_bytes(dtype, is_min ? infinity : -infinity);
  } else {
    const auto width = dtype == DType::Bool ? 1 : 8 * dtype_bytes(dtype);
    const bool is_signed = info(dtype).kind == DTypeKind::Signed;
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - width);
    const std::uint64_t lowest = is_signed ? std::uint64_t{1} << (width - 1) : 0;
    return is_min ? all ^ lowest : lowest;
  }
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data(), bytes.size());
  return bits;
}

ExpressionFlags depends_on_inner(const Kernel& kernel) {
  ExpressionFlags depends;
  for (const Expression& e : kernel.expressions) {
    bool inner = e.kind == ExpressionKind::AxisIndex && e.number >= kernel.outer;
    if (e.kind == ExpressionKind::StageResult) {
      inner = kernel.stages[e.stage].kind == StageKind::Running;
    }
    if (e.kind == ExpressionKind::Load) {
      const Access& access = kernel.accesses[e.access];
      for (std::size_t axis = static_cast<std::size_t>(kernel.outer); axis < kernel.axes.size();
           ++axis) {
        inner |= access.strides[axis] != ir::Dim(0);
      }
      for (const ExpressionId other : {access.dynamic, access.when}) {
        if (other) inner |= depends[other];
      }
    }
    for (const ExpressionId argument : e.arguments) {
      if (argument) inner |= depends[argument];
    }
    depends.push_back(inner);
  }
  return depends;
}

std::vector<OperandId> column_sums(const Kernel& kernel) {
  std::vector<OperandId> operands;
  if (kernel.outer == 0) return operands;
  for (const Stage& stage : kernel.stages) {
    for (const Store& store : stage.stores) {
      if (!is_column_sum(kernel, store)) continue;
      operands.push_back(kernel.accesses[store.access].operand);
    }
  }
  return operands;
}

}  // namespace kiln::codegen
