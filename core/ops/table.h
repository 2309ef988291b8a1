// The one list of ops, as a constant: a backend that keeps a row per op checks while it compiles
// that none is missing. Everybody else asks def() of op.h.
#pragma once

#include "core/ops/elementwise.h"
#include "core/ops/leaves.h"
#include "core/ops/movement.h"
#include "core/ops/reduce.h"
#include "core/ops/statistics.h"
#include "core/ops/structure.h"
#include "core/ops/window.h"

#include <algorithm>
#include <array>

namespace kiln::ir {
namespace detail {

template <std::size_t... Sizes>
constexpr auto join(const OpDef (&... groups)[Sizes]) {
  std::array<OpDef, (Sizes + ...)> table{};
  std::size_t next = 0;
  const auto append = [&](const auto& group) {
    for (const OpDef& d : group) table[next++] = d;
  };
  (append(groups), ...);
  return table;
}

}  // namespace detail

inline constexpr auto kTable =
    detail::join(kLeaves, kUnary, kBinary, kReduce, kMovement, kStructure, kWindows,
                 kStatistics);

namespace detail {

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].op) != i) return false;
  }
  return true;
}

// Texts alone: g++ 12 with -fsanitize=undefined has no constant for whether a function pointer is
// null, so tests/ops_unit/table_test.cpp looks at the rules.
constexpr bool is_documented() {
  for (const OpDef& d : kTable) {
    if (d.name.empty() || d.doc.empty() || d.gradient.empty()) return false;
  }
  return true;
}

}  // namespace detail

static_assert(kTable.size() == kOpCount, "core/ops/table: an op lacks a definition or has two");
static_assert(detail::is_in_order(), "core/ops/table: definitions are not in the order of enum Op");
static_assert(detail::is_documented(),
              "core/ops/table: a definition lacks its name, doc or gradient");

/// Whether `holds` is true of every definition.
template <class Holds>
constexpr bool every_op(const Holds& holds) {
  return std::all_of(kTable.begin(), kTable.end(), holds);
}

}  // namespace kiln::ir
