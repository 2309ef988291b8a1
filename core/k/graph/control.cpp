// The learning phase, a placeholder per session, and switch: a Select when both sides are values, a
// Cond when one is a function, so that the branch that is not taken does not run.
#include <kiln/control.h>

#include "core/k/frame/context_impl.h"
#include "core/k/frame/learning_phase_impl.h"
#include "core/k/frame/tensor_impl.h"
#include "core/ops/convert.h"
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

/// What the user calls the branches.
struct BranchNames {
  const char* then_name = "then_expression";
  const char* else_name = "else_expression";
};
constexpr BranchNames kPhaseNames{"x", "alt"}, kTestPhaseNames{"alt", "x"};

/// A branch's value; numbers adopt `dtype`.
Value value_of_branch(const Branch& branch, DType dtype, const char* argument) {
  if (!branch.is_function()) return value_of(branch.value(), dtype, argument);
  if (branch.is_empty()) Call::value_error(argument, text(argument, " is an empty function"));
  const Tensor made = [&] {
    const ir::OriginScope users(ir::Origin(), /*replace=*/true);  // it names its own lines
    return branch.make();
  }();
  return value_of(made, argument);
}

DType dtype_of_branches(const Branch& a, const Branch& b, const BranchNames& names) {
  for (const Branch* branch : {&a, &b}) {
    if (!branch->is_function() && branch->value().is_tensor()) {
      const char* name = branch == &a ? names.then_name : names.else_name;
      return value_of(branch->value().tensor(), name).dtype();
    }
  }
  return floatx_dtype();
}

/// A branch's value and the nodes that were written for it.
struct TracedBranch {
  Value value;
  ir::Trace trace;
};
struct Branches {
  TracedBranch then_branch, else_branch;
};

/// Both values, the second with the first one's dims; numbers spread to the other's dims.
Branches evaluate(const Branch& then_branch, const Branch& else_branch, const BranchNames& names) {
  const DType dtype = dtype_of_branches(then_branch, else_branch, names);
  Branches both;
  Value& x = both.then_branch.value;
  Value& y = both.else_branch.value;
  {
    const ir::Trace::Scope tracing(both.then_branch.trace);
    x = value_of_branch(then_branch, dtype, names.then_name);
  }
  const ir::Trace::Scope tracing(both.else_branch.trace);
  y = value_of_branch(else_branch, dtype, names.else_name);
  const auto number = [](const Branch& b) { return !b.is_function() && !b.value().is_tensor(); };
  if (number(then_branch)) x = ir::broadcast_to(x, y.dims());
  if (number(else_branch)) y = ir::broadcast_to(y, x.dims());
  const auto types = [&] {
    return text("(", names.then_name, " ", x.type(), ", ", names.else_name, " ", y.type(), ")");
  };
  if (x.dtype() != y.dtype()) {
    Call::type_error(names.else_name, text("the branches have different dtypes ", types()));
  }
  if (equal(x.dims(), y.dims()) == ir::Answer::No) {
    Call::value_error(names.else_name, text("the branches have different shapes ", types()));
  }
  y = ir::with_dims(y, x.dims());
  return both;
}

Tensor lazy(const Value& condition, const Branches& both) {
  const auto& [then_branch, else_branch] = both;
  const ir::ClosedBranches closed = ir::close_branches({then_branch.value}, then_branch.trace,
                                                       {else_branch.value}, else_branch.trace);
  std::vector<Value> operands{condition};
  operands.insert(operands.end(), closed.captures.begin(), closed.captures.end());
  const ir::CondAttrs attrs{{closed.then_branch}, {closed.else_branch}};
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
  if (chosen.rank() == 0 && any_function) return lazy(chosen, both);
  const ir::Dims& dims = both.then_branch.value.dims();
  for (int axis = 0; axis < chosen.rank(); ++axis) {
    const ir::Dim& dim = chosen.dims()[axis];
    if (dim.is_one() || equal(dim, dims[axis]) != ir::Answer::No) continue;
    Call::value_error(argument, text(argument, " does not fit the branches ", types()));
  }
  const Value spread = ir::broadcast(chosen, dims, ir::all_axes(chosen));
  return wrap(ir::select(spread, both.then_branch.value, both.else_branch.value));
}

/// The branch alone: picked when the graph is built.
Tensor only(const Branch& branch, const char* argument) {
  return wrap(value_of_branch(branch, floatx_dtype(), argument));
}

/// Whether a number or a constant scalar is not 0; nothing for other tensors.
std::optional<bool> known(const Operand& training) {
  if (!training.is_tensor()) return training.real() != 0;
  const Value value = value_of(training.tensor(), "training");
  if (value.node->op != ir::Op::Constant || value.rank() != 0) return {};
  const std::byte* bytes = value.node->as<ir::ConstantAttrs>().data.bytes->data();
  std::byte is_set{};
  ir::convert_elements(value.dtype(), bytes, DType::Bool, &is_set, 1);
  return is_set != std::byte{0};
}

/// `then_branch` where `training` is not 0; without one the learning phase decides.
Tensor by_phase(const Branch& then_branch, const Branch& else_branch,
                const OptionalOperand& training, Where where, const BranchNames& names) {
  const Operand phase = training.is_none() ? Operand(learning_phase(), where) : training.value();
  if (const auto fixed = known(phase)) {
    return *fixed ? only(then_branch, names.then_name) : only(else_branch, names.else_name);
  }
  return choose(phase, then_branch, else_branch, names, "training");
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

Tensor learning_phase() try {
  const Call call("learning_phase", {});
  if (const auto fixed = fixed_learning_phase()) {
    return wrap(ir::scalar_constant_int(DType::Int32, *fixed));
  }
  return wrap(make_learning_phase_placeholder());
} catch (const std::bad_alloc&) {
  Call::out_of_memory("learning_phase", {});
}

void clear_session() try {
  reset_session_state();
  reset_learning_phase_placeholder();
} catch (const std::bad_alloc&) {
  Call::out_of_memory("clear_session", {});
}

Tensor switch_(const Operand& condition, const Branch& then_expression,
               const Branch& else_expression) try {
  const Call call("switch", condition.where());
  return choose(condition, then_expression, else_expression);
} catch (const std::bad_alloc&) {
  Call::out_of_memory("switch", condition.where());
}

Tensor in_train_phase(const Branch& x, const Branch& alt, const OptionalOperand& training) try {
  const Call call("in_train_phase", x.where());
  return by_phase(x, alt, training, x.where(), kPhaseNames);
} catch (const std::bad_alloc&) {
  Call::out_of_memory("in_train_phase", x.where());
}

Tensor in_test_phase(const Branch& x, const Branch& alt, const OptionalOperand& training) try {
  const Call call("in_test_phase", x.where());
  return by_phase(alt, x, training, x.where(), kTestPhaseNames);
} catch (const std::bad_alloc&) {
  Call::out_of_memory("in_test_phase", x.where());
}

Tensor print_tensor(const Operand& x, const PrintOptions& options) try {
  const Call call("print_tensor", x.where());
  static std::atomic<std::int64_t> next{1};
  const Value value = input_of(x);
  ir::HostCallAttrs attrs;
  attrs.function = "print_tensor";
  attrs.payload = options.message;
  attrs.id = next.fetch_add(1, std::memory_order_relaxed);
  attrs.results = {value.type()};
  return wrap(ir::make(ir::Op::HostCall, std::move(attrs), {ir::current_position(), value}));
} catch (const std::bad_alloc&) {
  Call::out_of_memory("print_tensor", x.where());
}

}  // namespace kiln
