// Finds the node if it lives; else checks, infers and interns. Guards are collected by inferring
// again, from the finished graph.
#include "core/ops/make.h"

#include "core/ir/intern.h"
#include "core/ir/traverse.h"
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
  const auto fail = [&](const std::string& fact) {
    throw InternalError("make_node", "", text(d.name, " ", fact), current_origin().where);
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
  // A leaf's set is about its result: its type rule checks that. An argument has no operand.
  if (inference.count() == 0 || d.lowering == Lowering::Leaf) return;
  const DType dtype = inference.type(0).dtype;
  if (d.dtypes & dtype_bit(dtype)) return;
  inference.type_error(text(d.name, " does not take ", dtype));
}

/// Rank limit of modules (core/module/module.h) and Arrays.
constexpr int kMaxRank = 64;

void check_ranks(const Inference& inference, const std::vector<Type>& types) {
  for (const Type& type : types) {
    if (type.rank() <= kMaxRank) continue;
    inference.value_error(text("rank ", type.rank(), " exceeds ", kMaxRank));
  }
}

thread_local const Trace::Scope* t_innermost = nullptr;

NodeRef traced(NodeRef node) {
  for (const Trace::Scope* scope = t_innermost; scope; scope = scope->outer) {
    scope->trace.record(node);
  }
  return node;
}

}  // namespace

void Inference::settle(Guard::Kind kind, Answer answer, const Dim& left, const Dim& right,
                       const std::string& fact) {
  if (answer == Answer::No) value_error(fact);
  if (!guards_) return;
  const std::string full = text(function_name(op_), ": ", fact, operand_list());
  guards_->push_back({kind, left, right, full, current_origin()});
}

void Inference::value_error(const std::string& fact) const {
  throw ValueError(function_name(op_), "", text(fact, operand_list()),
                   current_origin().where);
}

void Inference::type_error(const std::string& fact) const {
  throw TypeError(function_name(op_), "", text(fact, operand_list()),
                  current_origin().where);
}

std::string Inference::operand_list() const {
  if (operands_.empty()) return "";
  const OpDef& d = def(op_);
  // To a user who called another function the op's names for its operands say nothing.
  const bool by_name = d.arity != kVariadic && function_name(op_) == d.name;
  std::string out = " (";
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (i != 0) out += ", ";
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
  check_ranks(inference, types);
  return traced(intern(op, std::move(attrs), std::move(operands), std::move(types), origin));
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

bool has_step(const Dim& length) { return less_equal(1, length) == Answer::Yes; }

std::vector<Guard> collect_guards(std::span<const Value> roots) {
  std::vector<Guard> guards;
  for (const Node* node : topological_order(roots)) {
    add_guards(guards, guards_of(*node));
    if (node->op != Op::Scan) continue;
    const auto& attrs = node->as<ScanAttrs>();
    if (has_step(attrs.length)) add_guards(guards, attrs.body->guards);
  }
  return guards;
}

Trace::Scope::Scope(Trace& recording) : trace(recording), outer(t_innermost) {
  t_innermost = this;
}

Trace::Scope::~Scope() { t_innermost = outer; }

void Trace::record(const NodeRef& node) {
  if (contains(*node)) return;
  kept_.push_back(node);  // first: an address that is recorded is one that is kept
  nodes_.insert(node.get());
}

}  // namespace kiln::ir
