// The ops and their semantics. One constexpr OpDef per op holds its documentation, operands,
// attributes, type rule, scalar meaning, gradient and lowering class. table.h lists the definitions
// once; every other list of ops is derived from their fields.

// Semantics shared by all backends
// --------------------------------
// Values. A tensor is dense and row-major at the boundary. A dim may be 0. A scalar has no dims.
// Elementwise ops take operands of equal dtype and equal dims: broadcasting and conversion are the
// explicit ops Broadcast and Cast.
// Floats. float32 and float64 are computed at least in their own precision, rounded to nearest
// even; of dividends below 2^-100 (float64: 2^-800) the last bit of a quotient may be another.
// float16 and bfloat16 are storage types: each op, a composite too, computes in float32 or wider
// and rounds its result once.
// Attention and its gradient may be computed in blocks of keys: exponentials are taken of scores
// minus the maximum of the blocks so far and corrected by a factor; the division by their sum comes
// last; and sum(p dp) is sum(do o). So a sum of values times exponentials may overflow where none
// of its terms times a probability does.
// Passes and backends may drop a rounding of a half: sums over steps, terms or parts, and chains of
// arithmetic, stay in float32 or wider. They drop none that a comparison, an op with
// OpDef::rounds_first or a cast reads, but for casts of terms that are added. They add none: they
// round to a half only what the graph as written rounds, so that nothing overflows on the way, but
// for attention, in which a library may round probabilities and cotangents of scores to the half.
// Gradients are graphs of nodes that round as all others; they add more than two cotangents of one
// half, and those of a loop's consts, in float32.
// Sums. Sum, Prod and Dot may add in any order that depends on sizes and target alone, and add long
// sums in parts. CumSum, CumProd, ScatterAdd, Fold and the carries of a loop add one element after
// the other, in their dtype (halves in float32); so does Conv's filter gradient, in a library's
// order. A float32 sum of ones stops there at 2^24. Counts of elements are exact. `reference` adds
// in float64.
// Convolutions. The taps in the padding, explicit zeros around x too, are left out or count as 0
// times the filter, which for an infinite or NaN element of the filter is NaN. A scale of unchanged
// variables behind a convolution may be multiplied into the filter first, so that sums overflow, or
// become NaN, at other scales; a scale that is infinite may give NaN for an infinity.
// Subnormals. An operand or result that is subnormal as a float32 (as a float64 for that dtype)
// counts as zero of its sign. So does every subnormal bfloat16, whose exponents are float32's; a
// subnormal float16 is a normal float32 and keeps its value. Ops that only copy elements (movement,
// Select, Neg, Abs, Sign, Maximum, Minimum, a cast to the same exponent range) may keep the bits.
// NaN. Arithmetic with a NaN gives a NaN (no promise about its bits). Maximum, Minimum, Max and
// Min give NaN when any operand is NaN; ArgMax and ArgSort count NaN as the largest; in ArgMax the
// first wins.
// Comparisons with NaN are false (so not_equal, a Not of Equal, is true). -0 equals +0; Maximum
// of (-0, +0) in any order is +0, Minimum is -0. Sign(-0) is -0, Sign(NaN) is NaN.
// Integers. Two's complement, wrapping. Div truncates toward zero, x / 0 is 0, MIN / -1 is MIN;
// Mod has the sign of the dividend (fmod for floats), x mod 0 is 0. Abs(MIN) is MIN. Pow with a
// negative integer exponent is 0, except for bases 1 and -1; Pow wraps; x^0 is 1.
// Control. The nodes and guards of a lambda are evaluated only when it is entered: a branch when
// taken, a body at each step. No rewrite hoists a node that may fail, draws random numbers or calls
// the host out of a lambda that may not be entered (core/ops/pinned.h).
// Bool. A byte 0 or 1; false < true. Logic, comparisons, Select, Max (any) and Min (all) take it.
// Casts. Float to integer truncates toward zero, saturates at the ends, NaN gives 0. Integer to
// integer wraps. To bool is x != 0 (NaN is true). Bool to number is 0 or 1. To a narrower float
// rounds to nearest even; overflow gives infinity.
// Bitcasts. All bits stay, with those of subnormals and of a NaN's payload, if the operand is an
// argument or a constant and the result is one of the program. Ops that copy elements in between
// may replace subnormals and NaNs as above.
// Empty reductions. Sum is 0, Prod 1, Max the lowest value (-inf, MIN, false), Min the highest;
// ArgMax over an axis of size 0 is an error when the graph is built or called.
// Ties. Max and Min divide the gradient equally; Maximum and Minimum give it to the first operand.
// Indices. One out of range is an error of the call on every backend, and no variable changes.
// Where the selected entries have no elements, indices are not read and cause no error.
#pragma once

#include "core/ir/graph.h"
#include "core/ir/node.h"
#include "core/types/text.h"

#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace kiln::ir {

// clang-format off: kinds of ops in lines
/// In any order: module files number ops by OpDef::code.
enum class Op : std::uint16_t {
  // leaves
  Constant, Placeholder, Variable, Parameter, Iota, RandomUniform, DimSize,
  // elementwise, one operand
  Cast, Bitcast, Neg, Abs, Sign, Floor, Round, Exp, Expm1, Log, Log1p, Sqrt, Sin, Cos, Tanh,
  Sigmoid, Erf, Atan, Not,
  // elementwise, two and three operands
  Add, Sub, Mul, Div, Mod, Pow, Maximum, Minimum, Equal, Less, LessEqual, And, Or, BitAnd, BitOr,
  BitXor, Select,
  // reductions and running reductions
  Sum, Prod, Max, Min, ArgMax, CumSum, CumProd,
  // movement
  Reshape, Permute, Broadcast, Slice, Pad, Reverse, Concat,
  // indexed
  Gather, ScatterAdd, ScatterSub,
  // contraction
  Dot,
  // control
  Scan, While, Cond,
  // structural
  Identity, StopGradient, HostCall, Require,
  // composites
  Softmax, LogSoftmax, Attention, AttentionGradient,
  // windows
  Window, Fold, Conv,
  // composites over whole axes
  Variance, ArgSort,
  // composites with a gradient of their own
  ScaleGradient,
  // groups of processes
  Collective,
};
// clang-format on

/// The lowering class: how a backend runs an op. Passes dispatch on the class, not on ops.
enum class Lowering : std::uint8_t {
  Argument,  // an argument, a variable, a lambda's parameter
  Leaf,  // a constant, an index, a random draw
  Elementwise,  // a scalar expression per element
  Reduce,  // a reduction, which drops axes
  Running,  // a prefix scan along an axis
  Movement,  // an index map without arithmetic
  Indexed,  // gather or scatter
  Contraction,  // a matmul: a library call or a loop nest
  Control,  // holds lambdas
  Structural,  // a copy or a side effect
  Composite,  // may be replaced by its expansion
};

/// How an op combines many elements into one.
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

/// The context of a type rule: operands, attributes, and checks. A condition on symbolic dims that
/// cannot be decided becomes a guard.
class Inference {
 public:
  Inference(Op op, const Attrs& attrs, std::span<const Value> operands, std::vector<Guard>* guards)
      : op_(op), attrs_(attrs), operands_(operands), guards_(guards) {}

  std::size_t count() const { return operands_.size(); }
  const Type& type(std::size_t i) const { return operands_[i].type(); }
  template <class Struct>
  const Struct& as() const {
    return std::get<Struct>(attrs_);
  }
  /// Requires left == right (left <= right): throws ValueError if it never holds, adds a guard if
  /// that is unknown. The message is concatenated from its parts only if it is needed.
  template <class... Parts>
  void require_equal(const Dim& left, const Dim& right, const Parts&... message) {
    const Ternary holds = equal(left, right);
    if (holds == Ternary::Yes) return;
    reject_or_guard(Guard::Kind::Equal, holds, left, right, text(message...));
  }
  template <class... Parts>
  void require_less_equal(const Dim& left, const Dim& right, const Parts&... message) {
    const Ternary holds = less_equal(left, right);
    if (holds == Ternary::Yes) return;
    reject_or_guard(Guard::Kind::LessEqual, holds, left, right, text(message...));
  }
  /// Throws ValueError or TypeError: "<K function>: <message> (<operand> <type>, ..)".
  [[noreturn]] void value_error(const std::string& message) const;
  [[noreturn]] void type_error(const std::string& message) const;
  /// " (x float32[2,3], y float32[4])": the types of the operands, with the names of the op's
  /// definition if the K function has the name of the op. Empty without operands.
  std::string operand_list() const;

 private:
  void reject_or_guard(Guard::Kind kind, Ternary holds, const Dim& left, const Dim& right,
                       const std::string& message);
  Op op_;
  const Attrs& attrs_;
  std::span<const Value> operands_;
  std::vector<Guard>* guards_;
};

/// The context of a gradient rule, which returns the cotangent of each operand, empty for none. It
/// builds ordinary nodes (core/ops/build.h), so that gradients of any order work.
struct Grad {
  const Node& node;
  std::span<const Value> x;  // operands
  std::span<const Value> y;  // results of the node
  std::span<const Value> dy;  // cotangent of each result; empty where none reaches it
  /// Whether the cotangent of operand i is needed; a rule may return empty ones for the others.
  std::span<const bool> wanted;
};

/// The scalar meaning of an elementwise op, over blocks of n elements in the widest type of each
/// kind; null if the op does not take that kind. Comparisons give 0 or 1. Rounding to the dtype,
/// flushing of subnormals and wrapping to the width happen when the block is stored (convert.h).
struct Scalar {
  void (*floating)(const double* const* x, double* y, std::int64_t n) = nullptr;
  void (*signed_integer)(const std::int64_t* const* x, std::int64_t* y, std::int64_t n) = nullptr;
  void (*unsigned_integer)(const std::uint64_t* const* x, std::uint64_t* y,
                           std::int64_t n) = nullptr;
};

using Infer = std::vector<Type> (*)(Inference&);
using GradRule = std::vector<Value> (*)(const Grad&);
/// The axis of an operand whose entry r alone affects entry r along `axis` of the one result, for
/// each r; kNoAxis if there is none.
using AxisRule = int (*)(const Node& node, std::size_t operand, int axis);
/// Builds the results of a composite from other ops.
using Expand = std::vector<Value> (*)(const Node&, std::span<const Value> operands);

inline constexpr int kVariadic = -1;
inline constexpr int kNoAxis = -1;

struct OpDef {
  Op op{};
  int code = -1;  // the op's number in module files: unique, never changed, never reused
  std::string_view name = {};  // "tanh": unique, lower case, as printed
  std::array<std::string_view, 4> operands = {};  // names; unused ones empty
  int arity = 0;  // kVariadic: one or more, see `doc`
  std::size_t attrs = attrs_kind<NoAttrs>();
  Lowering lowering = Lowering::Elementwise;
  DTypeSet dtypes = kAnyDType;  // of the first operand (of the result for leaves)
  std::string_view doc = {};  // one or two sentences with the formula
  Infer infer = nullptr;
  Scalar scalar = {};
  GradRule grad = nullptr;  // null: see `differentiable` and `expand`
  std::string_view gradient = "";  // the rule as a formula: "dx = dy (1 - y^2)"; "none: <why>"
  Expand expand = nullptr;  // composites
  AxisRule operand_axis = nullptr;  // null: elementwise ops keep axes, others map none
  bool commutative = false;
  Combiner combiner = Combiner::None;
  bool alias = false;  // the result has the elements of its operand in the same order
  bool expensive = false;  // a scalar function that costs much more than a load
  bool exact = false;  // elementwise: halves give a value of their dtype, which is not rounded
  /// Elementwise: not continuous, or not defined for all numbers. No rounding of a half operand is
  /// dropped before it.
  bool rounds_first = false;
  bool reads_state = false;  // random draws, host calls: never moved into or out of a lambda

  /// False for results that are indices or constant almost everywhere: gradients stop there
  /// silently. If true and there is neither grad nor expand, asking for a gradient is an error.
  bool differentiable = true;
};

/// Whether the op runs by its scalar meaning: elementwise ops except Cast and Bitcast, which
/// convert to the dtype of their attributes.
constexpr bool has_scalar_meaning(const OpDef& d) {
  return d.lowering == Lowering::Elementwise && d.attrs == attrs_kind<NoAttrs>();
}

/// The definition of an op. core/ops/table.h has it as a constant expression.
const OpDef& def(Op op);
inline const OpDef& def(const Node& node) { return def(node.op); }
/// OpDef::operand_axis of the node. REQUIRES: it has one result.
int operand_axis(const Node& node, std::size_t operand, int axis);
/// All definitions, in the order of the enumerators.
std::span<const OpDef> all_ops();
/// The op with that name, or null.
const OpDef* find_op(std::string_view name);
/// The op with that OpDef::code, or null.
const OpDef* find_op(std::uint64_t code);

}  // namespace kiln::ir
