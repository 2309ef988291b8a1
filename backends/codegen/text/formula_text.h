// Emits elementary functions as C++ functions of the prelude.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <compare>
#include <set>
#include <string>

namespace kiln::codegen {

/// An elementary function for float or double.
struct Formula {
  ir::Op op;
  bool is_double;
  auto operator<=>(const Formula&) const = default;
};
using Formulas = std::set<Formula>;

const Formulas& all_formulas();
/// Adds the elementary functions that the kernel applies to `used`;
/// half precision computes in float.
void add_formulas(const Kernel& kernel, Formulas& used);

/// A function <op>_of for each formula. sin and cos beyond formulas::kTrigLimit and pow of doubles
/// call the math library of the compiler; their results may differ in bits between targets.
std::string formula_functions(const Formulas& used);

}  // namespace kiln::codegen
