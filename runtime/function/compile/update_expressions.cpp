// Hashes nodes bottom-up. The hash of a node is that of a key: its op, its attributes and the
// hashes of its operands.
#include "runtime/function/compile/update_expressions.h"

#include "core/ir/location.h"
#include "core/ir/traverse.h"
#include "core/module/text_form.h"
#include "core/ops/op.h"
#include "core/types/text.h"
#include "runtime/function/compile/lower_collectives.h"
#include "runtime/variable/variable_state.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace kiln::runtime {
namespace {

using ir::Node;
using ir::Value;

std::uint64_t hash_of_lambda(const ir::Lambda& lambda);

/// The bytes that tell a node from others.
class Key {
 public:
  std::uint64_t hash() const { return distributed::hash_of(bytes_); }

  void add(std::uint64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void add(std::int64_t value) { add(static_cast<std::uint64_t>(value)); }
  void add(bool value) { add(std::uint64_t{value}); }
  template <class Enum>
    requires std::is_enum_v<Enum>
  void add(Enum value) {
    add(static_cast<std::uint64_t>(value));
  }
  void add(const std::string& value) {
    add(std::uint64_t{value.size()});
    bytes_ += value;
  }
  /// Of a size that is not static only that: symbols have other numbers in each process.
  void add(const ir::Dim& dim) { add(dim.is_static() ? dim.value() : std::int64_t{-1}); }
  void add(const ir::Type& type) {
    add(type.dtype);
    add(type.dims);
  }
  template <class Item>
  void add(const std::vector<Item>& items) {
    add(std::uint64_t{items.size()});
    for (const Item& item : items) add(item);
  }
  void add(const ir::ConstantData& data) {
    add(distributed::hash_of(
        {reinterpret_cast<const char*>(data.bytes->data()), data.bytes->size()}));
  }
  void add(const ir::LambdaRef& lambda) { add(hash_of_lambda(*lambda)); }

 private:
  std::string bytes_;
};

/// The value that is printed, of what print_tensor returns: ranks may print different things.
Value unprinted(Value value) {
  const auto is_printed = [](const Node& node) {
    return node.op == ir::Op::HostCall && node.as<ir::HostCallAttrs>().function == "print_tensor";
  };
  while (is_printed(*value.node)) value = value.node->operands.at(1);
  return value;
}

class ExpressionHashes {
 public:
  /// Gives a node a hash for what it is and its place among others of its kind: expressions end
  /// there.
  void end_at(const Node& node, std::uint64_t place) {
    Key key;
    key.add(node.op);
    key.add(place);
    key.add(node.types);
    hashes_.emplace(&node, key.hash());
  }

  /// The nodes of the expressions that are without hashes, operands first.
  std::vector<const Node*> nodes_of(std::span<const Value> roots) const {
    return ir::topological_order(
        roots, [&](const Value& value) { return hashes_.count(value.node.get()) != 0; });
  }

  std::uint64_t of(const Value& root) {
    for (const Node* node : nodes_of({&root, 1})) hashes_.emplace(node, hash_of(*node));
    Key key;
    add(key, root);
    return key.hash();
  }

 private:
  void add(Key& key, const Value& given) const {
    const Value value = unprinted(given);
    key.add(hashes_.at(value.node.get()));
    key.add(std::uint64_t{value.index});
  }

  std::uint64_t hash_of(const Node& node) const {
    Key key;
    key.add(std::int64_t{def(node).code});
    ir::for_each_field(node.attrs, [&](const char* name, const auto& member) {
      const bool is_of_process =
          module::is_identity(node.op, name) || module::is_scope(node.op, name);
      if (!is_of_process) key.add(member);
    });
    for (const Value& operand : node.operands) add(key, operand);
    key.add(node.types);
    return key.hash();
  }

  std::unordered_map<const Node*, std::uint64_t> hashes_;
};

std::uint64_t hash_of_lambda(const ir::Lambda& lambda) {
  ExpressionHashes hashes;
  Key key;
  key.add(lambda.parameters);
  for (const Value& result : lambda.results) key.add(hashes.of(result));
  return key.hash();
}

/// "'w' (train.cpp:12)", the line of the new value.
std::string text_of(const VariableStorage& storage, const Node& value) {
  return text("'", storage.name, "'", ir::location_suffix(value.origin));
}

/// The variables among the nodes, in the order of their creation.
std::vector<const Node*> variables_among(const std::vector<const Node*>& nodes) {
  std::vector<const Node*> variables;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(variables),
               [](const Node* node) { return node->op == ir::Op::Variable; });
  const auto id_of = [](const Node* node) { return node->as<ir::VariableAttrs>().id; };
  std::sort(variables.begin(), variables.end(),
            [&](const Node* a, const Node* b) { return id_of(a) < id_of(b); });
  return variables;
}

void end_at_each(ExpressionHashes& hashes, const std::vector<const Node*>& nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i) hashes.end_at(*nodes[i], i);
}

}  // namespace

distributed::UpdateExpressions update_expressions(const ir::Graph& graph) {
  distributed::UpdateExpressions expressions;
  const std::vector<const Node*> collectives = collectives_in_order(graph);
  if (collectives.empty()) return expressions;
  std::vector<ir::Update> updates = graph.updates;
  std::erase_if(updates,
                [](const ir::Update& update) { return storage_of(update.variable).is_per_rank(); });
  std::vector<Value> roots;
  for (const ir::Update& update : updates) {
    roots.insert(roots.end(), {update.variable, update.value});
  }
  ExpressionHashes hashes;
  end_at_each(hashes, collectives);
  end_at_each(hashes, variables_among(hashes.nodes_of(roots)));
  Key all;
  for (const ir::Update& update : updates) {
    Key key;
    key.add(storage_of(update.variable).name);
    key.add(hashes.of(update.variable));
    key.add(hashes.of(update.value));
    const std::uint64_t hash = key.hash();
    all.add(hash);
    expressions.list.push_back({hash, text_of(storage_of(update.variable), *update.value.node)});
  }
  expressions.hash = all.hash();
  return expressions;
}

}  // namespace kiln::runtime
