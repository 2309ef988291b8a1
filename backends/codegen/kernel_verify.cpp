// The rules of kernel.h, checked one by one.
#include "backends/codegen/kernel.h"

#include "core/types/text.h"

#include <kiln/error.h>

namespace kiln::codegen {
namespace {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel) {}

  void run() const {
    axes();
    for (const Access& access : kernel_.accesses) check(access);
    for (std::size_t i = 0; i < kernel_.expressions.size(); ++i) check(kernel_.expressions[i], i);
    if (kernel_.stages.empty()) fail("it has no stages");
    for (std::size_t i = 0; i < kernel_.stages.size(); ++i) check(kernel_.stages[i]);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InternalError("compile", "", text("kernel ", kernel_.name, ": ", what));
  }
  void require(bool holds, const char* what) const {
    if (!holds) fail(what);
  }
  void size(const ir::Dim& dim) const {
    require(dim.is_static() || size_argument(kernel_, dim) >= 0, "a size is not among its sizes");
  }
  template <class List>
  void within(int index, const List& list, const char* what) const {
    require(index >= 0 && static_cast<std::size_t>(index) < list.size(), what);
  }

  void axes() const {
    const int count = static_cast<int>(kernel_.axes.size());
    require(kernel_.outer >= 0 && kernel_.outer <= count, "more outer axes than axes");
    const int vector = kernel_.vector_axis;
    const bool inner = vector == count - 1, outer = vector == kernel_.outer - 1;
    require(vector == -1 || inner || outer, "lanes along an axis that is no last one");
    for (const ir::Dim& dim : kernel_.axes) size(dim);
  }

  void check(const Access& access) const {
    within(access.operand, kernel_.operands, "an access to no operand");
    require(access.strides.size() == kernel_.axes.size(), "strides are not one per axis");
    size(access.offset);
    for (const ir::Dim& stride : access.strides) size(stride);
    if (access.dynamic < 0) return;
    within(access.dynamic, kernel_.expressions, "a dynamic index that is no expression");
    const DType dtype = kernel_.expressions[static_cast<std::size_t>(access.dynamic)].dtype;
    require(!is_float(dtype) && dtype != DType::Bool, "a dynamic index that is no integer");
    size(access.dynamic_stride);
    size(access.dynamic_limit);
  }

  void check(const Expression& e, std::size_t place) const {
    int count = 0;
    for (const int argument : e.arguments) {
      if (argument < 0) continue;
      require(static_cast<std::size_t>(argument) < place, "an argument comes later");
      ++count;
    }
    switch (e.kind) {
      case ExpressionKind::Constant: return;
      case ExpressionKind::AxisIndex: return within(e.number, kernel_.axes, "the index of no axis");
      case ExpressionKind::SizeValue: return within(e.number, kernel_.sizes, "no such size");
      case ExpressionKind::StageResult: return within(e.number, kernel_.stages, "no such stage");
      case ExpressionKind::Convert: return require(count == 1, "a conversion of not one argument");
      case ExpressionKind::Random: return require(count == 2, "a random number of not two");
      case ExpressionKind::Apply: return check_apply(e, count);
      case ExpressionKind::Load: break;
    }
    within(e.number, kernel_.accesses, "a load from no access");
    const Access& access = kernel_.accesses[static_cast<std::size_t>(e.number)];
    const Operand& operand = kernel_.operands[static_cast<std::size_t>(access.operand)];
    require(operand.read, "a load from an operand that is not read");
    require(operand.dtype == e.dtype, "a load of another dtype");
    require(access.dynamic < 0 || static_cast<std::size_t>(access.dynamic) < place,
            "a dynamic index comes later");
  }

  void check_apply(const Expression& e, int count) const {
    const ir::OpDef& d = ir::def(e.op);
    const bool scalar = d.scalar.real || d.scalar.integer || d.scalar.natural;
    if (!scalar || count != d.arity) fail(text("it cannot apply ", d.name));
  }

  void check(const Stage& stage) const {
    const bool combines = stage.kind != StageKind::Map;
    require(combines == (stage.combiner != Combiner::None), "a stage with the wrong combiner");
    require(!combines || stage.inner, "a reduction over no axes");
    if (combines) {
      within(stage.value, kernel_.expressions, "a reduction of nothing");
      const DType dtype = kernel_.expressions[static_cast<std::size_t>(stage.value)].dtype;
      require(dtype != DType::Float16 && dtype != DType::BFloat16,
              "an accumulator of half precision");
    }
    require(stage.kind == StageKind::Reduce || !stage.stores.empty(), "a stage without effect");
    for (const Store& store : stage.stores) {
      within(store.access, kernel_.accesses, "a store to no access");
      within(store.value, kernel_.expressions, "a store of nothing");
      const Access& access = kernel_.accesses[static_cast<std::size_t>(store.access)];
      const Operand& operand = kernel_.operands[static_cast<std::size_t>(access.operand)];
      require(operand.written, "a store to an operand that is not written");
      const DType dtype = kernel_.expressions[static_cast<std::size_t>(store.value)].dtype;
      require(operand.dtype == dtype, "a store of another dtype");
    }
  }

  const Kernel& kernel_;
};

}  // namespace

void verify(const Kernel& kernel) { Verifier(kernel).run(); }

}  // namespace kiln::codegen
