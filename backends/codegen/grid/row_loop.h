// Loops as one kernel: a block runs all iterations for a group of rows, with barriers between steps
// of the body that share tensors. plan/fuse_loops.h has the choice of loops.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"

#include <string>
#include <variant>
#include <vector>

namespace kiln::codegen {

/// A tensor of the body that steps access. Iterations are counted from 0 in the order in which they
/// run.
struct RowLoopTensor {
  enum class Kind : std::uint8_t {
    Given,  // in global memory; the address moves by a number of bytes from one to the next
    Carry,  // in iteration 0 the initial value, then the next carry of the iteration before
    NextCarry,  // what an iteration writes: the last one to the loop's result (see RowLoopCarry)
    Temporary,  // in shared memory
  };
  Kind kind = Kind::Given;
  int carry = -1;  // of Carry and NextCarry
  // Of Temporary: bytes of a row, or of all where blocks do not divide it; where they begin.
  bool has_rows = false;
  std::int64_t bytes = 0, offset = 0;
};

/// The next carry of all iterations but the last is in a stack, at an address that moves like that
/// of a given tensor, or in one of two buffers of shared memory by turns.
struct RowLoopCarry {
  bool is_stacked = false;
  std::int64_t bytes = 0, offset = 0;  // of a row of the first buffer, which the other one follows
};

/// Copies elements from the second tensor to the first.
struct RowLoopCopy {
  int width = 1;  // bytes of an element
};

struct RowLoopKernel {
  Kernel kernel;
  GridSchedule schedule;  // with the threads of the loop's blocks: the values keep their bits
};

struct RowLoopStep {
  std::variant<RowLoopKernel, RowLoopCopy> work;
  std::vector<int> tensors;  // of each operand
  /// Of the parallel axes (GridSchedule::axes), per row or, if every block runs the whole step, in
  /// all; elements of a copy.
  std::int64_t points = 0;
  bool is_whole = false;
  bool has_barrier = true;  // after the step; always after the last one of an iteration
};

/// The parameters of the function:
///   u8*        the base of each given tensor; then of each carry: the initial value, the result,
///              and, if it is stacked, the next carry of iteration 0
///   s64        the bytes by which each given tensor moves, then each stacked carry
///   s64        Kernel::sizes of each kernel
///   s64        rows, iterations
///   s32        the number of the first launch that the loop stands for
///   CallBlock*
/// Kernels count as one launch each in every iteration: an index out of range is recorded as that
/// of the launch which would have met it, the first one by (launch, point).
struct RowLoop {
  std::string name;  // of the function: a C identifier, unique within a program
  int threads = 0;  // of a block
  std::int64_t rows = 1;  // of a block
  std::int64_t bytes = 0;  // of shared memory, besides that of the kernels
  std::vector<RowLoopTensor> tensors;
  std::vector<RowLoopCarry> carries;
  std::vector<RowLoopStep> steps;
};

/// Bytes of a buffer of shared memory that holds `rows` rows, aligned for vectors.
std::int64_t row_loop_buffer(std::int64_t bytes, std::int64_t rows);
/// Kernels among the steps.
int launches_per_iteration(const RowLoop& loop);
/// Whether threads have to wait between the steps: one writes a tensor that the other accesses.
bool needs_barrier(const RowLoopStep& earlier, const RowLoopStep& later);
/// Numbers of parameters.
std::int64_t given_tensors(const RowLoop& loop);
std::int64_t stacked_carries(const RowLoop& loop);

/// Throws InternalError naming the loop and the violated rule.
void verify(const RowLoop& loop, const GridDescription& device);

/// The loop without its kernels. Example, x + h for rows of one element:
///   loop loop0: blocks of 64 threads with 64 rows each, 512 bytes
///     t0: given
///     t1: carry 0
///     t2: next carry 0
///     carry 0: 4 bytes a row at 0
///     kernel: 1 points a row (t0, t1, t2), barrier
std::string print(const RowLoop& loop);

}  // namespace kiln::codegen
