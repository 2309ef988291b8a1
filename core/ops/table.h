// The one list of ops, as a constant expression: a backend with a row per op checks at compile time
// that none is missing. Other code calls def() of op.h.
#pragma once

#include "core/ops/attention.h"
#include "core/ops/collective.h"
#include "core/ops/elementwise.h"
#include "core/ops/leaves.h"
#include "core/ops/movement.h"
#include "core/ops/reduce.h"
#include "core/ops/sort.h"
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

inline constexpr auto kDefinitions =
    detail::join(kLeaves, kUnary, kBinary, kReduce, kMovement, kStructure, kWindows, kStatistics,
                 kSorts, kCollectives, kAttention);

namespace detail {

constexpr bool has_each_op_once() {
  std::array<bool, kDefinitions.size()> found{};
  for (const OpDef& d : kDefinitions) {
    const auto index = static_cast<std::size_t>(d.op);
    if (index >= found.size() || found[index]) return false;
    found[index] = true;
  }
  return true;
}

constexpr bool has_unique_codes() {
  for (std::size_t i = 0; i < kDefinitions.size(); ++i) {
    const int code = kDefinitions[i].code;
    if (code < 0) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if (kDefinitions[j].code == code) return false;
    }
  }
  return true;
}

constexpr auto by_enumerator() {
  std::array<OpDef, kDefinitions.size()> table{};
  for (const OpDef& d : kDefinitions) table[static_cast<std::size_t>(d.op)] = d;
  return table;
}

// Texts only: in g++ 12 with -fsanitize=undefined, a null test of a function pointer is not a
// constant expression. tests/core/ops_unit/table_test.cpp checks the rules.
constexpr bool is_documented() {
  for (const OpDef& d : kDefinitions) {
    if (d.name.empty() || d.doc.empty() || d.gradient.empty()) return false;
  }
  return true;
}

}  // namespace detail

static_assert(detail::has_each_op_once(),
              "core/ops/table: each enumerator of Op needs exactly one definition, a row in the "
              "header of its group");
static_assert(detail::has_unique_codes(),
              "core/ops/table: a definition has no code or that of another op");
static_assert(detail::is_documented(),
              "core/ops/table: a definition lacks its name, doc or gradient");

/// The definitions, indexed by enumerator.
inline constexpr auto kTable = detail::by_enumerator();
inline constexpr std::size_t kOpCount = kTable.size();

/// Whether `holds` is true of every definition.
template <class Holds>
constexpr bool every_op(const Holds& holds) {
  return std::all_of(kTable.begin(), kTable.end(), holds);
}

}  // namespace kiln::ir
