// Built once: the axis that binds each symbol, and an expression for each size to check.
#include "runtime/function/compile/input_binding.h"

#include "core/types/counted.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>

namespace kiln::runtime {
namespace {

using Part = UserInput::Part;

/// Maps each of the program's `count` inputs to the user's.
std::vector<UserInput> user_inputs(std::size_t count, const std::vector<bool>& sparse) {
  std::vector<UserInput> users;
  for (std::size_t number = 0; users.size() < count; ++number) {
    if (number >= sparse.size() || !sparse[number]) {
      users.push_back({number, Part::Whole});
      continue;
    }
    for (const Part part : {Part::Indices, Part::Values, Part::Extent}) {
      users.push_back({number, part});
    }
  }
  return users;
}

/// Returns the user's name of an input: that of a part has the part as a suffix
/// (sparse_placeholder).
std::string user_name(const ir::Value& input, Part part) {
  std::string name = input.node->as<ir::PlaceholderAttrs>().name;
  if (part != Part::Whole) name.resize(std::min(name.rfind('.'), name.size()));
  return name;
}

/// Formats the type of the user's input that input i belongs to.
std::string user_type(const std::vector<ir::Value>& inputs, std::size_t i, Part part) {
  if (part == Part::Whole) return text(inputs[i].type());
  const std::size_t first = i - (part == Part::Indices ? 0 : part == Part::Values ? 1 : 2);
  if (first + 2 >= inputs.size()) return text(inputs[i].type());
  const ir::Dims& extent = inputs[first + 2].dims();
  return text("sparse ", ir::Type{inputs[first + 1].dtype(), {extent[0], extent[1]}});
}

/// Formats a dim; the size of an unnamed input as "axis 0 of input 1 (unnamed)".
std::string name_of(const ir::Dim& dim, const std::vector<ir::Value>& inputs) {
  for (std::size_t i = 0; i < inputs.size() && dim.as_symbol(); ++i) {
    if (!inputs[i].node->as<ir::PlaceholderAttrs>().name.empty()) continue;
    const auto axis = std::find(inputs[i].dims().begin(), inputs[i].dims().end(), dim);
    if (axis == inputs[i].dims().end()) continue;
    return text("axis ", axis - inputs[i].dims().begin(), " of input ", i, " (unnamed)");
  }
  return text(dim);
}

}  // namespace

InputBinding::InputBinding(std::string function, const std::vector<ir::Value>& inputs,
                           const std::vector<ir::Guard>& guards, const std::vector<bool>& sparse)
    : function_(std::move(function)) {
  const std::vector<UserInput> users = user_inputs(inputs.size(), sparse);
  for (const ir::Value& input : inputs) {
    for (std::size_t axis = 0; axis < input.dims().size(); ++axis) {
      const auto symbol = input.dims()[axis].as_symbol();
      if (!symbol) continue;
      if (std::find(symbols_.begin(), symbols_.end(), *symbol) != symbols_.end()) continue;
      symbols_.push_back(*symbol);
      symbol_axes_.push_back({inputs_.size(), axis});
    }
    const UserInput& user = users[inputs_.size()];
    inputs_.push_back({input.type(),
                       user,
                       user_name(input, user.part),
                       user_type(inputs, inputs_.size(), user.part),
                       {},
                       {}});
  }
  for (Input& input : inputs_) {
    for (const ir::Dim& dim : input.type.dims) {
      input.sizes.emplace_back(dim, symbols_);
      input.size_texts.push_back(text(dim));
    }
  }
  for (const ir::Guard& guard : guards) {
    GuardSizes sizes{.guard = guard,
                     .left = {guard.left, symbols_},
                     .right = {guard.right, symbols_},
                     .left_name = name_of(guard.left, inputs),
                     .right_name = name_of(guard.right, inputs)};
    if (sizes.left.is_bound() && sizes.right.is_bound()) guards_.push_back(std::move(sizes));
  }
}

std::string InputBinding::describe(std::size_t i) const {
  const Input& input = inputs_[i];
  const std::size_t number = input.user.number;
  if (input.name.empty()) return text("input ", number, " (unnamed) ", input.type_text);
  return text("inputs[", number, "] (", input.name, " ", input.type_text, ")");
}

void reject_input_count(const std::string& function, std::size_t expected, std::size_t given) {
  throw ValueError(function, "inputs",
                   text("takes ", counted(expected, "input"), " but ", given,
                        given == 1 ? " was given" : " were given"));
}

void InputBinding::fail(std::size_t i, std::span<const std::int64_t> given,
                        const std::string& detail) const {
  const bool is_matrix = inputs_[i].user.part == Part::Extent && given.size() == 3;
  if (is_matrix) given = given.first(2);
  throw ValueError(function_, inputs_[i].name,
                   text(describe(i), " was fed ", is_matrix ? "a matrix" : "an array",
                        " of shape [", join_text(given, ","), "]", detail));
}

void InputBinding::check_input(std::size_t i, std::span<const std::int64_t> given,
                               std::span<const std::int64_t> values) const {
  const Input& input = inputs_[i];
  for (std::size_t axis = 0; axis < given.size(); ++axis) {
    if (!input.sizes[axis].is_bound()) continue;
    const std::int64_t value = input.sizes[axis](values);
    if (value == given[axis]) continue;
    const bool is_known = input.type.dims[axis].is_static();
    fail(i, given,
         is_known ? "" : text("; ", input.size_texts[axis], " is ", value, " by another input"));
  }
}

void InputBinding::check_guard(const GuardSizes& sizes, std::span<const std::int64_t> values) {
  const std::string failure = ir::failure_of(
      sizes.guard, [&] { return sizes.left(values); }, [&] { return sizes.right(values); },
      sizes.left_name, sizes.right_name);
  if (!failure.empty()) throw ValueError("", "", failure, sizes.guard.origin.where);
}

void InputBinding::check_dims(DimSpans dims, std::vector<std::int64_t>& values) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (dims[i].size() != inputs_[i].sizes.size()) fail(i, dims[i], "");
    for (const std::int64_t dim : dims[i]) {
      if (dim < 0) fail(i, dims[i], text("; dim ", dim, " is negative"));
    }
  }
  values.clear();
  for (const SymbolAxis& symbol : symbol_axes_) {
    values.push_back(dims[symbol.input][symbol.axis]);
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) check_input(i, dims[i], values);
  for (const GuardSizes& guard : guards_) check_guard(guard, values);
}

}  // namespace kiln::runtime
