// The reverse sweep: visits users before their operands, so that the cotangents of a node are
// summed before its rule is applied.
#include "core/autodiff/vjp.h"

#include "core/autodiff/control_gradient.h"
#include "core/ir/traverse.h"
#include "core/ops/build.h"
#include "core/ops/halves.h"
#include "core/ops/lambda_builder.h"
#include "core/ops/rewrite_graph.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <memory>
#include <unordered_set>

namespace kiln::autodiff {
namespace {

using ir::Grad;
using ir::Node;
using ir::OpDef;
using ir::Value;
using ir::ValueHash;

/// Differentiates a composite through its expansion, which is built on fresh parameters so that the
/// inner sweep stops at the operands.
std::vector<Value> expansion_gradient(const Grad& g) {
  std::vector<ir::Type> types;
  for (const Value& operand : g.x) types.push_back(operand.type());
  const ir::LambdaBuilder builder(std::move(types));
  const std::vector<Value> y = def(g.node).expand(g.node, builder.parameters());
  const Vjp inner = vjp(y, g.dy, builder.parameters());
  ir::Replacements replacements;
  for (std::size_t i = 0; i < g.x.size(); ++i) {
    replacements.emplace(builder.parameters()[i], g.x[i]);
  }
  return ir::replace_values(inner.dx, replacements);
}

/// One reverse sweep.
class Sweep {
 public:
  Sweep(std::span<const Value> y, std::span<const Value> x)
      : order_(ir::topological_order(y)), targets_(x.begin(), x.end()) {
    for (const Node* node : order_) {
      bool depends = false;
      for (const Value& operand : node->operands) depends = depends || is_varied(operand);
      if (depends) dependents_.insert(node);
    }
  }

  void seed(const Value& y, const Value& dy) {
    if (dy && is_varied(y)) add(y, dy);
  }

  void run() {
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      if (dependents_.count(*it) != 0) visit(**it);
    }
  }

  Value cotangent(const Value& x) const {
    const auto found = cotangents_.find(x);
    return found == cotangents_.end() ? Value{} : found->second.sum;
  }

 private:
  /// The sum of the cotangents of a value. Of float16 and bfloat16, more than two are added in
  /// float32 and rounded once: in bfloat16, 256 + 1 is 256.
  struct Cotangent {
    Value sum;
    Value wide;  // in float32, of two or more; empty for other dtypes
  };

  bool is_varied(const Value& value) const {
    return is_float(value.dtype()) &&
           (dependents_.count(value.node.get()) != 0 || targets_.count(value) != 0);
  }

  /// Adds `cotangent` to the sum for `value`, with the dims of `value`: a gradient rule may express
  /// an equal size by other symbols.
  void add(const Value& value, const Value& cotangent) {
    Cotangent& own = cotangents_[value];
    const Value more = ir::with_dims(cotangent, value.dims());
    if (own.sum && ir::is_half(value.dtype())) return add_half(own, more);
    own.sum = ir::add_cotangents(own.sum, more);
  }

  static void add_half(Cotangent& own, const Value& more) {
    const bool is_second = !own.wide;
    own.wide = (is_second ? ir::widened(own.sum) : own.wide) + ir::widened(more);
    own.sum = is_second ? own.sum + more : ir::cast(own.wide, more.dtype());
  }

  void visit(const Node& node) {
    const std::vector<Value> y = ir::results_of(node);
    std::vector<Value> dy;
    bool any = false;
    for (const Value& result : y) {
      dy.push_back(cotangent(result));
      any = any || dy.back();
    }
    if (!any) return;
    const auto wanted = std::make_unique<bool[]>(node.operands.size());
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      wanted[i] = is_varied(node.operands[i]);
    }
    const ir::OriginScope scope(node.origin, /*replace=*/true);
    const std::span<const bool> wants(wanted.get(), node.operands.size());
    const std::vector<Value> dx = apply_rule({node, node.operands, y, dy, wants});
    for (std::size_t i = 0; i < dx.size(); ++i) {
      if (dx[i] && wants[i]) add(node.operands[i], dx[i]);
    }
  }

  std::vector<Value> apply_rule(const Grad& g) {
    const OpDef& d = def(g.node);
    if (d.grad) return d.grad(g);
    if (d.op == ir::Op::Scan) return scan_gradient(g);
    if (d.op == ir::Op::Cond) return cond_gradient(g);
    if (d.expand) return expansion_gradient(g);
    if (d.differentiable) {
      throw NotImplementedError("gradients", "", text("op ", d.name, " has no gradient rule"),
                                g.node.origin.where);
    }
    return {};
  }

  std::vector<const Node*> order_;
  std::unordered_set<Value, ValueHash> targets_;
  std::unordered_set<const Node*> dependents_;
  std::unordered_map<Value, Cotangent, ValueHash> cotangents_;
};

}  // namespace

Vjp vjp(std::span<const Value> y, std::span<const Value> dy, std::span<const Value> x) {
  Sweep sweep(y, x);
  for (std::size_t i = 0; i < y.size(); ++i) sweep.seed(y[i], dy[i]);
  sweep.run();
  Vjp result;
  for (const Value& target : x) {
    const Value dx = sweep.cotangent(target);
    // Dims that a guard makes equal may have other symbols in dx; a carry needs the same ones.
    result.dx.push_back(dx ? ir::with_dims(dx, target.dims()) : dx);
  }
  return result;
}

}  // namespace kiln::autodiff
