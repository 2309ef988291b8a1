// Functions of module files, which dumps and KILN_RECORD write.
#pragma once

#include <kiln/function.h>

namespace kiln {

struct LoadModuleOptions {
  /// The variables that the module reads and updates, by their names, such as variables() of the
  /// function that was dumped. A module has no values of variables: each is one of these, or else
  /// a new one with a value of `weights`, named as in the file also within name scopes.
  std::vector<Tensor> variables = {};
  /// A safetensors file with the values of all other variables, as save_weights and KILN_RECORD
  /// write it. Tensors of other names are ignored.
  StringArgument weights = {};
  StringArgument name = {};  ///< for messages and dumps; unset: that in the module
  // As in FunctionOptions.
  StringArgument backend = {};
  StringArgument dump = {};
  Stage dump_stages = Stage::All;
  Flag optimize = true;
  Flag check_numerics = false;
  std::optional<RandomState> random = {};
};

/// Compiles the program of a file, as text (.kir) or bytes (.kirb): the first bytes tell which.
/// The inputs of the function are the placeholders of the module, in its order; it has its outputs
/// and its updates, too. A variable without a name is "variable_0" for number 0, and one with the
/// name of an input or of an earlier variable is "x~2", in messages, in `weights` and as a new
/// variable; among options.variables it may have its own name if no other variable has that.
/// A sparse placeholder is three inputs.
/// Errors: IoError naming the path and the position for a file that cannot be read or is damaged,
/// or of another version; ValueError for a variable without a value, for variables of one name, and
/// for one of another type than in the module; as for function and load_weights.
///     const auto x = K::placeholder({.shape = {K::None}, .name = "x"});
///     const auto w = K::variable(2, {.name = "w"});
///     K::function({x}, {w * x}).dump("dump", K::Stage::Graph);
///     const auto f = K::load_module("dump/00-user.kir", {.variables = {w}});
///     f({K::Array{1.f, 3.f}})[0];  // [2. 6.]
[[nodiscard]] KILN_API Function load_module(const StringArgument& path,
                                            const LoadModuleOptions& options = {},
                                            Where where = Where::here());

}  // namespace kiln
