// Retired ops: those that older module files may contain. Readers replace them. Included by
// table.h.
#pragma once

#include "core/ops/build.h"

namespace kiln::ir {

struct RetiredOp {
  int code = -1;  // as OpDef::code
  std::string_view name = {};
  int arity = 0;
  std::size_t attrs = attrs_kind<NoAttrs>();
  /// Builds a node with the same results.
  NodeRef (*replacement)(const Attrs& attrs, std::span<const Value> operands) = nullptr;
};

/// Throws ValueError unless there is one size per axis.
NodeRef replacement_of_fits(const Attrs& attrs, std::span<const Value> operands);

inline constexpr RetiredOp kRetiredOps[] = {
    {.code = 64,
     .name = "fits",
     .arity = 1,
     .attrs = attrs_kind<DimsAttrs>(),
     .replacement = replacement_of_fits},
};

/// The retired op with that code or name, or null.
const RetiredOp* find_retired_op(std::uint64_t code);
const RetiredOp* find_retired_op(std::string_view name);

}  // namespace kiln::ir
