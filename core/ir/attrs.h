// Attributes of ops: a variant of small structs. Each struct lists its fields once; equality,
// hash, printing, parsing and the binary form are derived from that list. There are no floating
// point attributes: numbers live in constants, which compare by bits.
#pragma once

#include "core/ir/type.h"

#include <memory>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

namespace kiln::ir {

using Ints = std::vector<std::int64_t>;
using Types = std::vector<Type>;

/// The bytes of a constant: dense, row-major, never changed. Up to kSmallConstant bytes they
/// compare by content, above by buffer identity (and cross the plugin boundary beside the module).
struct ConstantData {
  std::shared_ptr<const std::vector<std::byte>> bytes;
  bool operator==(const ConstantData& other) const;
};
inline constexpr std::size_t kSmallConstant = 4096;

struct Lambda;
/// The body of a Scan or a branch of a Cond: see lambda.h. Compares by its members (lambda.cpp).
struct LambdaRef {
  std::shared_ptr<const Lambda> lambda;
  bool operator==(const LambdaRef& other) const;
  const Lambda* operator->() const { return lambda.get(); }
  const Lambda& operator*() const { return *lambda; }
};

/// State behind a Variable node; the runtime derives from it. Lives while a node refers to it.
struct VariableState {
  virtual ~VariableState();
};
struct VariableStateRef {
  std::shared_ptr<VariableState> state;
  /// Identity is the variable's id attribute alone.
  bool operator==(const VariableStateRef&) const { return true; }
};

/// A named member, so that generic code can walk the fields of any attribute struct.
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

/// Variable: reads the variable's value as it was before the call.
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

/// Parameter of a lambda. While a body is being built `scope` is the number of its builder;
/// in a closed lambda it is 0 and `index` alone tells the parameter.
struct ParameterAttrs {
  std::int64_t index = 0;
  std::int64_t scope = 0;
  Type type;
  static constexpr auto fields() {
    return std::tuple{field("index", &ParameterAttrs::index),
                      field("scope", &ParameterAttrs::scope),
                      field("type", &ParameterAttrs::type)};
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

/// RandomUniform: (seed, stream, position operand, call counter, element) fixes each value.
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

/// Cast.
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

/// Slice: start[i], start[i] + step[i], ... below limit[i]; 0 <= start <= limit <= dim, step >= 1.
struct SliceAttrs {
  Dims start, limit;
  Ints step;
  static constexpr auto fields() {
    return std::tuple{field("start", &SliceAttrs::start), field("limit", &SliceAttrs::limit),
                      field("step", &SliceAttrs::step)};
  }
  bool operator==(const SliceAttrs&) const = default;
};

/// Pad: low before, high after, interior between neighbours of each axis; none negative.
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

/// Dot: one label per axis, as in Einstein notation: result[r] = sum over the labels that are not
/// in the result of lhs[l] * rhs[r]. Every label is in two or three of the lists, at most once in
/// each. Labels are numbered by first appearance in lhs, then rhs. A gradient with respect to an
/// operand is the same op with the lists exchanged, so one rule serves every order, and transposed
/// operands and results cost no op.
struct DotAttrs {
  Ints lhs, rhs, result;
  static constexpr auto fields() {
    return std::tuple{field("lhs", &DotAttrs::lhs), field("rhs", &DotAttrs::rhs),
                      field("result", &DotAttrs::result)};
  }
  bool operator==(const DotAttrs&) const = default;
};

/// Scan: operands are consts, initial carry, xs (leading axis = length). The body's parameters are
/// the step number t (int64 scalar), consts, carry, slices xs[t]; its results the next carry, then
/// one slice per ys. t runs 0 .. length-1, or length-1 .. 0 when `reverse`; ys[t] is written where
/// xs[t] was read. Results are the last carry, then ys.
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

/// Cond: operands are the predicate (bool scalar), then what both branches take as parameters.
struct CondAttrs {
  LambdaRef then_branch, else_branch;
  static constexpr auto fields() {
    return std::tuple{field("then", &CondAttrs::then_branch),
                      field("else", &CondAttrs::else_branch)};
  }
  bool operator==(const CondAttrs&) const = default;
};

/// HostCall: `function` names an entry of the host's table, `payload` is its own argument text.
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

/// Window: the axes in `axes` (ascending) are read in windows. Result axis axes[i] has counts[i]
/// places, strides[i] apart; the last axes of the result are the windows, sizes[i] elements that
/// are dilations[i] apart.
struct WindowAttrs {
  Ints axes;
  Dims counts, sizes;
  Ints strides, dilations;
  static constexpr auto fields() {
    return std::tuple{field("axes", &WindowAttrs::axes), field("counts", &WindowAttrs::counts),
                      field("sizes", &WindowAttrs::sizes),
                      field("strides", &WindowAttrs::strides),
                      field("dilations", &WindowAttrs::dilations)};
  }
  bool operator==(const WindowAttrs&) const = default;
};

/// Fold: what a Window made is added up where it was read. `sizes` are the result's on `axes`.
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

/// Which of the three tensors of a convolution is the result; the other two are the operands, in
/// this order.
enum class ConvRole : std::int64_t { Input, Kernel, Output };

/// Conv: input (batch, spatial.., channels), kernel (spatial.., channels / groups, filters), output
/// (batch, spatial.., filters). low and high are zeros before and behind each spatial axis of the
/// input, sizes the spatial dims of the result, which strides do not tell. A gradient is the same
/// op with another role, so one rule serves every order.
struct ConvAttrs {
  std::int64_t role = static_cast<std::int64_t>(ConvRole::Output);
  Ints strides, dilations;
  Dims low, high, sizes;
  Dim groups = 1;
  static constexpr auto fields() {
    return std::tuple{field("role", &ConvAttrs::role), field("strides", &ConvAttrs::strides),
                      field("dilations", &ConvAttrs::dilations), field("low", &ConvAttrs::low),
                      field("high", &ConvAttrs::high), field("sizes", &ConvAttrs::sizes),
                      field("groups", &ConvAttrs::groups)};
  }
  bool operator==(const ConvAttrs&) const = default;
};

/// Require: left == right (kind 0) or left <= right (kind 1), as Guard::Kind. The first {left} and
/// the first {right} in `message` stand for the sizes.
struct RequireAttrs {
  std::int64_t kind = 0;
  Dim left, right;
  std::string message;
  static constexpr auto fields() {
    return std::tuple{field("kind", &RequireAttrs::kind), field("left", &RequireAttrs::left),
                      field("right", &RequireAttrs::right),
                      field("message", &RequireAttrs::message)};
  }
  bool operator==(const RequireAttrs&) const = default;
};

/// The order is part of the module format: append only.
using Attrs =
    std::variant<NoAttrs, ConstantAttrs, PlaceholderAttrs, VariableAttrs, ParameterAttrs, IotaAttrs,
                 RandomAttrs, DimAttrs, CastAttrs, AxesAttrs, AxisAttrs, DimsAttrs, BroadcastAttrs,
                 SliceAttrs, PadAttrs, ScatterAttrs, DotAttrs, ScanAttrs, CondAttrs, HostCallAttrs,
                 WindowAttrs, FoldAttrs, ConvAttrs, RequireAttrs>;

/// Position of a struct in the variant.
template <class Struct, std::size_t I = 0>
constexpr std::size_t attrs_kind() {
  if constexpr (std::is_same_v<std::variant_alternative_t<I, Attrs>, Struct>) {
    return I;
  } else {
    return attrs_kind<Struct, I + 1>();
  }
}

/// Calls visit(name, member) for each field of the struct that `attrs` holds (const or not).
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
