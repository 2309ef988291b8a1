// Attributes of ops: a variant of small structs. Each struct lists its fields once; equality,
// hash, printing, parsing and the binary form are derived from that list. There are no
// floating-point attributes: numbers are Constants, which compare by bits.
#pragma once

#include "core/ir/guard.h"
#include "core/ir/type.h"

#include <memory>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

namespace kiln::ir {

using Ints = std::vector<std::int64_t>;
using Types = std::vector<Type>;

/// The bytes of a constant: dense, row-major, immutable. Up to kSmallConstant bytes they compare by
/// content, above that by buffer identity; large ones cross the plugin boundary beside the module.
struct ConstantData {
  std::shared_ptr<const std::vector<std::byte>> bytes;
  bool operator==(const ConstantData& other) const;
};
inline constexpr std::size_t kSmallConstant = 4096;

struct Lambda;
/// The body of a Scan or a branch of a Cond; see lambda.h. Compares the lambdas, not the pointers.
struct LambdaRef {
  std::shared_ptr<const Lambda> lambda;
  bool operator==(const LambdaRef& other) const;
  const Lambda* operator->() const { return lambda.get(); }
  const Lambda& operator*() const { return *lambda; }
};

/// The storage behind a Variable node, which the runtime derives from. Lives while a node refers to
/// it.
struct VariableState {
  virtual ~VariableState();
};
struct VariableStateRef {
  std::shared_ptr<VariableState> state;
  /// Always equal: two Variable nodes are told apart by their id attribute alone.
  bool operator==(const VariableStateRef&) const { return true; }
};

/// A named member. Generic code visits the fields of any attribute struct through these.
template <class Owner, class Member>
struct Field {
  const char* name;
  Member Owner::* member;
};
template <class Owner, class Member>
constexpr Field<Owner, Member> field(const char* name, Member Owner::* member) {
  return {name, member};
}

struct NoAttrs {
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const NoAttrs&) const = default;
};

/// Constant.
struct ConstantAttrs {
  Type type;  // static dims
  ConstantData data;
  static constexpr auto fields() {
    return std::tuple{field("type", &ConstantAttrs::type), field("data", &ConstantAttrs::data)};
  }
  bool operator==(const ConstantAttrs&) const = default;
};

/// Placeholder: an argument of the compiled function.
struct PlaceholderAttrs {
  std::int64_t id = 0;
  std::string name;
  Type type;
  static constexpr auto fields() {
    return std::tuple{field("id", &PlaceholderAttrs::id), field("name", &PlaceholderAttrs::name),
                      field("type", &PlaceholderAttrs::type)};
  }
  bool operator==(const PlaceholderAttrs&) const = default;
};

/// Variable: the variable's value as of the start of the call.
struct VariableAttrs {
  std::int64_t id = 0;
  std::string name;
  Type type;  // static dims
  VariableStateRef state;
  static constexpr auto fields() {
    return std::tuple{field("id", &VariableAttrs::id), field("name", &VariableAttrs::name),
                      field("type", &VariableAttrs::type)};
  }
  bool operator==(const VariableAttrs& other) const { return id == other.id; }
};

/// Parameter of a lambda. While a body is built, `scope` is the number of its LambdaBuilder; in a
/// closed lambda it is 0 and `index` alone identifies the parameter.
struct ParameterAttrs {
  std::int64_t index = 0;
  std::int64_t scope = 0;
  Type type;
  static constexpr auto fields() {
    return std::tuple{field("index", &ParameterAttrs::index),
                      field("scope", &ParameterAttrs::scope), field("type", &ParameterAttrs::type)};
  }
  bool operator==(const ParameterAttrs&) const = default;
};

/// Iota: the index along `axis`.
struct IotaAttrs {
  Type type;
  std::int64_t axis = 0;
  static constexpr auto fields() {
    return std::tuple{field("type", &IotaAttrs::type), field("axis", &IotaAttrs::axis)};
  }
  bool operator==(const IotaAttrs&) const = default;
};

/// RandomUniform: a counter-based generator; (seed, stream, position operand, call counter,
/// element) determine each value.
struct RandomAttrs {
  Type type;
  std::int64_t seed = 0;
  std::int64_t stream = 0;
  static constexpr auto fields() {
    return std::tuple{field("type", &RandomAttrs::type), field("seed", &RandomAttrs::seed),
                      field("stream", &RandomAttrs::stream)};
  }
  bool operator==(const RandomAttrs&) const = default;
};

/// DimSize.
struct DimAttrs {
  Dim dim;
  static constexpr auto fields() { return std::tuple{field("dim", &DimAttrs::dim)}; }
  bool operator==(const DimAttrs&) const = default;
};

/// Cast, Bitcast.
struct CastAttrs {
  DType dtype = DType::Float32;
  static constexpr auto fields() { return std::tuple{field("dtype", &CastAttrs::dtype)}; }
  bool operator==(const CastAttrs&) const = default;
};

/// Reductions (axes dropped, ascending), Reverse (ascending), Permute (result axis i is operand
/// axis axes[i]).
struct AxesAttrs {
  Ints axes;
  static constexpr auto fields() { return std::tuple{field("axes", &AxesAttrs::axes)}; }
  bool operator==(const AxesAttrs&) const = default;
};

/// ArgMax, CumSum, CumProd, Concat, Gather, softmaxes. Never negative.
struct AxisAttrs {
  std::int64_t axis = 0;
  static constexpr auto fields() { return std::tuple{field("axis", &AxisAttrs::axis)}; }
  bool operator==(const AxisAttrs&) const = default;
};

/// Reshape.
struct DimsAttrs {
  Dims dims;
  static constexpr auto fields() { return std::tuple{field("dims", &DimsAttrs::dims)}; }
  bool operator==(const DimsAttrs&) const = default;
};

/// Broadcast: operand axis i becomes result axis axes[i] (ascending); its dim is 1 or the result's.
struct BroadcastAttrs {
  Dims dims;
  Ints axes;
  static constexpr auto fields() {
    return std::tuple{field("dims", &BroadcastAttrs::dims), field("axes", &BroadcastAttrs::axes)};
  }
  bool operator==(const BroadcastAttrs&) const = default;
};

/// Slice: indices start[i], start[i] + step[i], .. below limit[i] of axis i. 0 <= start <= limit <=
/// dim, step >= 1.
struct SliceAttrs {
  Dims start, limit;
  Ints step;
  static constexpr auto fields() {
    return std::tuple{field("start", &SliceAttrs::start), field("limit", &SliceAttrs::limit),
                      field("step", &SliceAttrs::step)};
  }
  bool operator==(const SliceAttrs&) const = default;
};

/// Pad: low[i] elements before, high[i] after and interior[i] between neighbours of axis i; none is
/// negative.
struct PadAttrs {
  Dims low, high;
  Ints interior;
  static constexpr auto fields() {
    return std::tuple{field("low", &PadAttrs::low), field("high", &PadAttrs::high),
                      field("interior", &PadAttrs::interior)};
  }
  bool operator==(const PadAttrs&) const = default;
};

/// ScatterAdd: `size` is the result's dim on `axis`.
struct ScatterAttrs {
  std::int64_t axis = 0;
  Dim size;
  static constexpr auto fields() {
    return std::tuple{field("axis", &ScatterAttrs::axis), field("size", &ScatterAttrs::size)};
  }
  bool operator==(const ScatterAttrs&) const = default;
};

/// Dot: a tensor contraction in Einstein notation (einsum), one label per axis. The product of lhs
/// and rhs is summed over the labels that are not in `result`. Every label is in two or three of
/// the lists, at most once in each, and labels are numbered by first appearance in lhs, then rhs.
/// The gradient with respect to an operand is a Dot with the lists exchanged; transposed operands
/// and results need no Permute.
///
///   matmul [m,k] x [k,n]:   lhs=[0,1] rhs=[1,2] result=[0,2]
///   the same, batched:      lhs=[0,1,2] rhs=[0,2,3] result=[0,1,3]
struct DotAttrs {
  Ints lhs, rhs, result;
  static constexpr auto fields() {
    return std::tuple{field("lhs", &DotAttrs::lhs), field("rhs", &DotAttrs::rhs),
                      field("result", &DotAttrs::result)};
  }
  bool operator==(const DotAttrs&) const = default;
};

/// Scan: a loop, as jax.lax.scan. Operands: `consts` loop invariants, `carry` initial carries, `xs`
/// inputs whose axis 0 has `length` entries. Parameters of the body: the step number t (int64
/// scalar), consts, carries, slices xs[t]. Results of the body: the next carries, then one slice
/// per output ys. Results of the Scan: the last carries, then the stacked ys. t runs 0 .. length-1,
/// or length-1 .. 0 if `reverse`; ys[t] is the output of step t either way.
///
/// While: the same without xs, ys and `reverse`. Carry 0 is a bool scalar; no step begins when it
/// is false. `length` is the most steps, INT64_MAX for no limit.
struct ScanAttrs {
  LambdaRef body;
  std::int64_t consts = 0, carry = 0, xs = 0;
  Dim length;
  bool reverse = false;
  static constexpr auto fields() {
    return std::tuple{field("body", &ScanAttrs::body),     field("consts", &ScanAttrs::consts),
                      field("carry", &ScanAttrs::carry),   field("xs", &ScanAttrs::xs),
                      field("length", &ScanAttrs::length), field("reverse", &ScanAttrs::reverse)};
  }
  bool operator==(const ScanAttrs&) const = default;
};

/// Cond: operands are the predicate (a bool scalar), then the arguments of the branch that is
/// taken.
struct CondAttrs {
  LambdaRef then_branch, else_branch;
  static constexpr auto fields() {
    return std::tuple{field("then", &CondAttrs::then_branch),
                      field("else", &CondAttrs::else_branch)};
  }
  bool operator==(const CondAttrs&) const = default;
};

/// HostCall: `function` is an entry of the table in runtime/host/host_functions.h, `payload` an
/// argument for it. Calls that differ in their ids alone are distinct nodes.
struct HostCallAttrs {
  std::string function;
  std::string payload;
  std::int64_t id = 0;
  Types results;
  static constexpr auto fields() {
    return std::tuple{field("function", &HostCallAttrs::function),
                      field("payload", &HostCallAttrs::payload), field("id", &HostCallAttrs::id),
                      field("results", &HostCallAttrs::results)};
  }
  bool operator==(const HostCallAttrs&) const = default;
};

/// Window: sliding windows along `axes` (ascending), as im2col. Axis axes[i] of the result counts
/// window positions: counts[i] of them, strides[i] apart. The last axes of the result are the
/// windows: sizes[i] elements, dilations[i] apart.
struct WindowAttrs {
  Ints axes;
  Dims counts, sizes;
  Ints strides, dilations;
  static constexpr auto fields() {
    return std::tuple{field("axes", &WindowAttrs::axes), field("counts", &WindowAttrs::counts),
                      field("sizes", &WindowAttrs::sizes), field("strides", &WindowAttrs::strides),
                      field("dilations", &WindowAttrs::dilations)};
  }
  bool operator==(const WindowAttrs&) const = default;
};

/// Fold: the transpose of Window, as col2im: adds each window to the positions it was read from.
/// `sizes` are the dims of the result along `axes`.
struct FoldAttrs {
  Ints axes;
  Dims sizes;
  Ints strides, dilations;
  static constexpr auto fields() {
    return std::tuple{field("axes", &FoldAttrs::axes), field("sizes", &FoldAttrs::sizes),
                      field("strides", &FoldAttrs::strides),
                      field("dilations", &FoldAttrs::dilations)};
  }
  bool operator==(const FoldAttrs&) const = default;
};

/// Which of the three tensors of a convolution is the result: Output for the forward convolution,
/// Input for backward data, Filter for backward weights. The other two are the operands, in this
/// order. The numbers are part of the module format.
enum class ConvRole : std::int64_t { Input, Filter, Output };

/// Conv: input (batch, spatial.., channels), filter (spatial.., channels / groups, filters), output
/// (batch, spatial.., filters); cross-correlation, the filter is not flipped. `low` and `high`
/// count zeros before and after each spatial axis of the input. `sizes` are the spatial dims of the
/// result: with strides, several input sizes have the same output size. Each gradient is a Conv
/// with another role.
struct ConvAttrs {
  ConvRole role = ConvRole::Output;
  Ints strides, dilations;
  Dims low, high, sizes;
  Dim groups = 1;
  static constexpr auto fields() {
    return std::tuple{
        field("role", &ConvAttrs::role),           field("strides", &ConvAttrs::strides),
        field("dilations", &ConvAttrs::dilations), field("low", &ConvAttrs::low),
        field("high", &ConvAttrs::high),           field("sizes", &ConvAttrs::sizes),
        field("groups", &ConvAttrs::groups)};
  }
  bool operator==(const ConvAttrs&) const = default;
};

/// Require: a guard as a node. The first {left} and the first {right} in `message` are replaced by
/// the dims.
struct RequireAttrs {
  Guard::Kind kind = Guard::Kind::Equal;
  Dim left, right;
  std::string message;
  static constexpr auto fields() {
    return std::tuple{field("kind", &RequireAttrs::kind), field("left", &RequireAttrs::left),
                      field("right", &RequireAttrs::right),
                      field("message", &RequireAttrs::message)};
  }
  bool operator==(const RequireAttrs&) const = default;
};

/// Work of the ranks of a group on their operands x: AllReduce combines them element by element;
/// AllGather concatenates them along `axis`, in rank order; ReduceScatter adds them, of which each
/// rank gets its part of `axis`; Broadcast gives all ranks that of `root`; Reduce adds them for
/// `root`, the others get zeros. The numbers are part of the module format, here and below.
enum class CollectiveKind : std::int64_t { AllReduce, AllGather, ReduceScatter, Broadcast, Reduce };
/// How AllReduce combines.
enum class CollectiveReduction : std::int64_t { Sum, Max, Min };

/// Collective: `group` numbers the groups of the process, 0 for that of all ranks, which has
/// `ranks` members. Fields that a kind does not name are 0. `id` ascends in the order in which a
/// program makes collectives of several ranks: they run in it, and none is merged with another, as
/// other ranks may have other constants. Collectives that differ in their ids alone are distinct.
struct CollectiveAttrs {
  CollectiveKind kind = CollectiveKind::AllReduce;
  CollectiveReduction reduction = CollectiveReduction::Sum;
  std::int64_t axis = 0;
  std::int64_t root = 0;
  std::int64_t group = 0;
  std::int64_t ranks = 1;
  std::int64_t id = 0;
  static constexpr auto fields() {
    return std::tuple{
        field("kind", &CollectiveAttrs::kind),   field("reduction", &CollectiveAttrs::reduction),
        field("axis", &CollectiveAttrs::axis),   field("root", &CollectiveAttrs::root),
        field("group", &CollectiveAttrs::group), field("ranks", &CollectiveAttrs::ranks),
        field("id", &CollectiveAttrs::id)};
  }
  bool operator==(const CollectiveAttrs&) const = default;
};

/// ArgSort.
struct SortAttrs {
  std::int64_t axis = 0;
  bool descending = false;
  static constexpr auto fields() {
    return std::tuple{field("axis", &SortAttrs::axis), field("descending", &SortAttrs::descending)};
  }
  bool operator==(const SortAttrs&) const = default;
};

/// Attention, AttentionGradient. `divides`: scores are divided by the scale instead of multiplied.
/// `causal`: query i attends to keys 0 .. i alone.
struct AttentionAttrs {
  bool divides = false;
  bool causal = false;
  static constexpr auto fields() {
    return std::tuple{field("divides", &AttentionAttrs::divides),
                      field("causal", &AttentionAttrs::causal)};
  }
  bool operator==(const AttentionAttrs&) const = default;
};

/// The order is part of the module format: append only.
using Attrs = std::variant<NoAttrs, ConstantAttrs, PlaceholderAttrs, VariableAttrs, ParameterAttrs,
                           IotaAttrs, RandomAttrs, DimAttrs, CastAttrs, AxesAttrs, AxisAttrs,
                           DimsAttrs, BroadcastAttrs, SliceAttrs, PadAttrs, ScatterAttrs, DotAttrs,
                           ScanAttrs, CondAttrs, HostCallAttrs, WindowAttrs, FoldAttrs, ConvAttrs,
                           RequireAttrs, CollectiveAttrs, SortAttrs, AttentionAttrs>;

/// The index of an attribute struct in the variant.
template <class Struct, std::size_t I = 0>
constexpr std::size_t attrs_kind() {
  if constexpr (std::is_same_v<std::variant_alternative_t<I, Attrs>, Struct>) {
    return I;
  } else {
    return attrs_kind<Struct, I + 1>();
  }
}

/// Calls visit(name, member) for each field of the struct in `attrs`; members are const if it is.
template <class AnyAttrs, class Visit>
void for_each_field(AnyAttrs& attrs, Visit&& visit) {
  std::visit(
      [&](auto& held) {
        using Held = std::remove_const_t<std::remove_reference_t<decltype(held)>>;
        std::apply([&](const auto&... f) { (visit(f.name, held.*(f.member)), ...); },
                   Held::fields());
      },
      attrs);
}

}  // namespace kiln::ir
