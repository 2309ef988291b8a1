// Each axis of an input is an equation; a linear one with one unknown symbol is solved.
#include "backends/codegen/bind/call_sizes.h"

#include "backends/codegen/bind/bind_failure.h"
#include "backends/codegen/bind/check_arguments.h"

#include <algorithm>

namespace kiln::codegen {

CallSizes::CallSizes(const std::vector<ir::Value>& inputs, const std::vector<ir::Guard>& guards)
    : inputs_(inputs), guards_(guards) {
  for (const ir::Value& input : inputs) {
    std::vector<int>& axes = axes_.emplace_back();
    for (const ir::Dim& dim : input.dims()) {
      ir::for_each_symbol(dim, [&](const ir::Symbol& symbol) {
        if (index_of(symbol) == symbols_.size()) symbols_.push_back(symbol);
      });
      const auto symbol = dim.as_symbol();
      axes.push_back(symbol ? static_cast<int>(index_of(*symbol)) : -1);
    }
  }
  values_.resize(symbols_.size());
  solved_in_.resize(symbols_.size());
}

std::size_t CallSizes::index_of(const ir::Symbol& symbol) const {
  const auto found = std::find(symbols_.begin(), symbols_.end(), symbol);
  return static_cast<std::size_t>(found - symbols_.begin());
}

std::optional<std::int64_t> CallSizes::value_of(const ir::Symbol& symbol) const {
  const std::size_t i = index_of(symbol);
  if (i == symbols_.size() || !is_solved(i)) return std::nullopt;
  return values_[i];
}

void CallSizes::solve_input(std::size_t i, sdk::Dims given) {
  const ir::Dims& dims = inputs_[i].dims();
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis].is_static()) continue;
    if (axes_[i][axis] >= 0) {
      const auto symbol = static_cast<std::size_t>(axes_[i][axis]);
      if (is_solved(symbol)) continue;
      values_[symbol] = given[axis];
      solved_in_[symbol] = call_;
      continue;
    }
    const auto solved = ir::solve(dims[axis], given[axis],
                                  [this](const ir::Symbol& symbol) { return value_of(symbol); });
    if (!solved) continue;
    const std::size_t symbol = index_of(solved->first);
    values_[symbol] = solved->second;
    solved_in_[symbol] = call_;
  }
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const int symbol = axes_[i][axis];
    const std::int64_t expected =
        symbol >= 0 ? values_[static_cast<std::size_t>(symbol)] : (*this)(dims[axis]);
    if (expected != given[axis]) throw input_mismatch(inputs_, i);
  }
}

void CallSizes::solve(const InputSizes& given) {
  ++call_;
  is_complete_ = false;
  with_call_errors([&] {
    for (std::size_t i = 0; i < given.size(); ++i) solve_input(i, given[i]);
    is_complete_ = std::all_of(solved_in_.begin(), solved_in_.end(),
                               [this](std::uint64_t call) { return call == call_; });
    const std::string failure = ir::first_failure(guards_, *this);
    if (!failure.empty()) throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT, failure);
  });
}

std::size_t CallSizes::number_of(const ir::Dim& dim) const {
  const auto known = known_.find(dim.expr());
  if (known != known_.end()) return known->second.number;
  const auto equal = numbers_.find(dim);
  const std::size_t number = equal == numbers_.end() ? compiled_.size() : equal->second;
  if (equal == numbers_.end()) {
    compiled_.push_back({.evaluate = ir::DimEvaluator(dim, symbols_)});
    numbers_.emplace(dim, number);
  }
  known_.emplace(dim.expr(), KnownDim{dim, number});
  return number;
}

std::int64_t CallSizes::operator()(const ir::Dim& dim) const {
  if (dim.is_static()) return dim.value();
  const auto interpret = [&] {
    return ir::evaluate(dim, [this](const ir::Symbol& symbol) { return value_of(symbol); });
  };
  if (!is_complete_) return interpret();
  Compiled& compiled = compiled_[number_of(dim)];
  if (compiled.call == call_) return compiled.value;
  if (!compiled.evaluate.is_bound()) return interpret();
  compiled.value = compiled.evaluate(values_);
  compiled.call = call_;
  return compiled.value;
}

}  // namespace kiln::codegen
