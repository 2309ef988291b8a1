// Looks the node up in the intern table; if it is new, checks its form, infers its types and
// interns it. Guards are not stored in nodes: they are collected by inferring again.
#include "core/ops/make.h"

#include "core/ir/intern.h"
#include "core/ir/lambda.h"
#include "core/ir/traverse.h"
#include "core/ir/unique_guards.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>

namespace kiln::ir {
namespace {

std::string function_name(Op op) {
  const Origin origin = current_origin();
  return *origin.function != '\0' ? origin.function : std::string(def(op).name);
}

void check_form(Op op, const Attrs& attrs, std::span<const Value> operands) {
  const OpDef& d = def(op);
  const auto fail = [&](const std::string& message) {
    throw InternalError("make_node", "", text(d.name, " ", message), current_origin().where);
  };
  if (attrs.index() != d.attrs) fail("has attributes of another op");
  if (d.arity != kVariadic && static_cast<int>(operands.size()) != d.arity) {
    fail(text("takes ", d.arity, " operands, got ", operands.size()));
  }
  for (const Value& operand : operands) {
    if (!operand) fail("has an empty operand");
  }
}

void check_dtype(Op op, Inference& inference) {
  const OpDef& d = def(op);
  // The dtypes of a leaf are those of its result, which its type rule checks.
  if (inference.count() == 0 || d.lowering == Lowering::Leaf) return;
  const DType dtype = inference.type(0).dtype;
  if (d.dtypes & dtype_bit(dtype)) return;
  inference.type_error(text(d.name, " does not take ", dtype));
}

/// The maximal number of terms of an unknown size. A concatenation along n unknown sizes stores the
/// offset of each part, O(n^2) terms together.
constexpr std::size_t kMaxTerms = 4096;

std::size_t factor_count(const Dim& dim) {
  std::size_t count = 0;
  if (dim.is_static()) return count;
  for (const DimTerm& term : dim.expr()->terms) count = std::max(count, term.factors.size());
  return count;
}

/// Checks that backends can compute the number of elements.
void check_size(const Inference& inference, const Type& type) {
  if (type.rank() > kMaxRank) {
    inference.value_error(text("rank ", type.rank(), " exceeds ", kMaxRank));
  }
  std::size_t terms = 1, factors = 0;  // of the number of elements
  for (const Dim& dim : type.dims) {
    if (dim.is_static()) continue;
    const std::size_t own = dim.expr()->terms.size();
    if (own > kMaxTerms) {
      inference.value_error(text("a size of the result is a sum of ", own, " terms, at most ",
                                 kMaxTerms, " are supported"));
    }
    terms *= own + (dim.expr()->constant != 0 ? 1 : 0);
    factors += factor_count(dim);
    if (terms <= kMaxDimTerms && factors <= kMaxDimFactors) continue;
    const bool is_sum = terms > kMaxDimTerms;
    inference.value_error(text(
        "the number of elements of the result is a ", is_sum ? "sum" : "product", " of more than ",
        is_sum ? kMaxDimTerms : kMaxDimFactors, is_sum ? " terms" : " sizes"));
  }
}

void check_nesting(const Inference& inference, const Node& node) {
  if (node.nesting <= kMaxNesting) return;
  inference.value_error(text("loops and conditions are nested more than ", kMaxNesting, " deep"));
}

thread_local const Trace::Scope* t_innermost = nullptr;

NodeRef traced(NodeRef node) {
  for (const Trace::Scope* scope = t_innermost; scope; scope = scope->outer) {
    scope->trace.record(node);
  }
  return node;
}

}  // namespace

void Inference::reject_or_guard(Guard::Kind kind, Ternary holds, const Dim& left, const Dim& right,
                                const std::string& message) {
  if (holds == Ternary::No) value_error(message);
  if (!guards_) return;
  guards_->push_back({.kind = kind,
                      .left = left,
                      .right = right,
                      .message = text(function_name(op_), ": ", message, operand_list()),
                      .origin = current_origin()});
}

void Inference::value_error(const std::string& message) const {
  throw ValueError(function_name(op_), "", text(message, operand_list()), current_origin().where);
}

void Inference::type_error(const std::string& message) const {
  throw TypeError(function_name(op_), "", text(message, operand_list()), current_origin().where);
}

/// The number of operands that messages list.
constexpr std::size_t kMaxListed = 8;

std::string Inference::operand_list() const {
  if (operands_.empty()) return "";
  const OpDef& d = def(op_);
  // The op's names for its operands mean nothing to a user who called another K function.
  const bool by_name = d.arity != kVariadic && function_name(op_) == d.name;
  std::string out = " (";
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (i != 0) out += ", ";
    if (i == kMaxListed) return out + text("and ", operands_.size() - i, " more)");
    const bool named = by_name && i < d.operands.size();
    out += named ? text(d.operands[i], " ", type(i)) : text(type(i));
  }
  return out + ")";
}

NodeRef make_node(Op op, Attrs attrs, std::vector<Value> operands) {
  check_form(op, attrs, operands);
  const Origin origin = current_origin();
  if (NodeRef found = find_interned(op, attrs, operands, origin)) return traced(std::move(found));
  Inference inference(op, attrs, operands, nullptr);
  check_dtype(op, inference);
  std::vector<Type> types = def(op).infer(inference);
  for (const Type& type : types) check_size(inference, type);
  NodeRef node = intern(op, std::move(attrs), std::move(operands), std::move(types), origin);
  check_nesting(inference, *node);
  return traced(std::move(node));
}

Value make(Op op, Attrs attrs, std::vector<Value> operands) {
  return {make_node(op, std::move(attrs), std::move(operands)), 0};
}

std::vector<Guard> guards_of(const Node& node) {
  std::vector<Guard> guards;
  const OriginScope scope(node.origin, /*replace=*/true);
  Inference inference(node.op, node.attrs, node.operands, &guards);
  def(node).infer(inference);
  return guards;
}

bool has_step(const Dim& length) { return less_equal(1, length) == Ternary::Yes; }

std::vector<Guard> collect_guards(std::span<const Value> roots) {
  UniqueGuards guards;
  for (const Node* node : topological_order(roots)) {
    for (const Guard& guard : guards_of(*node)) guards.add(guard);
    if (node->op != Op::Scan) continue;
    const auto& attrs = node->as<ScanAttrs>();
    if (!has_step(attrs.length)) continue;
    for (const Guard& guard : attrs.body->guards) guards.add(guard);
  }
  return std::move(guards).take();
}

Trace::Scope::Scope(Trace& recording) : trace(recording), outer(t_innermost) { t_innermost = this; }

Trace::Scope::~Scope() { t_innermost = outer; }

void Trace::record(const NodeRef& node) {
  if (contains(*node)) return;
  kept_.push_back(node);  // first, for exception safety: a recorded node must be kept alive
  nodes_.insert(node.get());
}

}  // namespace kiln::ir
