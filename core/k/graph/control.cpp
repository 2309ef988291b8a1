// The learning phase, and switch: a Select if both branches are values, a Cond if one is a
// function, so that the other branch does not run.
#include <kiln/control.h>

#include "core/ir/scope.h"
#include "core/k/base/context_impl.h"
#include "core/k/base/learning_phase_impl.h"
#include "core/k/base/tensor_impl.h"
#include "core/ops/convert.h"
#include "core/ops/lambda_builder.h"
#include "core/types/fork.h"
#include "core/types/no_destructor.h"

#include <atomic>
#include <mutex>

namespace kiln {
namespace {

using ir::Value;

constinit ForkMutex phase_mutex;
KILN_AT_LOAD NoDestructor<Value> phase_placeholder;  // guarded by phase_mutex
[[maybe_unused]] const bool is_phase_held = hold_at_fork<phase_mutex>();

/// The argument names of the branches, for errors.
struct BranchNames {
  const char* then_name = "then_expression";
  const char* else_name = "else_expression";
};
constexpr BranchNames kPhaseNames{"x", "alt"}, kTestPhaseNames{"alt", "x"};

bool is_number(const Branch& branch) {
  return !branch.is_function() && !branch.value().is_tensor();
}

/// The value of a branch; a number becomes a constant of `dtype`.
Value value_of_branch(const Branch& branch, DType dtype, const char* argument, const char* other) {
  if (!branch.is_function()) return value_of(branch.value(), dtype, argument, other);
  if (branch.is_empty()) Call::value_error(argument, text(argument, " is an empty function"));
  const Tensor result = [&] {
    const ir::OriginScope callback(ir::origin_of_callback(), /*replace=*/true);
    return branch.make();
  }();
  return value_of(result, argument);
}

/// The dtype of the numbers among the branches: that of the other one, else floatx(), which is read
/// only if there is a number.
DType dtype_of_numbers(const Branch& a, const Branch& b, const BranchNames& names) {
  if (!is_number(a) && !is_number(b)) return DType::Float32;
  for (const Branch* branch : {&a, &b}) {
    if (!branch->is_function() && branch->value().is_tensor()) {
      const char* name = branch == &a ? names.then_name : names.else_name;
      return value_of(branch->value().tensor(), name).dtype();
    }
  }
  return floatx_dtype();
}

/// The value of a branch, and the nodes that were created for it.
struct TracedBranch {
  Value value;
  ir::Trace trace;
};
struct Branches {
  TracedBranch then_branch, else_branch;
};

/// The values of both branches, with equal dims; numbers are broadcast.
Branches evaluate(const Branch& then_branch, const Branch& else_branch, const BranchNames& names) {
  const DType dtype = dtype_of_numbers(then_branch, else_branch, names);
  Branches both;
  Value& x = both.then_branch.value;
  Value& y = both.else_branch.value;
  {
    const ir::Trace::Scope tracing(both.then_branch.trace);
    x = value_of_branch(then_branch, dtype, names.then_name, names.else_name);
  }
  const ir::Trace::Scope tracing(both.else_branch.trace);
  y = value_of_branch(else_branch, dtype, names.else_name, names.then_name);
  if (is_number(then_branch)) x = ir::broadcast_to(x, y.dims());
  if (is_number(else_branch)) y = ir::broadcast_to(y, x.dims());
  const auto types = [&] {
    return text("(", names.then_name, " ", x.type(), ", ", names.else_name, " ", y.type(), ")");
  };
  if (x.dtype() != y.dtype()) {
    Call::type_error(names.else_name, text("the branches have different dtypes ", types()));
  }
  if (equal(x.dims(), y.dims()) == ir::Ternary::No) {
    Call::value_error(names.else_name, text("the branches have different shapes ", types()));
  }
  y = ir::with_dims(y, x.dims());
  return both;
}

/// Makes a Cond, which runs one branch only.
Tensor make_cond(const Value& condition, const Branches& both) {
  const auto& [then_branch, else_branch] = both;
  const ir::BranchClosures closures = ir::close_branches({then_branch.value}, then_branch.trace,
                                                         {else_branch.value}, else_branch.trace);
  std::vector<Value> operands{condition};
  operands.insert(operands.end(), closures.captures.begin(), closures.captures.end());
  const ir::CondAttrs attrs{.then_branch = {closures.then_branch},
                            .else_branch = {closures.else_branch}};
  return wrap(ir::make(ir::Op::Cond, attrs, std::move(operands)));
}

Tensor choose(const Operand& condition, const Branch& then_branch, const Branch& else_branch,
              const BranchNames& names = {}, const char* argument = "condition") {
  const Value given = value_of(condition, DType::Bool, argument);
  const Value chosen = ir::cast(given, DType::Bool);
  const Branches both = evaluate(then_branch, else_branch, names);
  const auto types = [&] {
    return text("(", argument, " ", given.type(), ", ", names.then_name, " ",
                both.then_branch.value.type(), ")");
  };
  if (chosen.rank() > both.then_branch.value.rank()) {
    Call::value_error(argument, text(argument, " has a higher rank than the branches ", types()));
  }
  const bool any_function = then_branch.is_function() || else_branch.is_function();
  if (chosen.rank() == 0 && any_function) return make_cond(chosen, both);
  const ir::Dims& dims = both.then_branch.value.dims();
  for (int axis = 0; axis < chosen.rank(); ++axis) {
    const ir::Dim& dim = chosen.dims()[axis];
    if (dim.is_one() || equal(dim, dims[axis]) != ir::Ternary::No) continue;
    Call::value_error(argument, text(argument, " does not fit the branches ", types()));
  }
  const Value mask = ir::broadcast(chosen, dims, ir::all_axes(chosen));
  return wrap(ir::select(mask, both.then_branch.value, both.else_branch.value));
}

/// The value of the branch that is selected when the graph is built.
Tensor selected(const Branch& branch, const char* argument) {
  const DType dtype = is_number(branch) ? floatx_dtype() : DType::Float32;
  return wrap(value_of_branch(branch, dtype, argument, ""));
}

/// Whether a number or a constant scalar is not 0; nullopt for other tensors.
std::optional<bool> static_value(const Operand& training) {
  if (!training.is_tensor()) return training.floating() != 0;
  const Value value = value_of(training.tensor(), "training");
  if (value.node->op != ir::Op::Constant || value.rank() != 0) return {};
  const std::byte* bytes = value.node->as<ir::ConstantAttrs>().data.bytes->data();
  std::byte is_set{};
  ir::convert_elements(value.dtype(), bytes, DType::Bool, &is_set, 1);
  return is_set != std::byte{0};
}

/// `then_branch` if `training` is not 0; None means the learning phase.
Tensor by_phase(const Branch& then_branch, const Branch& else_branch,
                const OptionalOperand& training, Where where, const BranchNames& names) {
  const Operand phase = training.is_none() ? Operand(learning_phase(), where) : training.value();
  if (const auto fixed = static_value(phase)) {
    return *fixed ? selected(then_branch, names.then_name) : selected(else_branch, names.else_name);
  }
  return choose(phase, then_branch, else_branch, names, "training");
}

}  // namespace

Value learning_phase_placeholder() {
  const std::lock_guard lock(phase_mutex);
  return *phase_placeholder;
}

Value make_learning_phase_placeholder() {
  static std::atomic<std::int64_t> next{-1};  // below every id that K::placeholder gives
  if (Value known = learning_phase_placeholder()) return known;
  ir::PlaceholderAttrs attrs;
  attrs.id = next.fetch_sub(1, std::memory_order_relaxed);
  attrs.name = "learning_phase";
  attrs.type = {DType::Bool, {}};
  const Value made = ir::make(ir::Op::Placeholder, std::move(attrs), {});
  const std::lock_guard lock(phase_mutex);
  if (!*phase_placeholder) *phase_placeholder = made;
  return *phase_placeholder;
}

void reset_learning_phase_placeholder() {
  Value old;  // freed after the lock is released
  const std::lock_guard lock(phase_mutex);
  std::swap(old, *phase_placeholder);
}

Tensor learning_phase() {
  return api_call("learning_phase", {}, [&] {
    if (const auto fixed = fixed_learning_phase()) {
      return wrap(ir::scalar_constant_int(DType::Int32, *fixed));
    }
    return wrap(make_learning_phase_placeholder());
  });
}

void clear_session() {
  translate_exceptions("clear_session", {}, [&] {
    reset_session_state();
    reset_learning_phase_placeholder();
  });
}

Tensor switch_(const Operand& condition, const Branch& then_expression,
               const Branch& else_expression) {
  return api_call("switch", condition.where(),
                  [&] { return choose(condition, then_expression, else_expression); });
}

Tensor in_train_phase(const Branch& x, const Branch& alt, const OptionalOperand& training) {
  return api_call("in_train_phase", x.where(),
                  [&] { return by_phase(x, alt, training, x.where(), kPhaseNames); });
}

Tensor in_test_phase(const Branch& x, const Branch& alt, const OptionalOperand& training) {
  return api_call("in_test_phase", x.where(),
                  [&] { return by_phase(alt, x, training, x.where(), kTestPhaseNames); });
}

Tensor print_tensor(const Operand& x, const PrintOptions& options) {
  return api_call("print_tensor", x.where(), [&] {
    static std::atomic<std::int64_t> next{1};
    const Value value = input_of(x);
    const ir::HostCallAttrs attrs{.function = "print_tensor",
                                  .payload = options.message,
                                  .id = next.fetch_add(1, std::memory_order_relaxed),
                                  .results = {value.type()}};
    return wrap(ir::make(ir::Op::HostCall, attrs, {ir::current_position(), value}));
  });
}

}  // namespace kiln
