// Emits a loop as one kernel: the functions of its steps, then a function that calls them.
#pragma once

#include "backends/codegen/grid/row_loop.h"

namespace kiln::codegen {

/// Functions that loops call.
const char* row_loop_functions();

/// The functions of one loop, for grid_functions(). The loop's text, and those of its kernels and
/// their schedules, precede the last one as comments. `may_stop`: a kernel of the program may
/// record an index out of range.
std::string row_loop_text(const RowLoop& loop, bool may_stop);

/// The function of one step (grid_text.cpp): computes points `begin` to `points` by all threads of
/// a block. Its parameters: a pointer to each operand, Kernel::sizes, `begin`, `points`, the number
/// of the step, a pointer to the CallBlock.
std::string block_function(const RowLoopKernel& step);

/// The lines as comments.
std::string commented(const std::string& lines);

}  // namespace kiln::codegen
