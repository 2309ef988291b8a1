// Two walks: the first finds the chains and computes the scale and the shift of each, the second
// rebuilds the graph with the folded convolutions in place of the ends of chains.
#include "backends/codegen/graph/fold_scales.h"

#include "core/ir/node_map.h"
#include "core/ir/traverse.h"
#include "core/ops/build.h"
#include "core/ops/lambda_builder.h"
#include "core/ops/op.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Dims;
using ir::Node;
using ir::Op;
using ir::Value;

/// conv * scale + shift, of one number per filter each; empty for none.
struct Chain {
  const Node* conv = nullptr;
  Value scale, shift;
  int shifts = 0;

  /// Whether folding leaves less to compute after the convolution.
  bool is_worth_folding() const { return scale || shifts > 1; }
};

class ChainFinder {
 public:
  ChainFinder(const std::vector<Value>& results, const LibraryClaims& library)
      : order_(ir::topological_order(results)),
        uses_(ir::count_uses(order_, results)),
        library_(library) {}

  /// The chains by the nodes at their ends.
  std::unordered_map<const Node*, Chain> run(const std::vector<Value>& arguments,
                                             const std::vector<bool>& unchanged) {
    for (std::size_t i = 0; i < unchanged.size(); ++i) {
      if (unchanged[i]) invariant_.insert(arguments[i].node.get());
    }
    for (const Node* node : order_) {
      if (is_invariant(*node)) {
        invariant_.insert(node);
      } else if (starts_chain(*node)) {
        chains_.emplace(node, Chain{.conv = node, .scale = {}, .shift = {}});
      } else {
        extend_chain(*node);
      }
    }
    std::erase_if(chains_, [&](const auto& one) {
      return extended_.contains(one.first) || !one.second.is_worth_folding();
    });
    return std::move(chains_);
  }
  const std::vector<const Node*>& order() const { return order_; }

 private:
  /// Whether the value depends on unchanged arguments and constants alone, by nodes that become
  /// kernels.
  bool is_invariant(const Node& node) const {
    const ir::Lowering lowering = def(node).lowering;
    if (node.op == Op::Constant || node.op == Op::Iota) return true;
    if (lowering != ir::Lowering::Elementwise && lowering != ir::Lowering::Movement &&
        lowering != ir::Lowering::Reduce) {
      return false;
    }
    return std::all_of(node.operands.begin(), node.operands.end(), [&](const Value& operand) {
      return invariant_.contains(operand.node.get());
    });
  }

  bool starts_chain(const Node& node) const {
    if (node.op != Op::Conv || node.as<ir::ConvAttrs>().role != ir::ConvRole::Output) return false;
    const DType dtype = node.types[0].dtype;
    return (dtype == DType::Float32 || dtype == DType::Float64) &&
           invariant_.contains(node.operands[1].node.get()) && is_taken(node, &library_) &&
           !library_.rejection_of_epilogue(node, EpilogueOp::Bias);
  }

  /// The vector of `value`, if it is invariant and has one number per filter; a scalar counts.
  Value per_filter(const Value& value) const {
    if (value.node->op != Op::Broadcast || !invariant_.contains(value.node.get())) return {};
    const Value& part = value.node->operands[0];
    const ir::Ints& axes = value.node->as<ir::BroadcastAttrs>().axes;
    const Dims filters{value.dims().back()};
    bool is_scalar = true;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (part.dims()[i].is_one()) continue;
      if (axes[i] != value.rank() - 1 || part.dims()[i] != filters[0]) return {};
      is_scalar = false;
    }
    if (is_scalar) return ir::broadcast(ir::reshape(part, {}), filters, {});
    return ir::reshape(part, filters);
  }

  void extend_chain(const Node& node) {
    const bool commutes = node.op == Op::Add || node.op == Op::Mul;
    if (!commutes && node.op != Op::Sub && node.op != Op::Div) return;
    for (std::size_t i = 0; i < (commutes ? 2u : 1u); ++i) {
      const auto found = chains_.find(node.operands[i].node.get());
      if (found == chains_.end() || uses_.at(node.operands[i]) != 1) continue;
      const ir::OriginScope scope(node.origin, /*replace=*/true);
      const Value vector = per_filter(node.operands[1 - i]);
      if (!vector) continue;
      extended_.insert(found->first);
      Chain chain = found->second;
      apply(node.op, vector, chain);
      chains_.emplace(&node, std::move(chain));
      return;
    }
  }

  static void apply(Op op, const Value& vector, Chain& chain) {
    auto& [conv, scale, shift, shifts] = chain;
    if (op == Op::Add || op == Op::Sub) {
      ++shifts;
      shift = shift ? ir::binary(op, shift, vector) : op == Op::Add ? vector : ir::neg(vector);
      return;
    }
    if (shift) shift = ir::binary(op, shift, vector);
    scale = scale ? ir::binary(op, scale, vector) : op == Op::Mul ? vector : 1.0 / vector;
  }

  std::vector<const Node*> order_;
  ir::UseCounts uses_;
  const LibraryClaims& library_;
  ir::NodeSet invariant_;
  std::unordered_map<const Node*, Chain> chains_;
  ir::NodeSet extended_;  // nodes that are inside of a longer chain
};

Value over_last_axis(const Value& vector, const Dims& dims) {
  return ir::broadcast(vector, dims, {static_cast<std::int64_t>(dims.size()) - 1});
}

/// The convolution of `input` with the scale in its filter, plus the shift.
Value folded(const Chain& chain, const Value& input) {
  const ir::OriginScope scope(chain.conv->origin, /*replace=*/true);
  Value filter = chain.conv->operands[1];
  if (chain.scale) filter = filter * over_last_axis(chain.scale, filter.dims());
  const Value y = ir::make(Op::Conv, chain.conv->attrs, {input, filter});
  return chain.shift ? y + over_last_axis(chain.shift, y.dims()) : y;
}

}  // namespace

std::vector<Value> fold_scales(const std::vector<Value>& results,
                               const std::vector<Value>& arguments,
                               const std::vector<bool>& unchanged, const LibraryClaims* library) {
  const bool caches = std::find(unchanged.begin(), unchanged.end(), true) != unchanged.end();
  if (library == nullptr || !caches) return results;
  ChainFinder finder(results, *library);
  const std::unordered_map<const Node*, Chain> chains = finder.run(arguments, unchanged);
  if (chains.empty()) return results;
  ir::Replacements rebuilt;
  const auto mapped = [&](const Value& value) {
    const auto found = rebuilt.find(value);
    return found == rebuilt.end() ? value : found->second;
  };
  for (const Node* node : finder.order()) {
    const auto chain = chains.find(node);
    if (chain != chains.end()) {
      rebuilt.emplace(node->result(),
                      folded(chain->second, mapped(chain->second.conv->operands[0])));
      continue;
    }
    std::vector<Value> operands;
    for (const Value& operand : node->operands) operands.push_back(mapped(operand));
    const std::vector<Value> now = ir::results_of(ir::with_operands(*node, std::move(operands)));
    for (std::uint32_t i = 0; i < now.size(); ++i) {
      const Value before{node->result(0).node, i};
      if (now[i] != before) rebuilt.emplace(before, now[i]);
    }
  }
  std::vector<Value> changed;
  for (const Value& result : results) changed.push_back(mapped(result));
  return changed;
}

}  // namespace kiln::codegen
