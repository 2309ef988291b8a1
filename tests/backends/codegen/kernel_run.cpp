// Evaluates the stages' expressions in order, through apply_scalar and convert_elements.
#include "tests/backends/codegen/kernel_run.h"

#include "core/ops/convert.h"
#include "core/types/at.h"

#include <Random123/philox.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace kiln::test {
namespace {

using namespace codegen;
using Bits = std::uint64_t;

std::byte* bytes_of(Bits& bits) { return reinterpret_cast<std::byte*>(&bits); }
const std::byte* bytes_of(const Bits& bits) { return reinterpret_cast<const std::byte*>(&bits); }

/// Expressions that `roots` need, in order.
std::vector<ExpressionId> needed(const Kernel& kernel, const std::vector<ExpressionId>& roots) {
  ExpressionFlags wanted(kernel.expressions.size(), false);
  for (const ExpressionId root : roots) {
    if (root) wanted[root] = true;
  }
  for (ExpressionId i = wanted.back_id(); i; --i) {
    if (!wanted[i]) continue;
    const Expression& e = kernel.expressions[i];
    for (const ExpressionId argument : e.arguments) {
      if (argument) wanted[argument] = true;
    }
    if (e.kind != ExpressionKind::Load) continue;
    const Access& access = kernel.accesses[e.access];
    for (const ExpressionId other : {access.dynamic, access.when}) {
      if (other) wanted[other] = true;
    }
  }
  std::vector<ExpressionId> list;
  for (const ExpressionId i : wanted.ids()) {
    if (wanted[i]) list.push_back(i);
  }
  return list;
}

ir::Op op_of(Combiner combiner) {
  static constexpr ir::Op kOps[] = {ir::Op::Identity, ir::Op::Add,     ir::Op::Mul,
                                    ir::Op::Maximum,  ir::Op::Minimum, ir::Op::ArgMax};
  return kOps[static_cast<int>(combiner)];
}

Bits apply(ir::Op op, DType operands, DType result, std::array<Bits, 3> x, std::size_t count) {
  const std::byte* pointers[3] = {bytes_of(x[0]), bytes_of(x[1]), bytes_of(x[2])};
  Bits y = 0;
  if (operands == DType::Bool && (op == ir::Op::Maximum || op == ir::Op::Minimum)) {
    op = op == ir::Op::Maximum ? ir::Op::Or : ir::Op::And;
  }
  ir::apply_scalar(ir::def(op), operands, result, {pointers, count}, bytes_of(y), 1);
  return y;
}

}  // namespace

bool sums_floats(const Kernel& kernel) {
  return std::any_of(kernel.stages.begin(), kernel.stages.end(), [&](const Stage& stage) {
    if (stage.kind == StageKind::Map) return false;
    const bool is_sum = stage.combiner == Combiner::Sum || stage.combiner == Combiner::Prod;
    return is_sum && is_float(kernel.expressions[stage.value].dtype);
  });
}

Bits combined(Combiner combiner, DType dtype, Bits x, Bits y) {
  return apply(op_of(combiner), dtype, dtype, {x, y}, 2);
}

bool is_above(Bits x, Bits best, DType dtype) {
  const bool best_is_number = apply(ir::Op::Equal, dtype, DType::Bool, {best, best}, 2) & 1;
  const bool is_number = apply(ir::Op::Equal, dtype, DType::Bool, {x, x}, 2) & 1;
  if (!best_is_number) return false;
  return !is_number || (apply(ir::Op::Less, dtype, DType::Bool, {best, x}, 2) & 1);
}

PreparedKernel prepare(const Kernel& kernel) {
  verify(kernel);
  PreparedKernel prepared{kernel, {}, {}, {}};
  for (const Stage& stage : kernel.stages) {
    std::vector<ExpressionId> roots;
    for (const Store& store : stage.stores) {
      roots.push_back(kernel.accesses[store.access].dynamic);
      roots.push_back(kernel.accesses[store.access].when);
    }
    prepared.indices.push_back(needed(kernel, roots));
    for (const Store& store : stage.stores) roots.push_back(store.value);
    prepared.values.push_back(needed(kernel, {stage.value}));
    prepared.stores.push_back(needed(kernel, roots));
  }
  return prepared;
}

KernelRun::KernelRun(const PreparedKernel& prepared, const KernelArguments& arguments)
    : prepared_(prepared), kernel_(prepared.kernel), arguments_(arguments) {
  for (const ir::Dim& dim : kernel_.axes) extents_.push_back(size(dim));
  index_.resize(kernel_.axes.size());
  values_.resize(kernel_.expressions.size());
  results_.resize(kernel_.stages.size());
  for (const Access& access : kernel_.accesses) {
    Strides strides{
        size(access.offset), {}, size(access.dynamic_stride), size(access.dynamic_limit)};
    for (const ir::Dim& stride : access.strides) strides.axes.push_back(size(stride));
    strides_.push_back(std::move(strides));
  }
}

void KernelRun::run() {
  if (kernel_.outer == 0) return outer(0);
  outer(0, arguments_.begin, arguments_.end);
}

void KernelRun::visit_outer(const std::vector<int>& axes, std::int64_t number,
                            const std::function<void()>& visit) {
  for (std::size_t i = axes.size(); i-- > 0;) {
    index_[at(axes[i])] = number % extents_[at(axes[i])];
    number /= extents_[at(axes[i])];
  }
  std::vector<int> others;
  for (int axis = 0; axis < kernel_.outer; ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) others.push_back(axis);
  }
  loop(others, 0, visit);
}

void KernelRun::loop(const std::vector<int>& axes, std::size_t depth,
                     const std::function<void()>& visit) {
  if (depth == axes.size()) return visit();
  for (std::int64_t i = 0; i < extents_[at(axes[depth])]; ++i) {
    index_[at(axes[depth])] = i;
    loop(axes, depth + 1, visit);
  }
}

std::int64_t KernelRun::outer_number() const {
  std::int64_t number = 0;
  for (std::size_t axis = 0; axis < at(kernel_.outer); ++axis) {
    number = number * extents_[axis] + index_[axis];
  }
  return number;
}

std::int64_t KernelRun::inner_points() const {
  std::int64_t points = 1;
  for (std::size_t axis = at(kernel_.outer); axis < extents_.size(); ++axis) {
    points *= extents_[axis];
  }
  return points;
}

void KernelRun::move_to(std::int64_t inner_point) {
  for (std::size_t axis = extents_.size(); axis-- > at(kernel_.outer);) {
    index_[axis] = inner_point % extents_[axis];
    inner_point /= extents_[axis];
  }
}

Bits KernelRun::value_at_point(StageId stage) {
  evaluate(prepared_.values[stage]);
  return values_[kernel_.stages[stage].value];
}

std::optional<std::int64_t> KernelRun::index_at_point(StageId stage) {
  evaluate(prepared_.indices[stage]);
  const Access& access = kernel_.accesses[kernel_.stages[stage].stores[0].access];
  if (access.when && (values_[access.when] & 1) == 0) return std::nullopt;
  return index_of(access);
}

std::int64_t KernelRun::size(const ir::Dim& dim) const {
  return dim.is_static() ? dim.value() : arguments_.sizes[at(size_argument(kernel_, dim))];
}

void KernelRun::outer(int axis, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    index_[at(axis)] = i;
    outer(axis + 1);
  }
}

void KernelRun::outer(int axis) {
  if (axis < kernel_.outer) return outer(axis, 0, extents_[at(axis)]);
  run_stages();
}

void KernelRun::run_stages() {
  for (const StageId s : kernel_.stages.ids()) run_stage(s);
}

template <class Visit>
void KernelRun::inner(std::size_t axis, const Visit& visit) {
  if (axis == kernel_.axes.size()) return visit();
  for (std::int64_t i = 0; i < extents_[axis]; ++i) {
    index_[axis] = i;
    inner(axis + 1, visit);
  }
}

void KernelRun::run_stage(StageId s) {
  const Stage& stage = kernel_.stages[s];
  if (stage.kind != StageKind::Map) return combine_stage(s);
  if (!stage.inner) return finish_point(s);
  inner(at(kernel_.outer), [&] { finish_point(s); });
}

void KernelRun::finish_point(StageId s) {
  evaluate(prepared_.stores[s]);
  for (const Store& store : kernel_.stages[s].stores) write(store);
}

void KernelRun::combine_stage(StageId s) {
  const Stage& stage = kernel_.stages[s];
  const DType dtype = dtype_of(stage.value);
  const bool is_arg_max = stage.combiner == Combiner::ArgMax;
  Bits best = identity_bits(is_arg_max ? Combiner::Max : stage.combiner, dtype);
  // The order of a float sum is each backend's choice. In double the order does not matter.
  const bool is_wide =
      !rounds_partial_sums_ && stage.combiner == Combiner::Sum && dtype == DType::Float32;
  double wide = 0;
  bool first = true;
  results_[s] = is_arg_max ? 0 : best;
  inner(at(kernel_.outer), [&] {
    evaluate(prepared_.values[s]);
    const Bits value = values_[stage.value];
    if (is_arg_max) {
      if (first || is_above(value, best, dtype)) {
        best = value;
        results_[s] = static_cast<Bits>(index_.back());
      }
      first = false;
    } else if (is_wide) {
      wide += double{std::bit_cast<float>(static_cast<std::uint32_t>(value))};
      results_[s] = std::bit_cast<std::uint32_t>(static_cast<float>(wide));
    } else {
      results_[s] = combined(stage.combiner, dtype, results_[s], value);
    }
    finish_point(s);
  });
}

void KernelRun::evaluate(const std::vector<ExpressionId>& list) {
  for (const ExpressionId i : list) values_[i] = value_of(kernel_.expressions[i]);
}

KernelRun::Bits KernelRun::argument(const Expression& e, std::size_t i) const {
  return e.arguments[i] ? values_[e.arguments[i]] : 0;
}

DType KernelRun::dtype_of(ExpressionId expression) const {
  return kernel_.expressions[expression].dtype;
}

KernelRun::Bits KernelRun::value_of(const Expression& e) {
  switch (e.kind) {
    case ExpressionKind::Constant: return e.bits;
    case ExpressionKind::AxisIndex: return static_cast<Bits>(index_[at(e.number)]);
    case ExpressionKind::SizeValue: return static_cast<Bits>(arguments_.sizes[e.number]);
    case ExpressionKind::StageResult: return results_[e.stage];
    case ExpressionKind::Random: return random(e);
    case ExpressionKind::Load: {
      Bits bits = 0;
      const std::byte* from = element(e.access);
      if (from) std::memcpy(&bits, from, dtype_bytes(e.dtype));
      return bits;
    }
    case ExpressionKind::Convert: {
      Bits bits = 0;
      const Bits from = argument(e, 0);
      ir::convert_elements(dtype_of(e.arguments[0]), bytes_of(from), e.dtype, bytes_of(bits), 1);
      return bits;
    }
    case ExpressionKind::Bitcast: return argument(e, 0);
    case ExpressionKind::Apply: break;
  }
  const ExpressionId last = e.arguments[at(ir::def(e.op).arity - 1)];
  return apply(e.op, dtype_of(last), e.dtype, {argument(e, 0), argument(e, 1), argument(e, 2)},
               at(ir::def(e.op).arity));
}

std::int64_t KernelRun::index_of(const Access& access) const {
  std::int64_t index = 0;
  const Bits bits = values_[access.dynamic];
  ir::convert_elements(dtype_of(access.dynamic), bytes_of(bits), DType::Int64,
                       reinterpret_cast<std::byte*>(&index), 1);
  return index;
}

std::byte* KernelRun::element(AccessId id) {
  const Access& access = kernel_.accesses[id];
  if (access.when && (values_[access.when] & 1) == 0) return nullptr;
  const Strides& strides = strides_[id];
  std::int64_t offset = strides.offset;
  for (std::size_t axis = 0; axis < index_.size(); ++axis) {
    offset += index_[axis] * strides.axes[axis];
  }
  if (access.dynamic) {
    const std::int64_t index = index_of(access);
    if (index < 0 || index >= strides.limit) {
      if (arguments_.out_of_range->access < 0) {
        *arguments_.out_of_range = {id.number, index, strides.limit};
      }
      return nullptr;
    }
    offset += index * strides.dynamic;
  }
  const auto width = static_cast<std::int64_t>(dtype_bytes(kernel_.operands[access.operand].dtype));
  return arguments_.buffers[access.operand.number] + offset * width;
}

void KernelRun::write(const Store& store) {
  std::byte* to = element(store.access);
  if (!to) return;
  const DType dtype = dtype_of(store.value);
  Bits value = values_[store.value];
  if (store.accumulate) {
    Bits old = 0;
    std::memcpy(&old, to, dtype_bytes(dtype));
    value = apply(ir::Op::Add, dtype, dtype, {old, value}, 2);
  }
  std::memcpy(to, &value, dtype_bytes(dtype));
}

KernelRun::Bits KernelRun::random(const Expression& e) const {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  const Bits position = argument(e, 0), element = argument(e, 1);
  const Bits seed = static_cast<Bits>(e.seed) ^ arguments_.seed;
  r123::Philox4x32 philox;
  const r123::Philox4x32::key_type key = {{low(seed), high(seed)}};
  const r123::Philox4x32::ctr_type counter = {
      {low(element), high(element) ^ low(arguments_.call_counter), low(position),
       high(position) ^ low(static_cast<Bits>(e.stream) >> 1)}};
  const auto words = philox(counter, key);
  const bool is_odd = e.stream % 2 != 0;
  const std::array<std::uint32_t, 2> drawn{words[is_odd ? 2 : 0], words[is_odd ? 3 : 1]};
  double value = (drawn[0] >> 8) * 0x1p-24;
  if (e.dtype == DType::Float16) value = (drawn[0] >> 21) * 0x1p-11;
  if (e.dtype == DType::BFloat16) value = (drawn[0] >> 24) * 0x1p-8;
  if (e.dtype == DType::Float64) {
    const Bits both = (Bits{drawn[0]} << 32) | drawn[1];
    value = static_cast<double>(both >> 11) * 0x1p-53;
  }
  Bits bits = 0;
  ir::store_floating(e.dtype, &value, bytes_of(bits), 1);
  return bits;
}

}  // namespace kiln::test
