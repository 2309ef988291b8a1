// The one list of ops.
#include "core/ops/elementwise.h"
#include "core/ops/leaves.h"
#include "core/ops/movement.h"
#include "core/ops/reduce.h"
#include "core/ops/structure.h"

#include <algorithm>
#include <array>

namespace kiln::ir {
namespace {

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

constexpr auto kTable = join(kLeaves, kUnary, kBinary, kReduce, kMovement, kStructure);

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

static_assert(kTable.size() == kOpCount, "core/ops/table: an op lacks a definition or has two");
static_assert(is_in_order(), "core/ops/table: definitions are not in the order of enum Op");
static_assert(is_documented(), "core/ops/table: a definition lacks its name, doc or gradient");

}  // namespace

const OpDef& def(Op op) { return kTable[static_cast<std::size_t>(op)]; }

std::span<const OpDef> all_ops() { return kTable; }

const OpDef* find_op(std::string_view name) {
  const auto found = std::find_if(kTable.begin(), kTable.end(),
                                  [&](const OpDef& d) { return d.name == name; });
  return found == kTable.end() ? nullptr : &*found;
}

}  // namespace kiln::ir
