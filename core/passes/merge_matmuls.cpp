// Groups matmuls that differ in the slice of one operand only, and merges runs of adjacent slices
// into one operand.
#include "core/passes/merge_matmuls.h"

#include "core/ir/traverse.h"
#include "core/ops/build.h"
#include "core/ops/halves.h"
#include "core/ops/lambda_builder.h"
#include "core/ops/rewrite_graph.h"
#include "core/passes/dot_sums.h"

#include <algorithm>

namespace kiln::passes {
namespace {

using ir::Node;
using ir::Op;
using ir::Value;

/// The operands of merged sums are concatenated, which costs more than it saves for fewer rows.
constexpr std::int64_t kMinRows = 16;

/// A slice of one axis with static bounds: elements start .. limit - 1, and all of the other axes.
struct AxisSlice {
  Value source;
  std::size_t axis = 0;
  std::int64_t start = 0, limit = 0;
};

/// A slice of a half that is cast counts as a slice of the cast half.
std::optional<AxisSlice> axis_slice_of(const Value& value) {
  if (value.node->op == Op::Cast && ir::is_half(value.node->operands[0].dtype())) {
    std::optional<AxisSlice> inner = axis_slice_of(value.node->operands[0]);
    if (inner) inner->source = ir::cast(inner->source, value.dtype());
    return inner;
  }
  if (value.node->op != Op::Slice) return std::nullopt;
  const auto& attrs = value.node->as<ir::SliceAttrs>();
  const Value& source = value.node->operands[0];
  std::optional<AxisSlice> slice;
  for (std::size_t axis = 0; axis < attrs.start.size(); ++axis) {
    const ir::Dim &start = attrs.start[axis], &limit = attrs.limit[axis];
    if (attrs.step[axis] != 1) return std::nullopt;
    if (start == ir::Dim(0) && limit == source.dims()[axis]) continue;
    if (slice || !start.is_static() || !limit.is_static()) return std::nullopt;
    slice =
        AxisSlice{.source = source, .axis = axis, .start = start.value(), .limit = limit.value()};
  }
  return slice;
}

/// A Dot with a slice as operand `side`.
struct SlicedDot {
  const Node* node = nullptr;
  std::size_t side = 0;
  AxisSlice slice;
  std::size_t term = 0;  // of a sum, its index

  const Value& other() const { return node->operands[1 - side]; }
};

bool sliced_alike(const SlicedDot& a, const SlicedDot& b) {
  return a.side == b.side && a.slice.axis == b.slice.axis && a.slice.source == b.slice.source &&
         a.node->as<ir::DotAttrs>() == b.node->as<ir::DotAttrs>();
}

/// Groups matmuls that are sliced alike and for which `fit` holds, in the order of first
/// occurrence. Compares only those with the same `key`, a value.
template <class Key, class Fit>
std::vector<std::vector<SlicedDot>> grouped(const std::vector<SlicedDot>& dots, const Key& key,
                                            const Fit& fit) {
  std::vector<std::vector<SlicedDot>> groups;
  std::unordered_map<Value, std::vector<std::size_t>, ir::ValueHash> by_key;
  for (const SlicedDot& dot : dots) {
    std::vector<std::size_t>& candidates = by_key[key(dot)];
    const auto group = std::find_if(candidates.begin(), candidates.end(), [&](std::size_t one) {
      return sliced_alike(groups[one].front(), dot) && fit(groups[one].front(), dot);
    });
    if (group == candidates.end()) {
      candidates.push_back(groups.size());
      groups.push_back({dot});
    } else {
      groups[*group].push_back(dot);
    }
  }
  return groups;
}

/// The maximal runs of a group, of two or more, whose slices are adjacent.
std::vector<std::vector<SlicedDot>> runs_of(std::vector<SlicedDot> group) {
  std::stable_sort(group.begin(), group.end(), [](const SlicedDot& a, const SlicedDot& b) {
    return a.slice.start < b.slice.start;
  });
  std::vector<std::vector<SlicedDot>> runs;
  for (const SlicedDot& dot : group) {
    if (runs.empty() || runs.back().back().slice.limit != dot.slice.start) runs.emplace_back();
    runs.back().push_back(dot);
  }
  std::erase_if(runs, [](const auto& run) { return run.size() < 2; });
  return runs;
}

/// The slice of the source that covers a run.
Value covering_slice(const std::vector<SlicedDot>& run) {
  const AxisSlice& first = run.front().slice;
  return ir::slice_axis(first.source, static_cast<int>(first.axis), first.start,
                        run.back().slice.limit);
}

/// The axis of the result that the sliced axis becomes; nullopt if it is contracted or a batch
/// axis.
std::optional<std::size_t> result_axis(const SlicedDot& dot) {
  const auto& attrs = dot.node->as<ir::DotAttrs>();
  const ir::Ints& own = dot.side == 0 ? attrs.lhs : attrs.rhs;
  const ir::Ints& other = dot.side == 0 ? attrs.rhs : attrs.lhs;
  const std::int64_t label = own[dot.slice.axis];
  if (std::find(other.begin(), other.end(), label) != other.end()) return std::nullopt;
  const auto found = std::find(attrs.result.begin(), attrs.result.end(), label);
  if (found == attrs.result.end()) return std::nullopt;
  return static_cast<std::size_t>(found - attrs.result.begin());
}

/// Merges a run that shares the other operand: each result becomes a slice of one result.
void merge_results(const std::vector<SlicedDot>& run, ir::Replacements& replaced) {
  const SlicedDot& first = run.front();
  const ir::OriginScope scope(first.node->origin, /*replace=*/true);
  std::vector<Value> operands = first.node->operands;
  operands[first.side] = covering_slice(run);
  const Value all = ir::make(Op::Dot, first.node->attrs, std::move(operands));
  const auto axis = static_cast<int>(*result_axis(first));
  for (const SlicedDot& dot : run) {
    const std::int64_t start = dot.slice.start - first.slice.start;
    const std::int64_t limit = dot.slice.limit - first.slice.start;
    replaced.emplace(dot.node->result(), ir::slice_axis(all, axis, start, limit));
  }
}

ir::Replacements merge_shared_operands(const std::vector<Value>& roots) {
  std::vector<SlicedDot> dots;
  for (const Node* node : ir::topological_order(roots)) {
    for (std::size_t side : {0u, 1u}) {
      if (node->op != Op::Dot) continue;
      const auto slice = axis_slice_of(node->operands[side]);
      if (!slice) continue;
      const SlicedDot dot{.node = node, .side = side, .slice = *slice};
      if (!result_axis(dot)) continue;
      dots.push_back(dot);
      break;
    }
  }
  ir::Replacements replaced;
  const auto other = [](const SlicedDot& dot) { return dot.other(); };
  const auto fit = [](const SlicedDot&, const SlicedDot&) { return true; };
  for (const auto& group : grouped(dots, other, fit)) {
    for (const auto& run : runs_of(group)) merge_results(run, replaced);
  }
  return replaced;
}

bool has_few_rows(const SlicedDot& dot) {
  ir::Dim rows = 1;
  const ir::Dims& dims = dot.node->operands[dot.side].dims();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i != dot.slice.axis) rows = rows * dims[i];
  }
  return rows.is_static() && rows.value() < kMinRows;
}

std::optional<SlicedDot> term_of(const SumTree& tree, std::size_t term) {
  const Node& node = *tree.terms[term].node;
  if (node.op != Op::Dot || !tree.is_own[term]) return std::nullopt;
  for (std::size_t side : {0u, 1u}) {
    const auto slice = axis_slice_of(node.operands[side]);
    if (!slice || !contracted_with(node, side, slice->axis)) continue;
    const SlicedDot dot{.node = &node, .side = side, .slice = *slice, .term = term};
    if (!has_few_rows(dot)) return dot;
  }
  return std::nullopt;
}

/// Merges a run of each sum.
ir::Replacements merge_sums(const std::vector<Value>& roots) {
  ir::Replacements replaced;
  for (const SumTree& tree : find_sums(ir::topological_order(roots), roots)) {
    std::vector<SlicedDot> dots;
    for (std::size_t term = 0; term < tree.terms.size(); ++term) {
      if (const auto dot = term_of(tree, term)) dots.push_back(*dot);
    }
    const auto fit = [](const SlicedDot& a, const SlicedDot& b) {
      const auto axis = contracted_with(*a.node, a.side, a.slice.axis);
      return equal_but_for(a.other().type(), b.other().type(), *axis);
    };
    const auto source = [](const SlicedDot& dot) { return dot.slice.source; };
    for (const auto& group : grouped(dots, source, fit)) {
      for (const auto& run : runs_of(group)) {
        const SlicedDot& first = run.front();
        MergedDots merged{.terms = {},
                          .side = first.side,
                          .other_axis = *contracted_with(*first.node, first.side, first.slice.axis),
                          .operand = covering_slice(run)};
        for (const SlicedDot& dot : run) merged.terms.push_back(dot.term);
        replaced.emplace(tree.sum, sum_with(tree, merged));
        break;
      }
      if (replaced.count(tree.sum) != 0) break;
    }
  }
  return replaced;
}

/// Merges inside lambdas first, then at this level.
std::vector<Value> merge_level(const std::vector<Value>& given) {
  std::vector<Value> roots = ir::rewrite_nodes(given, [](const ir::NodeRef& node) {
    return ir::results_of(ir::change_lambdas(node, merge_level));
  });
  // Another round merges matmuls whose operands became equal, and further runs of a sum.
  for (const auto find : {merge_shared_operands, merge_sums}) {
    for (;;) {
      const ir::Replacements replaced = find(roots);
      if (replaced.empty()) break;
      roots = ir::replace_throughout(roots, replaced);
    }
  }
  return roots;
}

}  // namespace

ir::Graph merge_matmuls(const ir::Graph& graph) {
  return ir::with_roots(graph, merge_level(graph.roots()));
}

}  // namespace kiln::passes
