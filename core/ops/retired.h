// Ops that older module files hold: readers put nodes of today in their place. Included by table.h.
#pragma once

#include "core/ops/build.h"

namespace kiln::ir {

struct RetiredOp {
  int code = -1;  // as OpDef::code
  std::string_view name = {};
  int arity = 0;
  std::size_t attrs = attrs_kind<NoAttrs>();
  /// A node with the results that the old one had.
  NodeRef (*replacement)(const Attrs& attrs, std::span<const Value> operands) = nullptr;
};

/// Throws ValueError when the sizes are not one for each axis.
NodeRef replacement_of_fits(const Attrs& attrs, std::span<const Value> operands);

inline constexpr RetiredOp kRetiredOps[] = {
    {.code = 64, .name = "fits", .arity = 1, .attrs = attrs_kind<DimsAttrs>(),
     .replacement = replacement_of_fits},
};

/// By code or name; null when there is none.
const RetiredOp* find_retired_op(std::uint64_t code);
const RetiredOp* find_retired_op(std::string_view name);

}  // namespace kiln::ir
