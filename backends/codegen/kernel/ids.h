// Typed positions in the lists of a kernel, so that a stage cannot stand for an expression, and
// among the kernels of a program.
#pragma once

#include "core/types/id.h"

namespace kiln::codegen {

struct Access;
struct BuiltKernel;
struct Expression;
struct Operand;
struct Stage;
using AccessId = Id<Access>;
using ExpressionId = Id<Expression>;
using KernelId = Id<BuiltKernel>;  // in a program
using OperandId = Id<Operand>;
using StageId = Id<Stage>;
using ExpressionFlags = IdVector<ExpressionId, bool>;

}  // namespace kiln::codegen
