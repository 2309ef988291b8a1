// The loop-level IR of a fusion group: a loop nest over one iteration domain with a sequence of
// stages as its body. Memory accesses are affine in the loop indices, plus an optional dynamic
// index (gather, scatter). The form is independent of the target: vector width, unrolling and
// instructions are chosen by the emitters.

// Semantics. A point is one tuple of axis indices. Axes are outer or inner:
//
//   for each point of the outer axes:        in any order, on any number of threads (but see Store)
//     for each stage, in order:
//       inner stage:  for each point of the inner axes, in row-major order: its body
//       other stage:  its body, once
//
// The body of a stage, by kind:
//   Map      evaluates the stores.
//   Reduce   combines `value` over the inner axes; later stages read the result as StageResult. Its
//            stores are evaluated at each point, too.
//   Running  inclusive scan: combines `value` along the inner axes in order, then evaluates the
//            stores, for which StageResult is the running value at this point.
//
// Example, softmax of rows: axes [rows] | [columns] (outer | inner),
//   stage 0: reduce max of x[i0, i1]
//   stage 1: reduce sum of exp(x[i0, i1] - result 0)
//   stage 2: map, y[i0, i1] = exp(x[i0, i1] - result 0) / result 1
//
// Reductions and scans of floats may be reassociated to any tree that depends on sizes and target
// alone, never on the number of threads. Every expression is rounded to its dtype (float16 and
// bfloat16 after each Apply; integers wrap), by the rules at the top of core/ops/op.h.
#pragma once

#include "backends/codegen/kernel/ids.h"
#include "core/ir/dim.h"
#include "core/ops/op.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace kiln::codegen {

/// A tensor in memory that the kernel reads or writes: dense elements, bool as one byte.
struct Operand {
  std::string name;
  DType dtype = DType::Float32;
  bool read = false, written = false;
};

/// The address of a load or a store, affine in the indices: element offset + sum(index of axis i *
/// strides[i]) (+ value of `dynamic` * dynamic_stride, for gather and scatter). Strides and offset
/// count elements; a stride may be 0 or negative. `dynamic` is an integer expression. Where it is
/// outside of [0, dynamic_limit), the kernel records an index out of range, skips this access (a
/// load gives 0) and goes on.
/// `when`, the guard, is a bool expression. Where it is false, a load gives 0, a store does
/// nothing, and `dynamic` is not checked.
struct Access {
  OperandId operand = {};
  ir::Dim offset = 0;
  std::vector<ir::Dim> strides;  // one per axis
  ExpressionId dynamic = {};  // or none
  ir::Dim dynamic_stride = 0, dynamic_limit = 0;
  ExpressionId when = {};  // or none
};

enum class ExpressionKind : std::uint8_t {
  Constant,  // `bits`: the element's bytes, little endian
  AxisIndex,  // int64: the index along axis `number`
  SizeValue,  // int64: sizes[number]
  Load,  // the element at `access`; 0 where that is skipped (see Access)
  Apply,  // the scalar meaning of `op` on the arguments
  Convert,  // arguments[0] converted to `dtype`, by the rules of Cast
  Bitcast,  // the bits of arguments[0] as `dtype`, by the rules of Bitcast
  StageResult,  // the result of `stage` at this outer point; see Running
  Random,  // Op::RandomUniform: arguments are the position and the element (int64), `seed`
           // and `stream` the op's attributes
};

/// A flat struct rather than a variant: passes that prune, renumber or compare expressions treat
/// `arguments` of all kinds alike. Members that a kind does not name keep their defaults.
struct Expression {
  ExpressionKind kind = ExpressionKind::Constant;
  DType dtype = DType::Float32;
  ir::Op op = ir::Op::Identity;
  int number = 0;  // of an axis or a size
  AccessId access = {};
  StageId stage = {};
  std::array<ExpressionId, 3> arguments = {};  // before this one
  std::uint64_t bits = 0;
  std::int64_t seed = 0, stream = 0;
};

/// A value written at each point of its stage. `accumulate`: read-modify-write, adds to the element
/// (wrapping). Points with the same index along axis 0 may add to the same element; they do so in
/// order, which keeps the sums deterministic. Points with different indices along axis 0 add to the
/// same element only where the access has no dynamic index and stride 0 along axis 0 (a column
/// sum). Threads divide axis 0, so a CPU runs such a kernel on one thread, unless
/// split/split_reductions.h gives each block of rows partial sums of its own.
struct Store {
  AccessId access = {};
  ExpressionId value = {};  // its dtype is the operand's
  bool accumulate = false;
};

enum class StageKind : std::uint8_t { Map, Reduce, Running };
/// Max and Min give NaN when any element is NaN. ArgMax: int64, the index along the one inner axis;
/// NaN counts as the largest, the first of equals wins.
using ir::Combiner;

/// A Map has stores only: no combiner and no value.
struct Stage {
  StageKind kind = StageKind::Map;
  bool inner = true;  // always true for Reduce and Running
  Combiner combiner = Combiner::None;
  ExpressionId value = {};  // to combine, of the accumulator's dtype: no float16 or bfloat16
  std::vector<Store> stores;
};

struct Kernel {
  std::string name;  // unique within a program; a C identifier
  std::string comes_from;  // provenance: K functions and source lines, for dumps and errors
  std::vector<ir::Dim> axes;  // extents; the outer ones first
  int outer = 0;  // number of outer axes
  /// The axis to vectorise: accesses are contiguous along it. It is the last outer axis or the last
  /// inner one. -1: scalar code.
  int vector_axis = -1;
  /// Calls begin and end parts of axis 0 at multiples of this, or at its extent; 1: anywhere.
  std::int64_t part_multiple = 1;
  IdVector<OperandId, Operand> operands;
  IdVector<AccessId, Access> accesses;
  IdVector<ExpressionId, Expression> expressions;
  IdVector<StageId, Stage> stages;
  /// Run-time arguments: the extents, offsets and strides that are not
  /// static, each once. See size_argument.
  std::vector<ir::Dim> sizes;
};

/// The index of a dim in `sizes`; -1 when it is static. REQUIRES: it is one of them otherwise.
int size_argument(const Kernel& kernel, const ir::Dim& dim);
/// The same, adding it when it is new.
int add_size(Kernel& kernel, const ir::Dim& dim);
/// The identity element of a reduction, as the bytes of that dtype: 0,
/// 1, the lowest or the highest value.
std::uint64_t identity_bits(Combiner combiner, DType dtype);
/// For each expression, whether its value may differ between the inner points of one outer point.
ExpressionFlags depends_on_inner(const Kernel& kernel);
/// The operands of column sums: stores that accumulate to the same elements for every index along
/// axis 0 (see Store).
std::vector<OperandId> column_sums(const Kernel& kernel);

/// Throws InternalError naming the kernel and the violated rule.
void verify(const Kernel& kernel);
/// The text of dumps. It has everything that a kernel has, except for unused accesses;
/// control characters and backslashes of names are spaces in it.
std::string print(const Kernel& kernel);

}  // namespace kiln::codegen
