// Made once: per input the dims that bind a symbol and those that check one. A call only runs them.
#include "runtime/input_binding.h"

#include "core/types/counted.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>

namespace kiln::runtime {

InputBinding::InputBinding(std::string function, const std::vector<ir::Value>& inputs,
                           const std::vector<ir::Guard>& guards)
    : function_(std::move(function)) {
  for (const ir::Value& input : inputs) {
    for (std::size_t axis = 0; axis < input.dims().size(); ++axis) {
      const auto symbol = input.dims()[axis].as_symbol();
      if (!symbol) continue;
      if (std::find(symbols_.begin(), symbols_.end(), *symbol) != symbols_.end()) continue;
      symbols_.push_back(*symbol);
      places_.push_back({inputs_.size(), axis});
    }
    inputs_.push_back({input.type(), input.node->as<ir::PlaceholderAttrs>().name, {}});
  }
  for (Input& input : inputs_) {
    for (const ir::Dim& dim : input.type.dims) input.sizes.emplace_back(dim, symbols_);
  }
  for (const ir::Guard& guard : guards) {
    GuardSizes made{guard, {guard.left, symbols_}, {guard.right, symbols_}};
    if (made.left.is_bound() && made.right.is_bound()) guards_.push_back(std::move(made));
  }
}

std::string InputBinding::describe(std::size_t i) const {
  const std::string& name = inputs_[i].name;
  return text("inputs[", i, "] (", name, name.empty() ? "" : " ", inputs_[i].type, ")");
}

void InputBinding::check_count(std::size_t given) const {
  if (given != inputs_.size()) refuse_count(function_, inputs_.size(), given);
}

void refuse_count(const std::string& function, std::size_t wanted, std::size_t given) {
  throw ValueError(function, "inputs",
                   text("takes ", counted(wanted, "input"), " but ", given,
                        given == 1 ? " was given" : " were given"));
}

void InputBinding::fail(std::size_t i, std::span<const std::int64_t> given,
                        const std::string& fact) const {
  throw ValueError(function_, inputs_[i].name,
                   text(describe(i), " was fed an array of shape [", join_text(given, ","), "]",
                        fact));
}

void InputBinding::check_input(std::size_t i, std::span<const std::int64_t> given,
                               std::span<const std::int64_t> values) const {
  const Input& input = inputs_[i];
  for (std::size_t axis = 0; axis < given.size(); ++axis) {
    if (!input.sizes[axis].is_bound()) continue;
    const std::int64_t value = input.sizes[axis](values);
    if (value == given[axis]) continue;
    const ir::Dim& dim = input.type.dims[axis];
    fail(i, given, dim.is_static() ? "" : text("; ", dim, " is ", value, " by another input"));
  }
}

void InputBinding::check_guard(const GuardSizes& sizes, std::span<const std::int64_t> values) {
  const std::int64_t left = sizes.left(values), right = sizes.right(values);
  const ir::Guard& guard = sizes.guard;
  const bool holds = guard.kind == ir::Guard::Kind::Equal ? left == right : left <= right;
  if (holds) return;
  std::string in_call = guard.left.is_static() ? "" : text(guard.left, " is ", left);
  if (!guard.right.is_static()) {
    in_call += text(in_call.empty() ? "" : " and ", guard.right, " is ", right);
  }
  throw ValueError("", "", text(guard.fact, "; in this call ", in_call), guard.origin.where);
}

std::vector<std::int64_t> InputBinding::check_dims(DimSpans dims) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (dims[i].size() != inputs_[i].sizes.size()) fail(i, dims[i], "");
  }
  std::vector<std::int64_t> values;
  for (const Place& place : places_) values.push_back(dims[place.input][place.axis]);
  for (std::size_t i = 0; i < inputs_.size(); ++i) check_input(i, dims[i], values);
  for (const GuardSizes& guard : guards_) check_guard(guard, values);
  return values;
}

}  // namespace kiln::runtime
