// Checks the rules of kernel.h.
#include "backends/codegen/kernel/kernel.h"
#include "backends/codegen/kernel/needed.h"

#include "core/ops/infer_rules.h"
#include "core/types/text.h"

#include <kiln/error.h>

namespace kiln::codegen {
namespace {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel) {}

  void run() const {
    require(is_identifier(kernel_.name), "its name is no identifier");
    require(!kernel_.stages.empty(), "it has no stages");
    axes();
    for (const Access& access : kernel_.accesses) check(access);
    for (const ExpressionId i : kernel_.expressions.ids()) check(kernel_.expressions[i], i);
    for (const Stage& stage : kernel_.stages) check(stage);
    const ExpressionFlags inner = depends_on_inner(kernel_);
    for (const StageId i : kernel_.stages.ids()) check_reads(i, inner);
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
  template <class Key, class Value>
  void within(Key id, const IdVector<Key, Value>& list, const char* what) const {
    require(id && id <= list.back_id(), what);
  }

  static bool is_identifier(const std::string& name) {
    const auto letter = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    if (name.empty() || !letter(name[0])) return false;
    for (const char c : name) {
      if (!letter(c) && !(c >= '0' && c <= '9')) return false;
    }
    return true;
  }

  DType dtype_of(ExpressionId expression) const { return kernel_.expressions[expression].dtype; }

  void axes() const {
    const int count = static_cast<int>(kernel_.axes.size());
    require(kernel_.outer >= 0 && kernel_.outer <= count, "more outer axes than axes");
    const int vector = kernel_.vector_axis;
    const bool inner = vector == count - 1, outer = vector == kernel_.outer - 1;
    require(vector == -1 || inner || outer,
            "a vector axis that is neither the last outer nor the last inner one");
    require(kernel_.part_multiple > 0, "part_multiple is not positive");
    for (const ir::Dim& dim : kernel_.axes) size(dim);
  }

  void check(const Access& access) const {
    within(access.operand, kernel_.operands, "an access to no operand");
    require(access.strides.size() == kernel_.axes.size(), "strides are not one per axis");
    size(access.offset);
    for (const ir::Dim& stride : access.strides) size(stride);
    if (access.when) {
      within(access.when, kernel_.expressions, "a guard that is no expression");
      require(dtype_of(access.when) == DType::Bool, "a guard that is no bool");
    }
    if (!access.dynamic) return;
    within(access.dynamic, kernel_.expressions, "a dynamic index that is no expression");
    const DType dtype = kernel_.expressions[access.dynamic].dtype;
    require(!is_float(dtype) && dtype != DType::Bool, "a dynamic index that is no integer");
    size(access.dynamic_stride);
    size(access.dynamic_limit);
  }

  void check(const Expression& e, ExpressionId position) const {
    int count = 0;
    for (const ExpressionId argument : e.arguments) {
      if (!argument) continue;
      require(argument < position, "an argument comes later");
      ++count;
    }
    switch (e.kind) {
      case ExpressionKind::Constant: return;
      case ExpressionKind::AxisIndex:
        require(e.dtype == DType::Int64, "an index that is no int64");
        return within(e.number, kernel_.axes, "the index of no axis");
      case ExpressionKind::SizeValue:
        require(e.dtype == DType::Int64, "a size that is no int64");
        return within(e.number, kernel_.sizes, "no such size");
      case ExpressionKind::StageResult: return within(e.stage, kernel_.stages, "no such stage");
      case ExpressionKind::Convert: return require(count == 1, "a conversion of not one argument");
      case ExpressionKind::Bitcast:
        return require(count == 1 && e.dtype != DType::Bool &&
                           dtype_of(e.arguments[0]) != DType::Bool &&
                           dtype_bytes(e.dtype) == dtype_bytes(dtype_of(e.arguments[0])),
                       "a bitcast that is not of one number of the same size");
      case ExpressionKind::Random:
        require(count == 2, "a random number of not two");
        require(is_float(e.dtype), "a random number that is no float");
        return require(
            dtype_of(e.arguments[0]) == DType::Int64 && dtype_of(e.arguments[1]) == DType::Int64,
            "a random number of no int64");
      case ExpressionKind::Apply: return check_apply(e, count);
      case ExpressionKind::Load: break;
    }
    within(e.access, kernel_.accesses, "a load from no access");
    const Access& access = kernel_.accesses[e.access];
    const Operand& operand = kernel_.operands[access.operand];
    require(operand.read, "a load from an operand that is not read");
    require(operand.dtype == e.dtype, "a load of another dtype");
    require(!access.dynamic || access.dynamic < position, "a dynamic index comes later");
    require(!access.when || access.when < position, "a guard comes later");
  }

  void check_apply(const Expression& e, int count) const {
    const ir::OpDef& d = ir::def(e.op);
    const bool scalar = d.scalar.floating || d.scalar.signed_integer || d.scalar.unsigned_integer;
    if (!scalar || count != d.arity) fail(text("it cannot apply ", d.name));
    const DType operand = dtype_of(e.arguments[static_cast<std::size_t>(count) - 1]);
    for (int i = 0; i < count; ++i) {
      const bool condition = e.op == ir::Op::Select && i == 0;
      const DType expected = condition ? DType::Bool : operand;
      if (dtype_of(e.arguments[static_cast<std::size_t>(i)]) != expected) {
        fail(text(d.name, " of another dtype than ", dtype_name(expected)));
      }
    }
    if (e.op != ir::Op::Select && (d.dtypes & ir::dtype_bit(operand)) == 0) {
      fail(text(d.name, " of ", dtype_name(operand)));
    }
    // A comparison gives bool; every other op gives the dtype of its operands.
    if (e.dtype != (d.infer == ir::comparison ? DType::Bool : operand)) {
      fail(text(d.name, " of ", dtype_name(operand), " that gives ", dtype_name(e.dtype)));
    }
  }

  /// A stage reads results of earlier stages; its own one only in stores of a running stage.
  void check_reads(StageId s, const ExpressionFlags& inner) const {
    const Stage& stage = kernel_.stages[s];
    check_results(s, needed(kernel_, {stage.value}), false);
    Stage stores = stage;
    stores.value = {};
    const ExpressionFlags stored = needed(kernel_, roots_of(kernel_, stores));
    check_results(s, stored, stage.kind == StageKind::Running);
    if (stage.inner) return;
    for (const ExpressionId i : stored.ids()) {
      require(!stored[i] || !inner[i], "a stage that runs once reads what inner axes change");
    }
  }

  void check_results(StageId s, const ExpressionFlags& read, bool own) const {
    for (const ExpressionId i : read.ids()) {
      const Expression& e = kernel_.expressions[i];
      if (!read[i] || e.kind != ExpressionKind::StageResult) continue;
      const StageId from = e.stage;
      require(from < s || (own && from == s), "a stage reads the result of a later one");
      const Stage& source = kernel_.stages[from];
      require(source.kind != StageKind::Map, "the result of a stage that combines nothing");
      const bool is_index = source.combiner == Combiner::ArgMax;
      const DType dtype = is_index ? DType::Int64 : dtype_of(source.value);
      require(e.dtype == dtype, "a result of another dtype");
    }
  }

  void check(const Stage& stage) const {
    const bool combines = stage.kind != StageKind::Map;
    require(combines == (stage.combiner != Combiner::None), "a stage with the wrong combiner");
    require(!combines || stage.inner, "a reduction over no axes");
    if (combines) {
      within(stage.value, kernel_.expressions, "a reduction of nothing");
      const DType dtype = kernel_.expressions[stage.value].dtype;
      require(dtype != DType::Float16 && dtype != DType::BFloat16,
              "an accumulator of half precision");
      require(stage.combiner != Combiner::ArgMax ||
                  kernel_.outer + 1 == static_cast<int>(kernel_.axes.size()),
              "an arg_max over other than one inner axis");
    }
    require(stage.kind == StageKind::Reduce || !stage.stores.empty(), "a stage without effect");
    for (const Store& store : stage.stores) {
      within(store.access, kernel_.accesses, "a store to no access");
      within(store.value, kernel_.expressions, "a store of nothing");
      const Access& access = kernel_.accesses[store.access];
      const Operand& operand = kernel_.operands[access.operand];
      require(operand.written, "a store to an operand that is not written");
      const DType dtype = kernel_.expressions[store.value].dtype;
      require(operand.dtype == dtype, "a store of another dtype");
    }
  }

  const Kernel& kernel_;
};

}  // namespace

void verify(const Kernel& kernel) { Verifier(kernel).run(); }

}  // namespace kiln::codegen
