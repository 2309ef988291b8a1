// Sums are found by going through the expressions once, and written where a draw reads them.
#include "backends/codegen/kernel/element_numbers.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Dim;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// An expression list that grows by the terms of a sum.
struct Writer {
  Kernel& kernel;
  std::vector<Expression> list;

  int add(const Expression& e) {
    list.push_back(e);
    return static_cast<int>(list.size()) - 1;
  }
  int index(std::size_t axis) {
    Expression e;
    e.kind = ExpressionKind::AxisIndex;
    e.dtype = DType::Int64;
    e.number = static_cast<int>(axis);
    return add(e);
  }
  int size(const Dim& dim) {
    Expression e;
    e.dtype = DType::Int64;
    if (dim.is_static()) {
      e.bits = static_cast<std::uint64_t>(dim.value());
    } else {
      e.kind = ExpressionKind::SizeValue;
      e.number = add_size(kernel, dim);
    }
    return add(e);
  }
  int apply(ir::Op op, int a, int b) {
    Expression e;
    e.kind = ExpressionKind::Apply;
    e.dtype = DType::Int64;
    e.op = op;
    e.arguments = {a, b, -1};
    return add(e);
  }
};

}  // namespace

ElementNumbers::ElementNumbers(const Kernel& kernel)
    : sums_(kernel.expressions.size()), indexed_(kernel.axes.size(), false) {
  draws_ = std::any_of(kernel.expressions.begin(), kernel.expressions.end(),
                       [](const Expression& e) { return e.kind == ExpressionKind::Random; });
  if (draws_) find_sums(kernel);
  const std::vector<bool> wanted = needed(kernel);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Expression& e = kernel.expressions[i];
    const bool counts = wanted[i] || !draws_;
    if (counts && e.kind == ExpressionKind::AxisIndex) indexed_[at(e.number)] = true;
  }
}

/// Only below draws: what else is integer work may leave the range of sizes.
void ElementNumbers::find_sums(const Kernel& kernel) {
  std::vector<bool> number(sums_.size(), false);
  for (const Expression& e : kernel.expressions) {
    if (e.kind == ExpressionKind::Random) number[at(e.arguments[1])] = true;
  }
  std::vector<bool> part = number;
  for (std::size_t i = part.size(); i-- > 0;) {
    for (const int argument : kernel.expressions[i].arguments) {
      if (part[i] && argument >= 0) part[at(argument)] = true;
    }
  }
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i]) sums_[i] = sum_of(kernel, kernel.expressions[i]);
  }
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (!number[i]) sums_[i].reset();
  }
}

std::optional<ElementNumbers::Sum> ElementNumbers::sum_of(const Kernel& kernel,
                                                          const Expression& e) const {
  if (e.dtype != DType::Int64) return std::nullopt;
  Sum sum{std::vector<Dim>(kernel.axes.size(), Dim(0)), 0};
  switch (e.kind) {
    case ExpressionKind::AxisIndex: sum.steps[at(e.number)] = 1; return sum;
    case ExpressionKind::Constant: sum.rest = static_cast<std::int64_t>(e.bits); return sum;
    case ExpressionKind::SizeValue: sum.rest = kernel.sizes[at(e.number)]; return sum;
    case ExpressionKind::Apply: break;
    default: return std::nullopt;
  }
  if (e.op != ir::Op::Add && e.op != ir::Op::Mul) return std::nullopt;
  const std::optional<Sum>*a = &sums_[at(e.arguments[0])], *b = &sums_[at(e.arguments[1])];
  if (!*a || !*b) return std::nullopt;
  if (e.op == ir::Op::Add) {
    sum.rest = (*a)->rest + (*b)->rest;
    for (std::size_t i = 0; i < sum.steps.size(); ++i) {
      sum.steps[i] = (*a)->steps[i] + (*b)->steps[i];
    }
    return sum;
  }
  const auto is_fixed = [&](const Sum& s) { return s.steps == sum.steps; };  // no step but 0
  if (!is_fixed(**b)) std::swap(a, b);
  if (!is_fixed(**b)) return std::nullopt;
  sum.rest = (*a)->rest * (*b)->rest;
  for (std::size_t i = 0; i < sum.steps.size(); ++i) sum.steps[i] = (*a)->steps[i] * (*b)->rest;
  return sum;
}

/// What the kernel computes, but for numbers of elements that are known as sums.
std::vector<bool> ElementNumbers::needed(const Kernel& kernel) const {
  std::vector<bool> wanted(kernel.expressions.size(), false);
  const auto want = [&](int expression) {
    if (expression >= 0) wanted[at(expression)] = true;
  };
  for (const Access& access : kernel.accesses) {
    want(access.dynamic);
    want(access.when);
  }
  for (const Stage& stage : kernel.stages) {
    want(stage.value);
    for (const Store& store : stage.stores) want(store.value);
  }
  for (std::size_t i = wanted.size(); i-- > 0;) {
    if (!wanted[i]) continue;
    const Expression& e = kernel.expressions[i];
    const bool drawn = e.kind == ExpressionKind::Random && sums_[at(e.arguments[1])];
    for (std::size_t k = 0; k < e.arguments.size(); ++k) {
      if (!drawn || k != 1) want(e.arguments[k]);
    }
  }
  return wanted;
}

bool ElementNumbers::can_merge(int first, const Dim& size) const {
  const std::size_t a = at(first);
  return std::all_of(sums_.begin(), sums_.end(), [&](const std::optional<Sum>& sum) {
    return !sum || sum->steps[a] == sum->steps[a + 1] * size;
  });
}

void ElementNumbers::merge(int first) {
  for (std::optional<Sum>& sum : sums_) {
    if (sum) sum->steps.erase(sum->steps.begin() + first);
  }
  indexed_.erase(indexed_.begin() + first);
}

void ElementNumbers::write_to(Kernel& kernel) const {
  if (!draws_) return;
  const std::vector<bool> wanted = needed(kernel);
  Writer out{kernel, {}};
  std::vector<int> moved(wanted.size(), -1);
  const auto move = [&](int& expression) {
    if (expression >= 0) expression = moved[at(expression)];
  };
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    Expression e = kernel.expressions[i];
    const bool drawn = e.kind == ExpressionKind::Random && sums_[at(e.arguments[1])];
    const int number = e.arguments[1];
    for (int& argument : e.arguments) move(argument);
    if (drawn) {
      const Sum& sum = *sums_[at(number)];
      int made = sum.rest == Dim(0) ? -1 : out.size(sum.rest);
      for (std::size_t axis = 0; axis < sum.steps.size(); ++axis) {
        const Dim& step = sum.steps[axis];
        if (step == Dim(0)) continue;
        int term = out.index(axis);
        if (!step.is_one()) term = out.apply(ir::Op::Mul, term, out.size(step));
        made = made < 0 ? term : out.apply(ir::Op::Add, made, term);
      }
      e.arguments[1] = made < 0 ? out.size(0) : made;
    }
    moved[i] = out.add(e);
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
