// The ops: what each is called and what an op's definition consists of. One constexpr OpDef per op
// holds its documentation, operands, attributes, type rule, scalar meaning, gradient and lowering
// class; table.h lists them once; every other list of ops is computed from their fields.

// Semantics shared by all backends
// --------------------------------
// Values. A tensor is dense and row-major at the boundary. A dim may be 0. A scalar has no dims.
// Elementwise ops take operands of equal dtype and equal dims: broadcasting and conversion are the
// explicit ops Broadcast and Cast.
// Floats. float32 and float64 are computed at least in their own precision, rounded to nearest
// even. float16 and bfloat16 are storage types: each op computes in float32 or wider and rounds
// its result once.
// Subnormals. An operand or result that is subnormal as a float32 (as a float64 for that dtype)
// counts as zero of its sign. So does every subnormal bfloat16, whose exponents are float32's; a
// subnormal float16 is a normal float32 and keeps its value. What only hands elements on (movement,
// Select, Neg, Abs, Sign, Maximum, Minimum, a cast to the same exponents) may keep the bits.
// NaN. Arithmetic with a NaN gives a NaN (no promise about its bits). Maximum, Minimum, Max and
// Min give NaN when any operand is NaN; ArgMax counts NaN as the largest, the first wins.
// Comparisons with NaN are false (so not_equal, a Not of Equal, is true). -0 equals +0; Maximum
// of (-0, +0) in any order is +0, Minimum is -0. Sign(-0) is -0, Sign(NaN) is NaN.
// Integers. Two's complement, wrapping. Div truncates toward zero, x / 0 is 0, MIN / -1 is MIN;
// Mod has the sign of the dividend (fmod for floats), x mod 0 is 0. Abs(MIN) is MIN. Pow with a
// negative integer exponent is 0, except for bases 1 and -1; Pow wraps; x^0 is 1.
// Control. Nothing that a lambda holds runs unless the lambda is entered: not its nodes, not the
// checks of its guards. A branch is entered when it is taken, a loop's body at each step. No graph
// rewrite moves a node that may fail, draws or calls the host out of a lambda that may not be
// entered (core/ops/pinned.h).
// Bool. Stored as one byte 0 or 1. And, Or, Not, Equal, Select, Max (any), Min (all) take it.
// Casts. Float to integer truncates toward zero, saturates at the ends, NaN gives 0. Integer to
// integer wraps. To bool is x != 0 (NaN is true). Bool to number is 0 or 1. To a narrower float
// rounds to nearest even; overflow gives infinity.
// Reductions over nothing: Sum 0, Prod 1, Max the lowest value (-inf, MIN, false), Min the highest
// value; ArgMax over an axis of size 0 is an error when it is built or called.
// Ties. Gradients of Max and Min divide equally among tied elements; Maximum and Minimum give the
// gradient of a tie to the first operand.
// Indices. An index outside the axis is an error at the call on every backend, and changes no
// variable; it is not read, so no error, where the entries that it chooses have no elements.
#pragma once

#include "core/ir/graph.h"
#include "core/ir/node.h"
#include "core/types/text.h"

#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace kiln::ir {

/// In any order: numbers of ops in module files are OpDef::code.
enum class Op : std::uint16_t {
  // leaves
  Constant, Placeholder, Variable, Parameter, Iota, RandomUniform, DimSize,
  // elementwise, one operand
  Cast, Neg, Abs, Sign, Floor, Round, Exp, Expm1, Log, Log1p, Sqrt, Sin, Cos, Tanh, Sigmoid, Not,
  // elementwise, two and three operands
  Add, Sub, Mul, Div, Mod, Pow, Maximum, Minimum, Equal, Less, LessEqual, And, Or, Select,
  // reductions and running reductions
  Sum, Prod, Max, Min, ArgMax, CumSum, CumProd,
  // movement
  Reshape, Permute, Broadcast, Slice, Pad, Reverse, Concat,
  // indexed
  Gather, ScatterAdd, ScatterSub,
  // contraction
  Dot,
  // control
  Scan, Cond,
  // structural
  Identity, StopGradient, HostCall, Require,
  // composites
  Softmax, LogSoftmax,
  // windows
  Window, Fold, Conv,
  // composites over whole axes
  Variance,
};

/// How a backend runs an op. Passes ask for the class, never for names.
enum class Lowering : std::uint8_t {
  Argument,     // given from outside: an argument, the state, a lambda's parameter
  Leaf,         // a constant, an index, a draw
  Elementwise,  // a scalar expression
  Reduce,       // drops axes
  Running,      // runs along an axis
  Movement,     // an index map, no arithmetic
  Indexed,      // an indirect index
  Contraction,  // a library call or a loop nest
  Control,      // has lambdas
  Structural,   // a copy, or an effect
  Composite,    // has an expansion that is always right
};

/// How an op makes one element out of many.
enum class Combiner : std::uint8_t { None, Sum, Prod, Max, Min, ArgMax };

/// A set of dtypes, as bits indexed by DType.
using DTypeSet = std::uint16_t;
constexpr DTypeSet dtype_bit(DType dtype) { return DTypeSet(1u << static_cast<int>(dtype)); }
constexpr DTypeSet dtypes_of(DTypeKind kind) {
  DTypeSet set = 0;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kDTypeInfo[i].kind == kind) set |= dtype_bit(static_cast<DType>(i));
  }
  return set;
}
inline constexpr DTypeSet kBools = dtypes_of(DTypeKind::Bool);
inline constexpr DTypeSet kFloats = dtypes_of(DTypeKind::Float);
inline constexpr DTypeSet kSignedIntegers = dtypes_of(DTypeKind::Signed);
inline constexpr DTypeSet kIntegers = kSignedIntegers | dtypes_of(DTypeKind::Unsigned);
inline constexpr DTypeSet kNumbers = kIntegers | kFloats;
inline constexpr DTypeSet kAnyDType = kNumbers | kBools;

/// What a type rule sees and reports. Facts about dims that are unknown become guards.
class Inference {
 public:
  Inference(Op op, const Attrs& attrs, std::span<const Value> operands,
            std::vector<Guard>* guards)
      : op_(op), attrs_(attrs), operands_(operands), guards_(guards) {}

  std::size_t count() const { return operands_.size(); }
  const Type& type(std::size_t i) const { return operands_[i].type(); }
  template <class Struct>
  const Struct& as() const {
    return std::get<Struct>(attrs_);
  }
  /// Yes: nothing. No: throws ValueError with the fact. Unknown: a guard with that fact.
  /// The fact is joined from its parts only when it is needed.
  template <class... Parts>
  void require_equal(const Dim& left, const Dim& right, const Parts&... fact) {
    const Answer answer = equal(left, right);
    if (answer != Answer::Yes) settle(Guard::Kind::Equal, answer, left, right, text(fact...));
  }
  template <class... Parts>
  void require_less_equal(const Dim& left, const Dim& right, const Parts&... fact) {
    const Answer answer = less_equal(left, right);
    if (answer != Answer::Yes) settle(Guard::Kind::LessEqual, answer, left, right, text(fact...));
  }
  /// Throws ValueError or TypeError: "<user's function>: <fact> (<operand> <type>, ...)".
  [[noreturn]] void value_error(const std::string& fact) const;
  [[noreturn]] void type_error(const std::string& fact) const;
  /// " (x float32[2,3], y float32[4])", names where the user called the op by its own; or empty.
  std::string operand_list() const;

 private:
  void settle(Guard::Kind kind, Answer answer, const Dim& left, const Dim& right,
              const std::string& fact);
  Op op_;
  const Attrs& attrs_;
  std::span<const Value> operands_;
  std::vector<Guard>* guards_;
};

/// What a gradient rule sees. It returns one value per operand; an empty one means no gradient.
/// Ordinary nodes are built (core/ops/build.h), so every order comes for free.
struct Grad {
  const Node& node;
  std::span<const Value> x;   // operands
  std::span<const Value> y;   // results of the node
  std::span<const Value> dy;  // cotangent of each result; empty where none reaches it
  /// Whether a cotangent of operand i is asked for (a rule may skip what is not).
  std::span<const bool> wanted;
};

/// The scalar meaning of an elementwise op over blocks of n elements, in the widest type of each
/// kind. Results of comparisons are 0 or 1. Null where the op does not take that kind. Rounding to
/// the dtype, flushing of subnormals and wrapping to the width happen when the block is stored.
struct Scalar {
  void (*real)(const double* const* x, double* y, std::int64_t n) = nullptr;
  void (*integer)(const std::int64_t* const* x, std::int64_t* y, std::int64_t n) = nullptr;
  void (*natural)(const std::uint64_t* const* x, std::uint64_t* y, std::int64_t n) = nullptr;
};

using Infer = std::vector<Type> (*)(Inference&);
using GradRule = std::vector<Value> (*)(const Grad&);
/// Builds the same results out of primitives.
using Expand = std::vector<Value> (*)(const Node&, std::span<const Value> operands);

inline constexpr int kVariadic = -1;

struct OpDef {
  Op op{};
  int code = -1;  // the op's number in module files: unique, never changed, never reused
  std::string_view name = {};                     // "tanh": unique, lower case, as printed
  std::array<std::string_view, 4> operands = {};  // names; unused ones empty
  int arity = 0;                             // kVariadic: one or more, see `doc`
  std::size_t attrs = attrs_kind<NoAttrs>();
  Lowering lowering = Lowering::Elementwise;
  DTypeSet dtypes = kAnyDType;  // of the first operand (of the result for leaves)
  std::string_view doc = {};    // one or two sentences with the formula
  Infer infer = nullptr;
  Scalar scalar = {};
  GradRule grad = nullptr;         // null: see `differentiable` and `expand`
  std::string_view gradient = "";  // the rule as a formula: "dx = dy (1 - y^2)"; "none: <why>"
  Expand expand = nullptr;         // composites
  bool commutative = false;
  Combiner combiner = Combiner::None;
  bool alias = false;      // one operand, whose elements are the result's in the same order
  bool expensive = false;  // a scalar that costs many times a load
  bool reads_state = false;  // never merged, hoisted or dropped across bodies: random, host calls

  /// False when the result is constant almost everywhere or an index: gradients stop silently
  /// there (as for comparisons); true with neither grad nor expand: asking is an error by name.
  bool differentiable = true;
};

/// Elementwise ops run by their scalar meaning, all but Cast, which is a conversion.
constexpr bool has_scalar_meaning(const OpDef& d) {
  return d.lowering == Lowering::Elementwise && d.op != Op::Cast;
}

/// The definition of an op (as a constant: core/ops/table.h).
const OpDef& def(Op op);
inline const OpDef& def(const Node& node) { return def(node.op); }
/// All definitions, in the order of the enumerators.
std::span<const OpDef> all_ops();
/// The op of that printed name; null when there is none.
const OpDef* find_op(std::string_view name);
/// The op with that OpDef::code, or null.
const OpDef* find_op(std::uint64_t code);

}  // namespace kiln::ir
