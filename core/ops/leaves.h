// Defines the leaves: constants, arguments, indices, random draws. Included by table.h only.
#pragma once

#include "core/ops/infer_rules.h"
#include "core/types/text.h"

namespace kiln::ir {

/// Requires that all dims are static and not negative.
inline void require_static(Inference& in, const Type& type) {
  for (const Dim& dim : type.dims) {
    if (!dim.is_static()) in.value_error(text("size ", dim, " is not static"));
    if (dim.value() < 0) in.value_error(text("size ", dim, " is negative"));
  }
}

/// Requires that no dim of a type given as an attribute is negative.
inline void require_sizes(Inference& in, const Type& type) {
  for (const Dim& dim : type.dims) {
    in.require_less_equal(0, dim, "size ", dim, " is negative");
  }
}

inline void require_dtype(Inference& in, DTypeSet set, DType dtype) {
  if ((set & dtype_bit(dtype)) == 0) in.type_error(text(dtype, " is not supported"));
}

inline constexpr OpDef kLeaves[] = {
    {.op = Op::Constant,
     .code = 0,
     .name = "constant",
     .attrs = attrs_kind<ConstantAttrs>(),
     .lowering = Lowering::Leaf,
     .doc = "The value in `data`.",
     .infer = [](Inference& in) -> std::vector<Type> {
       const auto& attrs = in.as<ConstantAttrs>();
       require_static(in, attrs.type);
       const Dim bytes = product(attrs.type.dims) * static_cast<int>(dtype_bytes(attrs.type.dtype));
       const std::size_t given = attrs.data.bytes ? attrs.data.bytes->size() : 0;
       if (!attrs.data.bytes || bytes != Dim(static_cast<std::int64_t>(given))) {
         in.value_error(text("a constant ", attrs.type, " has ", given, " bytes"));
       }
       return {attrs.type};
     },
     .gradient = "none: a constant",
     .differentiable = false},
    {.op = Op::Placeholder,
     .code = 1,
     .name = "placeholder",
     .attrs = attrs_kind<PlaceholderAttrs>(),
     .lowering = Lowering::Argument,
     .doc = "An argument of the compiled function.",
     .infer = [](Inference& in) -> std::vector<Type> {
       require_sizes(in, in.as<PlaceholderAttrs>().type);
       return {in.as<PlaceholderAttrs>().type};
     },
     .gradient = "none: an argument",
     .differentiable = false},
    {.op = Op::Variable,
     .code = 2,
     .name = "variable",
     .attrs = attrs_kind<VariableAttrs>(),
     .lowering = Lowering::Argument,
     .doc = "The variable's value before the call.",
     .infer = [](Inference& in) -> std::vector<Type> {
       require_static(in, in.as<VariableAttrs>().type);
       return {in.as<VariableAttrs>().type};
     },
     .gradient = "none: state",
     .differentiable = false},
    {.op = Op::Parameter,
     .code = 3,
     .name = "parameter",
     .attrs = attrs_kind<ParameterAttrs>(),
     .lowering = Lowering::Argument,
     .doc = "Parameter `index` of the enclosing lambda.",
     .infer = [](Inference& in) -> std::vector<Type> {
       require_sizes(in, in.as<ParameterAttrs>().type);
       return {in.as<ParameterAttrs>().type};
     },
     .gradient = "none: an argument",
     .differentiable = false},
    {.op = Op::Iota,
     .code = 4,
     .name = "iota",
     .attrs = attrs_kind<IotaAttrs>(),
     .lowering = Lowering::Leaf,
     .dtypes = kNumbers,
     .doc = "y[..i..] = i along `axis`, wrapped or rounded to the dtype.",
     .infer = [](Inference& in) -> std::vector<Type> {
       const auto& attrs = in.as<IotaAttrs>();
       require_dtype(in, kNumbers, attrs.type.dtype);
       require_axis(in, attrs.axis, attrs.type.rank());
       require_sizes(in, attrs.type);
       return {attrs.type};
     },
     .gradient = "none: an index",
     .differentiable = false},
    {.op = Op::RandomUniform,
     .code = 5,
     .name = "random_uniform",
     .operands = {"position"},
     .arity = 1,
     .attrs = attrs_kind<RandomAttrs>(),
     .lowering = Lowering::Leaf,
     .dtypes = kFloats,
     .doc = "U[0, 1) by Philox 4x32-10 (Salmon et al. 2011). `position` is an int64 scalar. "
            "Element e: key = (low, high word of seed xor the call's seed); counter = (low word of "
            "e, high word of e xor low word of the call counter, low word of position, high word "
            "of position xor low word of stream >> 1). The 32-bit results r0, r1 are the first two "
            "for an even stream, the last two for an odd one, so that two streams share a block: "
            "float64 is ((r0 2^32 + r1) >> 11) 2^-53, float32 (r0 >> 8) 2^-24, float16 (r0 >> 21) "
            "2^-11, bfloat16 (r0 >> 24) 2^-8.",
     .infer = [](Inference& in) -> std::vector<Type> {
       require_dtype(in, kFloats, in.as<RandomAttrs>().type.dtype);
       require_sizes(in, in.as<RandomAttrs>().type);
       if (!(in.type(0) == Type{DType::Int64, {}})) {
         in.type_error("position is not an int64 scalar");
       }
       return {in.as<RandomAttrs>().type};
     },
     .gradient = "none: drawn",
     .reads_state = true,
     .differentiable = false},
    {.op = Op::DimSize,
     .code = 6,
     .name = "dim_size",
     .attrs = attrs_kind<DimAttrs>(),
     .lowering = Lowering::Leaf,
     .doc = "The value of `dim` as an int64 scalar.",
     .infer = [](Inference&) -> std::vector<Type> { return {{DType::Int64, {}}}; },
     .gradient = "none: a size",
     .differentiable = false},
};

}  // namespace kiln::ir
