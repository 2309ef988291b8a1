// The loop form of fused work, which emitters turn into machine code. A Kernel is one iteration
// domain and a few stages over it; every operand is reached by an affine index map. It knows
// nothing of a processor: lanes, unrolling and instructions are the emitter's.

// Meaning. For every point of the outer axes (in any order, on any number of threads, but see
// Store) the stages run one after the other. A stage with `inner` set runs over all points of the
// inner axes in row-major order; one without runs once. What a stage computes:
//   Map      evaluates its stores at each point.
//   Reduce   combines `value` over the inner axes; later stages read it as StageResult. Its stores
//            are evaluated at each point, too.
//   Running  combines `value` along the inner axes in order and evaluates its stores after each
//            point's value has been combined: there StageResult is the running value.
// Float sums and products, running ones too, may be combined in any tree that follows from sizes.
// An expression's value is that of its dtype after every step (float16 and bfloat16 are rounded
// after each Apply; integers wrap), by the rules at the top of core/ops/op.h.
#pragma once

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

/// Where an operand is touched: element offset + sum(index of axis i * strides[i])
/// (+ value of `dynamic` * dynamic_stride). Strides and offset count elements; a stride may be 0 or
/// negative. `dynamic` is an integer expression; outside of [0, dynamic_limit) it is a fault: the
/// kernel notes it, touches nothing through this access at that point, and goes on.
/// `when` is a bool expression, the access's guard. Where it is false, a load gives 0 and a store
/// does nothing; no memory is touched and `dynamic` is not checked.
struct Access {
  int operand = 0;
  ir::Dim offset = 0;
  std::vector<ir::Dim> strides;  // one per axis
  int dynamic = -1;              // expression, or none
  ir::Dim dynamic_stride = 0, dynamic_limit = 0;
  int when = -1;  // expression, or none
};

enum class ExpressionKind : std::uint8_t {
  Constant,     // `bits`: the element's bytes, little endian
  AxisIndex,    // int64: the index along axis `number`
  SizeValue,    // int64: sizes[number]
  Load,         // the element at access `number` (0 where it has a fault or its guard is false)
  Apply,        // the scalar meaning of `op` on the arguments
  Convert,      // arguments[0] converted to `dtype`, by the rules of Cast
  StageResult,  // what stage `number` made at this outer point; see Running
  Random,       // Op::RandomUniform: arguments are the position and the element (int64), `seed`
                // and `stream` the op's attributes
};

struct Expression {
  ExpressionKind kind = ExpressionKind::Constant;
  DType dtype = DType::Float32;
  ir::Op op = ir::Op::Identity;
  int number = 0;
  std::array<int, 3> arguments{-1, -1, -1};  // expressions before this one
  std::uint64_t bits = 0;
  std::int64_t seed = 0, stream = 0;
};

/// A value written at each point of its stage. `accumulate` adds to what is there (wrapping).
/// Points of one index of axis 0 may meet at one element and are added in order; points of
/// different ones meet only where the access has no dynamic index and a stride of 0 along axis 0:
/// a CPU runs such a kernel on one thread unless it is split (split/split_reductions.h).
struct Store {
  int access = 0;
  int value = 0;  // expression; its dtype is the operand's
  bool accumulate = false;
};

enum class StageKind : std::uint8_t { Map, Reduce, Running };
/// Max and Min give NaN when any element is NaN. ArgMax: int64, the place along the one inner
/// axis; NaN counts as the largest, the first of equals wins.
using ir::Combiner;

struct Stage {
  StageKind kind = StageKind::Map;
  bool inner = true;  // always true for Reduce and Running
  Combiner combiner = Combiner::None;
  int value = -1;  // what is combined; its dtype is the accumulator's (never float16, bfloat16)
  std::vector<Store> stores;
};

struct Kernel {
  std::string name;           // unique within a program; a C identifier
  std::string comes_from;     // the K functions and source lines behind it, for people
  std::vector<ir::Dim> axes;  // extents; the outer ones first
  int outer = 0;              // how many of them are outer
  /// The axis whose neighbours lie together in memory: emitters put lanes along it. When it is an
  /// outer axis it is the last outer one; when inner, the last of all. -1: one point at a time.
  int vector_axis = -1;
  std::vector<Operand> operands;
  std::vector<Access> accesses;
  std::vector<Expression> expressions;
  std::vector<Stage> stages;
  /// The sizes that are known only when the kernel is run: those of extents, offsets and strides
  /// that are not static, each once. See size_argument.
  std::vector<ir::Dim> sizes;
};

/// The place of a dim in `sizes`; -1 when it is static. REQUIRES: it is one of them otherwise.
int size_argument(const Kernel& kernel, const ir::Dim& dim);
/// The same, adding it when it is new.
int add_size(Kernel& kernel, const ir::Dim& dim);
/// What a reduction starts with, as the bytes of that dtype: 0, 1, the lowest or highest value.
std::uint64_t start_bits(Combiner combiner, DType dtype);
/// Whether the expression's value differs between points of one outer index.
std::vector<bool> depends_on_inner(const Kernel& kernel);
/// Operands that every index of axis 0 adds to: a CPU runs a kernel that has some on one thread
/// unless it is split (split/split_reductions.h).
std::vector<int> column_sums(const Kernel& kernel);

/// Throws InternalError naming the kernel and what is wrong with it.
void verify(const Kernel& kernel);
/// The readable form, as dumps show it. It says all of a kernel but accesses that nothing uses;
/// control characters and backslashes of names are spaces in it.
std::string print(const Kernel& kernel);

}  // namespace kiln::codegen
