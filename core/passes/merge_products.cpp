// Products are grouped by all but the place of their slices, and runs of slices that follow each
// other become one operand.
#include "core/passes/merge_products.h"

#include "core/ir/traverse.h"
#include "core/ops/build.h"
#include "core/ops/lambda_builder.h"
#include "core/ops/rewrite_graph.h"
#include "core/passes/product_sums.h"

#include <algorithm>

namespace kiln::passes {
namespace {

using ir::Node;
using ir::Op;
using ir::Value;

/// The operands of a merged sum are concatenated, which costs more than it saves with fewer rows.
constexpr std::int64_t kMinRows = 16;

/// Elements start .. limit - 1 of one axis of a tensor, and all of the other axes.
struct Cut {
  Value source;
  std::size_t axis = 0;
  std::int64_t start = 0, limit = 0;
};

std::optional<Cut> cut_of(const Value& value) {
  if (value.node->op != Op::Slice) return std::nullopt;
  const auto& attrs = value.node->as<ir::SliceAttrs>();
  const Value& source = value.node->operands[0];
  std::optional<Cut> cut;
  for (std::size_t axis = 0; axis < attrs.start.size(); ++axis) {
    const ir::Dim &start = attrs.start[axis], &limit = attrs.limit[axis];
    if (attrs.step[axis] != 1) return std::nullopt;
    if (start == ir::Dim(0) && limit == source.dims()[axis]) continue;
    if (cut || !start.is_static() || !limit.is_static()) return std::nullopt;
    cut = Cut{source, axis, start.value(), limit.value()};
  }
  return cut;
}

/// A product of a cut tensor.
struct CutProduct {
  const Node* node = nullptr;
  std::size_t side = 0;  // of the cut
  Cut cut;
  std::size_t term = 0;  // in a sum

  const Value& other() const { return node->operands[1 - side]; }
};

bool cuts_alike(const CutProduct& a, const CutProduct& b) {
  return a.side == b.side && a.cut.axis == b.cut.axis && a.cut.source == b.cut.source &&
         a.node->as<ir::DotAttrs>() == b.node->as<ir::DotAttrs>();
}

/// Groups of products of which `fit` holds, in the order of their first ones.
template <class Fit>
std::vector<std::vector<CutProduct>> grouped(const std::vector<CutProduct>& products,
                                             const Fit& fit) {
  std::vector<std::vector<CutProduct>> groups;
  for (const CutProduct& product : products) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& known) {
      return cuts_alike(known.front(), product) && fit(known.front(), product);
    });
    if (group == groups.end()) {
      groups.push_back({product});
    } else {
      group->push_back(product);
    }
  }
  return groups;
}

/// The parts of a group, two at least each, whose cuts follow each other without a gap.
std::vector<std::vector<CutProduct>> runs_of(std::vector<CutProduct> group) {
  std::stable_sort(group.begin(), group.end(), [](const CutProduct& a, const CutProduct& b) {
    return a.cut.start < b.cut.start;
  });
  std::vector<std::vector<CutProduct>> runs;
  for (const CutProduct& product : group) {
    if (runs.empty() || runs.back().back().cut.limit != product.cut.start) runs.emplace_back();
    runs.back().push_back(product);
  }
  std::erase_if(runs, [](const auto& run) { return run.size() < 2; });
  return runs;
}

/// The slice of the source that covers a run.
Value joined_cuts(const std::vector<CutProduct>& run) {
  const Cut& first = run.front().cut;
  return ir::slice_axis(first.source, static_cast<int>(first.axis), first.start,
                        run.back().cut.limit);
}

/// The axis of the result that the cut axis becomes, when it is neither summed over nor shared.
std::optional<std::size_t> result_axis(const CutProduct& product) {
  const auto& attrs = product.node->as<ir::DotAttrs>();
  const ir::Ints& own = product.side == 0 ? attrs.lhs : attrs.rhs;
  const ir::Ints& other = product.side == 0 ? attrs.rhs : attrs.lhs;
  const std::int64_t label = own[product.cut.axis];
  if (std::find(other.begin(), other.end(), label) != other.end()) return std::nullopt;
  const auto found = std::find(attrs.result.begin(), attrs.result.end(), label);
  if (found == attrs.result.end()) return std::nullopt;
  return static_cast<std::size_t>(found - attrs.result.begin());
}

void join_results(const std::vector<CutProduct>& run, ir::Replacements& replaced) {
  const CutProduct& first = run.front();
  const ir::OriginScope scope(first.node->origin, /*replace=*/true);
  std::vector<Value> operands = first.node->operands;
  operands[first.side] = joined_cuts(run);
  const Value all = ir::make(Op::Dot, first.node->attrs, std::move(operands));
  const auto axis = static_cast<int>(*result_axis(first));
  for (const CutProduct& product : run) {
    const std::int64_t start = product.cut.start - first.cut.start;
    const std::int64_t limit = product.cut.limit - first.cut.start;
    replaced.emplace(product.node->result(), ir::slice_axis(all, axis, start, limit));
  }
}

ir::Replacements shared_operands(const std::vector<Value>& roots) {
  std::vector<CutProduct> products;
  for (const Node* node : ir::topological_order(roots)) {
    for (std::size_t side : {0u, 1u}) {
      if (node->op != Op::Dot) continue;
      const auto cut = cut_of(node->operands[side]);
      if (!cut) continue;
      const CutProduct product{node, side, *cut};
      if (!result_axis(product)) continue;
      products.push_back(product);
      break;
    }
  }
  ir::Replacements replaced;
  const auto shares = [](const CutProduct& a, const CutProduct& b) {
    return a.other() == b.other();
  };
  for (const auto& group : grouped(products, shares)) {
    for (const auto& run : runs_of(group)) join_results(run, replaced);
  }
  return replaced;
}

bool has_few_rows(const CutProduct& product) {
  ir::Dim rows = 1;
  const ir::Dims& dims = product.node->operands[product.side].dims();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i != product.cut.axis) rows = rows * dims[i];
  }
  return rows.is_static() && rows.value() < kMinRows;
}

std::optional<CutProduct> term_of(const SumTree& tree, std::size_t term) {
  const Node& node = *tree.terms[term].node;
  if (node.op != Op::Dot || !tree.is_own[term]) return std::nullopt;
  for (std::size_t side : {0u, 1u}) {
    const auto cut = cut_of(node.operands[side]);
    if (!cut || !contracted_with(node, side, cut->axis)) continue;
    const CutProduct product{&node, side, *cut, term};
    if (!has_few_rows(product)) return product;
  }
  return std::nullopt;
}

/// One sum at a time: another one may be what its products are computed from.
ir::Replacements sums(const std::vector<Value>& roots) {
  for (const SumTree& tree : find_sums(roots)) {
    std::vector<CutProduct> products;
    for (std::size_t term = 0; term < tree.terms.size(); ++term) {
      if (const auto product = term_of(tree, term)) products.push_back(*product);
    }
    const auto fit = [](const CutProduct& a, const CutProduct& b) {
      const auto axis = contracted_with(*a.node, a.side, a.cut.axis);
      return equal_but_for(a.other().type(), b.other().type(), *axis);
    };
    for (const auto& group : grouped(products, fit)) {
      for (const auto& run : runs_of(group)) {
        const CutProduct& first = run.front();
        JoinedProducts joined;
        for (const CutProduct& product : run) joined.terms.push_back(product.term);
        joined.side = first.side;
        joined.other_axis = *contracted_with(*first.node, first.side, first.cut.axis);
        joined.joined = joined_cuts(run);
        return {{tree.sum, sum_with(tree, joined)}};
      }
    }
  }
  return {};
}

std::vector<Value> merge_level(const std::vector<Value>& given) {
  std::vector<Value> roots = ir::rewrite_nodes(given, [](const ir::NodeRef& node) {
    return ir::results_of(ir::change_lambdas(node, merge_level));
  });
  // A joined product may stand on another one's result: each round settles one level.
  for (const auto find : {shared_operands, sums}) {
    for (;;) {
      const ir::Replacements replaced = find(roots);
      if (replaced.empty()) break;
      roots = ir::replace_values(roots, replaced);
    }
  }
  return roots;
}

}  // namespace

ir::Graph merge_products(const ir::Graph& graph) {
  return ir::with_roots(graph, merge_level(graph.roots()));
}

}  // namespace kiln::passes
