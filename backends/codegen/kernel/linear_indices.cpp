// One pass over the expressions finds the affine forms; write_to() expands them before each draw.
#include "backends/codegen/kernel/linear_indices.h"

#include "core/types/at.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Dim;

/// Appends expressions to a list.
struct Writer {
  Kernel& kernel;
  IdVector<ExpressionId, Expression> list;

  ExpressionId axis_index(std::size_t axis) {
    Expression e;
    e.kind = ExpressionKind::AxisIndex;
    e.dtype = DType::Int64;
    e.number = static_cast<int>(axis);
    return list.add(e);
  }
  ExpressionId size(const Dim& dim) {
    Expression e;
    e.dtype = DType::Int64;
    if (dim.is_static()) {
      e.bits = static_cast<std::uint64_t>(dim.value());
    } else {
      e.kind = ExpressionKind::SizeValue;
      e.number = add_size(kernel, dim);
    }
    return list.add(e);
  }
  ExpressionId apply(ir::Op op, ExpressionId a, ExpressionId b) {
    Expression e;
    e.kind = ExpressionKind::Apply;
    e.dtype = DType::Int64;
    e.op = op;
    e.arguments = {a, b};
    return list.add(e);
  }
};

}  // namespace

LinearIndices::LinearIndices(const Kernel& kernel)
    : forms_(kernel.expressions.size()), indexed_(kernel.axes.size(), false) {
  draws_ = std::any_of(kernel.expressions.begin(), kernel.expressions.end(),
                       [](const Expression& e) { return e.kind == ExpressionKind::Random; });
  if (draws_) find_forms(kernel);
  const ExpressionFlags wanted = needed(kernel);
  for (const ExpressionId i : wanted.ids()) {
    const Expression& e = kernel.expressions[i];
    const bool is_use = wanted[i] || !draws_;
    if (is_use && e.kind == ExpressionKind::AxisIndex) indexed_[at(e.number)] = true;
  }
}

/// Only operands of draws: other integer arithmetic may overflow ir::Dim.
void LinearIndices::find_forms(const Kernel& kernel) {
  ExpressionFlags is_index(forms_.size(), false);
  for (const Expression& e : kernel.expressions) {
    if (e.kind == ExpressionKind::Random) is_index[e.arguments[1]] = true;
  }
  ExpressionFlags part = is_index;
  for (ExpressionId i = part.back_id(); i; --i) {
    for (const ExpressionId argument : kernel.expressions[i].arguments) {
      if (part[i] && argument) part[argument] = true;
    }
  }
  for (const ExpressionId i : part.ids()) {
    if (part[i]) forms_[i] = form_of(kernel, kernel.expressions[i]);
  }
  for (const ExpressionId i : part.ids()) {
    if (!is_index[i]) forms_[i].reset();
  }
}

std::optional<LinearIndices::AffineForm> LinearIndices::form_of(const Kernel& kernel,
                                                                const Expression& e) const {
  if (e.dtype != DType::Int64) return std::nullopt;
  AffineForm form{std::vector<Dim>(kernel.axes.size(), Dim(0)), 0};
  switch (e.kind) {
    case ExpressionKind::AxisIndex: form.coefficients[at(e.number)] = 1; return form;
    case ExpressionKind::Constant: form.constant = static_cast<std::int64_t>(e.bits); return form;
    case ExpressionKind::SizeValue: form.constant = kernel.sizes[at(e.number)]; return form;
    case ExpressionKind::Apply: break;
    default: return std::nullopt;
  }
  if (e.op != ir::Op::Add && e.op != ir::Op::Mul) return std::nullopt;
  const std::optional<AffineForm>*a = &forms_[e.arguments[0]], *b = &forms_[e.arguments[1]];
  if (!*a || !*b) return std::nullopt;
  if (e.op == ir::Op::Add) {
    form.constant = (*a)->constant + (*b)->constant;
    for (std::size_t i = 0; i < form.coefficients.size(); ++i) {
      form.coefficients[i] = (*a)->coefficients[i] + (*b)->coefficients[i];
    }
    return form;
  }
  const auto is_constant = [&](const AffineForm& f) { return f.coefficients == form.coefficients; };
  if (!is_constant(**b)) std::swap(a, b);
  if (!is_constant(**b)) return std::nullopt;
  form.constant = (*a)->constant * (*b)->constant;
  for (std::size_t i = 0; i < form.coefficients.size(); ++i) {
    form.coefficients[i] = (*a)->coefficients[i] * (*b)->constant;
  }
  return form;
}

/// The expressions that the kernel evaluates, without the indices of draws that have affine forms.
ExpressionFlags LinearIndices::needed(const Kernel& kernel) const {
  ExpressionFlags wanted(kernel.expressions.size(), false);
  const auto want = [&](ExpressionId expression) {
    if (expression) wanted[expression] = true;
  };
  for (const Access& access : kernel.accesses) {
    want(access.dynamic);
    want(access.when);
  }
  for (const Stage& stage : kernel.stages) {
    want(stage.value);
    for (const Store& store : stage.stores) want(store.value);
  }
  for (ExpressionId i = wanted.back_id(); i; --i) {
    if (!wanted[i]) continue;
    const Expression& e = kernel.expressions[i];
    const bool drawn = e.kind == ExpressionKind::Random && forms_[e.arguments[1]];
    for (std::size_t k = 0; k < e.arguments.size(); ++k) {
      if (!drawn || k != 1) want(e.arguments[k]);
    }
  }
  return wanted;
}

bool LinearIndices::can_merge(int first, const Dim& size) const {
  const std::size_t a = at(first);
  return std::all_of(forms_.begin(), forms_.end(), [&](const std::optional<AffineForm>& form) {
    return !form || form->coefficients[a] == form->coefficients[a + 1] * size;
  });
}

void LinearIndices::merge(int first) {
  for (std::optional<AffineForm>& form : forms_) {
    if (form) form->coefficients.erase(form->coefficients.begin() + first);
  }
  indexed_.erase(indexed_.begin() + first);
}

void LinearIndices::write_to(Kernel& kernel) const {
  if (!draws_) return;
  const ExpressionFlags wanted = needed(kernel);
  Writer out{kernel, {}};
  IdVector<ExpressionId, ExpressionId> moved(wanted.size());
  const auto move = [&](ExpressionId& expression) {
    if (expression) expression = moved[expression];
  };
  for (const ExpressionId i : wanted.ids()) {
    if (!wanted[i]) continue;
    Expression e = kernel.expressions[i];
    const bool drawn = e.kind == ExpressionKind::Random && forms_[e.arguments[1]];
    const ExpressionId element = e.arguments[1];
    for (ExpressionId& argument : e.arguments) move(argument);
    if (drawn) {
      const AffineForm& form = *forms_[element];
      ExpressionId index;
      if (form.constant != Dim(0)) index = out.size(form.constant);
      for (std::size_t axis = 0; axis < form.coefficients.size(); ++axis) {
        const Dim& coefficient = form.coefficients[axis];
        if (coefficient == Dim(0)) continue;
        ExpressionId term = out.axis_index(axis);
        if (!coefficient.is_one()) term = out.apply(ir::Op::Mul, term, out.size(coefficient));
        index = index ? out.apply(ir::Op::Add, index, term) : term;
      }
      e.arguments[1] = index ? index : out.size(0);
    }
    moved[i] = out.list.add(e);
  }
  kernel.expressions = std::move(out.list);
  for (Access& access : kernel.accesses) {
    move(access.dynamic);
    move(access.when);
  }
  for (Stage& stage : kernel.stages) {
    move(stage.value);
    for (Store& store : stage.stores) move(store.value);
  }
}

}  // namespace kiln::codegen
