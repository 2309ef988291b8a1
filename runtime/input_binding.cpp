#include "runtime/input_binding.h"

#include "core/types/text.h"

#include <kiln/error.h>

namespace kiln::runtime {
namespace {

using DimSpans = std::span<const std::span<const std::int64_t>>;

/// Whether every symbol of the dim has a value.
template <class Lookup>
bool is_bound(const ir::Dim& dim, const Lookup& lookup) {
  bool bound = true;
  ir::for_each_symbol(dim, [&](const ir::Symbol& symbol) { bound = bound && lookup(symbol); });
  return bound;
}

}  // namespace

InputBinding::InputBinding(std::string function, const std::vector<ir::Value>& inputs,
                           std::vector<ir::Guard> guards)
    : function_(std::move(function)), guards_(std::move(guards)) {
  for (const ir::Value& input : inputs) {
    inputs_.push_back({input.type(), input.node->as<ir::PlaceholderAttrs>().name});
    for (std::size_t axis = 0; axis < input.dims().size(); ++axis) {
      const auto symbol = input.dims()[axis].as_symbol();
      if (!symbol) continue;
      bool known = false;
      for (const Slot& slot : slots_) known = known || slot.symbol == *symbol;
      if (!known) slots_.push_back({*symbol, inputs_.size() - 1, axis});
    }
  }
}

std::string InputBinding::describe(std::size_t i) const {
  const std::string& name = inputs_[i].name;
  return text("inputs[", i, "] (", name, name.empty() ? "" : " ", inputs_[i].type, ")");
}

void InputBinding::check_count(std::size_t given) const {
  if (given == inputs_.size()) return;
  throw ValueError(function_, "inputs",
                   text("takes ", inputs_.size(), inputs_.size() == 1 ? " input" : " inputs",
                        " but ", given, given == 1 ? " was" : " were", " given"));
}

std::optional<std::int64_t> InputBinding::value_of(const ir::Symbol& symbol, DimSpans dims) const {
  for (const Slot& slot : slots_) {
    if (slot.symbol == symbol) return dims[slot.input][slot.axis];
  }
  return std::nullopt;
}

void InputBinding::check_input(std::size_t i, DimSpans dims) const {
  const auto& given = dims[i];
  const ir::Dims& expected = inputs_[i].type.dims;
  const auto fail = [&](const std::string& fact) {
    throw ValueError(function_, inputs_[i].name,
                     text(describe(i), " was fed an array of shape [", join_text(given, ","), "]",
                          fact));
  };
  if (given.size() != expected.size()) fail("");
  const auto lookup = [&](const ir::Symbol& symbol) { return value_of(symbol, dims); };
  for (std::size_t axis = 0; axis < given.size(); ++axis) {
    if (expected[axis].is_static()) {
      if (expected[axis].value() != given[axis]) fail("");
      continue;
    }
    if (!is_bound(expected[axis], lookup)) continue;
    const std::int64_t value = ir::evaluate(expected[axis], lookup);
    if (value != given[axis]) {
      fail(text("; ", expected[axis], " is ", value, " by another input"));
    }
  }
}

void InputBinding::check_guard(const ir::Guard& guard, DimSpans dims) const {
  const auto lookup = [&](const ir::Symbol& symbol) { return value_of(symbol, dims); };
  if (!is_bound(guard.left, lookup) || !is_bound(guard.right, lookup)) return;
  const std::int64_t left = ir::evaluate(guard.left, lookup);
  const std::int64_t right = ir::evaluate(guard.right, lookup);
  const bool holds = guard.kind == ir::Guard::Kind::Equal ? left == right : left <= right;
  if (holds) return;
  throw ValueError("", "", text(guard.fact, "; in this call ", guard.left, " is ", left, " and ",
                                guard.right, " is ", right),
                   guard.origin.where);
}

void InputBinding::check_dims(DimSpans dims) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (dims[i].size() != inputs_[i].type.dims.size()) check_input(i, dims);
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) check_input(i, dims);
  for (const ir::Guard& guard : guards_) check_guard(guard, dims);
}

}  // namespace kiln::runtime
