// A filter is a matrix in memory whose columns are the filters.
#include "backends/codegen/plan/transpose_filters.h"

#include "backends/codegen/inspect/source.h"
#include "core/ops/build.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace kiln::codegen {
namespace {

using ir::Dim;
using ir::Value;

/// The number of the filter among the operands of a Conv; empty: it is the result.
std::optional<std::size_t> filter_operand(const ir::Node& conv) {
  switch (conv.as<ir::ConvAttrs>().role) {
    case ir::ConvRole::Input: return 0;
    case ir::ConvRole::Filter: return std::nullopt;
    case ir::ConvRole::Output: break;
  }
  return 1;
}

/// The filter with its last axis first.
Value filters_first(const Value& filter) {
  std::vector<std::int64_t> axes{static_cast<std::int64_t>(filter.rank()) - 1};
  for (std::int64_t axis = 0; axis < axes[0]; ++axis) axes.push_back(axis);
  return ir::permute(filter, axes);
}

/// A kernel over the points of a matrix [rows, columns] that stores each element of `from` in the
/// transposed matrix `to`.
BuiltKernel transposition(const Value& from, const Value& to, const Dim& rows, const Dim& columns) {
  BuiltKernel built;
  built.operands = {from, to};
  Kernel& kernel = built.kernel;
  kernel.axes = {rows, columns};
  kernel.outer = 2;
  const DType dtype = from.dtype();
  const auto add_access = [&](const char* name, bool written, std::vector<Dim> strides) {
    Access access;
    access.operand = kernel.operands.add({name, dtype, !written, written});
    access.strides = std::move(strides);
    built.access_nodes.push_back(nullptr);
    return kernel.accesses.add(std::move(access));
  };
  const AccessId read = add_access("b0_filter", /*written=*/false, {columns, 1});
  const AccessId written = add_access("b1_transposed", /*written=*/true, {1, rows});
  Stage stage;
  stage.inner = false;
  const ExpressionId value =
      kernel.expressions.add({.kind = ExpressionKind::Load, .dtype = dtype, .access = read});
  stage.stores = {{written, value, false}};
  kernel.stages.push_back(std::move(stage));
  for (const Dim& dim : kernel.axes) add_size(kernel, dim);
  return built;
}

/// A slot that holds the transposed elements of another one, whose tensor may be the filter of
/// convolutions with different numbers of filters: reshapes share its slot.
struct Transposed {
  SlotId filter;
  Dim filters;
  SlotId to;
};

class FilterTransposer {
 public:
  FilterTransposer(Plan& plan, const SizeNames& names, Program& program)
      : plan_(plan), names_(names), program_(program) {}

  bool run() {
    for (Step& step : std::exchange(plan_.steps, {})) {
      auto* convolution = std::get_if<ConvolutionStep>(&step);
      if (convolution == nullptr) {
        plan_.steps.push_back(std::move(step));
      } else {
        add(std::move(*convolution));
      }
    }
    return changed_;
  }

 private:
  void add(ConvolutionStep step) {
    const ir::Node& conv = *step.node;
    const std::optional<std::size_t> operand = filter_operand(conv);
    const Value filter = operand ? conv.operands[*operand] : conv.result();
    ir::Dims dims = names_(filter.dims());
    const Dim filters = dims.back();
    dims.pop_back();
    const Dim per_filter = ir::product(dims);
    if (filters.is_one() || per_filter.is_one()) return plan_.steps.push_back(std::move(step));
    changed_ = true;
    const ir::OriginScope origin(conv.origin, /*replace=*/true);
    const Value transposed = filters_first(filter);
    if (operand) {
      SlotId& slot = *operand == 0 ? step.lhs : step.rhs;
      SlotId to = transposed_of(slot, filters);
      if (!to) {
        to = new_slot(transposed);
        add_kernel(transposition(filter, transposed, per_filter, filters), {slot, to});
        transposed_.push_back({slot, filters, to});
      }
      slot = to;
      return plan_.steps.push_back(std::move(step));
    }
    const SlotId result = std::exchange(step.result, new_slot(transposed));
    const SlotId from = step.result;
    transposed_.push_back({result, filters, from});
    plan_.steps.push_back(std::move(step));
    add_kernel(transposition(transposed, filter, filters, per_filter), {from, result});
  }

  SlotId transposed_of(SlotId filter, const Dim& filters) const {
    const auto found = std::ranges::find_if(transposed_, [&](const Transposed& one) {
      return one.filter == filter && one.filters == filters;
    });
    return found == transposed_.end() ? SlotId() : found->to;
  }

  SlotId new_slot(const Value& value) {
    program_.nodes.push_back(value);
    return plan_.slots.add({.kind = TemporarySlot{},
                            .dtype = value.dtype(),
                            .dims = names_(value.dims()),
                            .node = value.node.get()});
  }

  void add_kernel(BuiltKernel built, IdVector<OperandId, SlotId> slots) {
    const KernelId id = program_.kernels.back_id().next();
    built.nodes = {program_.nodes.back().node.get()};
    built.kernel.name = text("k", id.number, "_transpose_filter");
    built.kernel.comes_from = kernel_title(built.nodes, id.number).comes_from;
    program_.kernels.push_back(std::move(built));
    plan_.steps.push_back(KernelStep{id, std::move(slots)});
  }

  Plan& plan_;
  const SizeNames& names_;
  Program& program_;
  std::vector<Transposed> transposed_;
  bool changed_ = false;
};

}  // namespace

bool transpose_filters(Plan& plan, const SizeNames& names, Program& program) {
  return FilterTransposer(plan, names, program).run();
}

}  // namespace kiln::codegen
