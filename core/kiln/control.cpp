#include <kiln/control.h>

#include "core/kiln/context_state.h"
#include "core/kiln/learning_phase.h"
#include "core/kiln/tensor_impl.h"
#include "core/ops/lambda_builder.h"

#include <atomic>
#include <mutex>

namespace kiln {
namespace {

using ir::Value;

struct Phase {
  std::mutex mutex;
  Value placeholder;
};
Phase& phase() {
  static auto* state = new Phase;  // never destroyed: used by static objects' destructors
  return *state;
}

/// A branch's value; numbers adopt `dtype`.
Value value_of_branch(const Branch& branch, DType dtype, const char* argument) {
  if (!branch.is_function()) return value_of(branch.value(), dtype, argument);
  const ir::OriginScope users(ir::Origin(), /*replace=*/true);  // the function names its own lines
  return value_of(branch.make(), argument);
}

DType dtype_of_branches(const Branch& a, const Branch& b) {
  for (const Branch* branch : {&a, &b}) {
    if (!branch->is_function() && branch->value().is_tensor()) {
      return value_of(branch->value().tensor(), "then_expression").dtype();
    }
  }
  return floatx_dtype();
}

struct Branches {
  Value then_value, else_value;
  std::uint64_t then_serial = 0, else_serial = 0;
};

/// Both values, the second with the first one's dims; numbers spread to the other's dims.
Branches evaluate(const Branch& then_branch, const Branch& else_branch) {
  const DType dtype = dtype_of_branches(then_branch, else_branch);
  Branches both;
  both.then_serial = ir::next_serial();
  both.then_value = value_of_branch(then_branch, dtype, "then_expression");
  both.else_serial = ir::next_serial();
  both.else_value = value_of_branch(else_branch, dtype, "else_expression");
  const auto number = [](const Branch& b) { return !b.is_function() && !b.value().is_tensor(); };
  Value& x = both.then_value;
  Value& y = both.else_value;
  if (number(then_branch)) x = ir::broadcast_to(x, y.dims());
  if (number(else_branch)) y = ir::broadcast_to(y, x.dims());
  const auto types = [&] {
    return text("(then_expression ", x.type(), ", else_expression ", y.type(), ")");
  };
  if (x.dtype() != y.dtype()) {
    Call::type_error("else_expression", text("the branches have different dtypes ", types()));
  }
  bool same = x.rank() == y.rank();
  for (int axis = 0; same && axis < x.rank(); ++axis) {
    same = equal(x.dims()[axis], y.dims()[axis]) != ir::Answer::No;
  }
  if (!same) {
    Call::value_error("else_expression", text("the branches have different shapes ", types()));
  }
  y = ir::with_dims(y, x.dims());
  return both;
}

Value as_condition(const Operand& condition) {
  return ir::cast(value_of(condition, DType::Bool, "condition"), DType::Bool);
}

Tensor lazy(const Value& condition, const Branches& both) {
  const ir::ClosedBranches closed = ir::close_branches({both.then_value}, both.then_serial,
                                                       {both.else_value}, both.else_serial);
  std::vector<Value> operands{condition};
  operands.insert(operands.end(), closed.captures.begin(), closed.captures.end());
  const ir::CondAttrs attrs{{closed.then_branch}, {closed.else_branch}};
  return wrap(ir::make(ir::Op::Cond, attrs, std::move(operands)));
}

Tensor choose(const Operand& condition, const Branch& then_branch, const Branch& else_branch) {
  const ir::Type given = value_of(condition, DType::Bool, "condition").type();
  const Value chosen = as_condition(condition);
  const Branches both = evaluate(then_branch, else_branch);
  if (chosen.rank() > both.then_value.rank()) {
    Call::value_error("condition", text("condition has a higher rank than the branches (condition ",
                                        given, ", then_expression ",
                                        both.then_value.type(), ")"));
  }
  const bool any_function = then_branch.is_function() || else_branch.is_function();
  if (chosen.rank() == 0 && any_function) return lazy(chosen, both);
  const ir::Dims& dims = both.then_value.dims();
  for (int axis = 0; axis < chosen.rank(); ++axis) {
    const ir::Dim& dim = chosen.dims()[axis];
    if (dim.is_one() || equal(dim, dims[axis]) != ir::Answer::No) continue;
    Call::value_error("condition", text("condition does not fit the branches (condition ",
                                        given, ", then_expression ",
                                        both.then_value.type(), ")"));
  }
  const Value spread = ir::broadcast(chosen, dims, ir::all_axes(chosen));
  return wrap(ir::select(spread, both.then_value, both.else_value));
}

/// The branch alone: picked when the graph is built.
Tensor only(const Branch& branch) {
  return wrap(value_of_branch(branch, floatx_dtype(), "x"));
}

Tensor by_phase(const Branch& x, const Branch& alt) {
  if (const auto fixed = fixed_learning_phase()) return only(*fixed != 0 ? x : alt);
  return choose(Operand(learning_phase(), x.where()), x, alt);
}

Tensor by_training(const Branch& x, const Branch& alt, const Operand& training) {
  if (!training.is_tensor()) return only(training.real() != 0 ? x : alt);
  return choose(training, x, alt);
}

}  // namespace

Value learning_phase_placeholder() {
  const std::lock_guard lock(phase().mutex);
  return phase().placeholder;
}

Value make_learning_phase_placeholder() {
  const std::lock_guard lock(phase().mutex);
  if (!phase().placeholder) {
    static std::atomic<std::int64_t> next{-1};  // below every id that K::placeholder gives
    ir::PlaceholderAttrs attrs;
    attrs.id = next.fetch_sub(1, std::memory_order_relaxed);
    attrs.name = "learning_phase";
    attrs.type = {DType::Bool, {}};
    phase().placeholder = ir::make(ir::Op::Placeholder, std::move(attrs), {});
  }
  return phase().placeholder;
}

void reset_learning_phase_placeholder() {
  const std::lock_guard lock(phase().mutex);
  phase().placeholder = {};
}

Tensor learning_phase() {
  const Call call("learning_phase", {});
  if (const auto fixed = fixed_learning_phase()) {
    return wrap(ir::scalar_constant_int(DType::Int32, *fixed));
  }
  return wrap(make_learning_phase_placeholder());
}

void clear_session() {
  reset_session_state();
  reset_learning_phase_placeholder();
}

Tensor switch_(const Operand& condition, const Branch& then_expression,
               const Branch& else_expression) {
  const Call call("switch", condition.where());
  return choose(condition, then_expression, else_expression);
}

Tensor in_train_phase(const Branch& x, const Branch& alt) {
  const Call call("in_train_phase", x.where());
  return by_phase(x, alt);
}

Tensor in_train_phase(const Branch& x, const Branch& alt, const Operand& training) {
  const Call call("in_train_phase", x.where());
  return by_training(x, alt, training);
}

Tensor in_test_phase(const Branch& x, const Branch& alt) {
  const Call call("in_test_phase", x.where());
  return by_phase(alt, x);
}

Tensor in_test_phase(const Branch& x, const Branch& alt, const Operand& training) {
  const Call call("in_test_phase", x.where());
  return by_training(alt, x, training);
}

Tensor print_tensor(const Operand& x, const PrintOptions& options) {
  const Call call("print_tensor", x.where());
  static std::atomic<std::int64_t> next{1};
  const Value value = value_of(x, floatx_dtype(), "x");
  ir::HostCallAttrs attrs;
  attrs.function = "print_tensor";
  attrs.payload = options.message;
  attrs.id = next.fetch_add(1, std::memory_order_relaxed);
  attrs.results = {value.type()};
  return wrap(ir::make(ir::Op::HostCall, std::move(attrs), {ir::current_position(), value}));
}

}  // namespace kiln
