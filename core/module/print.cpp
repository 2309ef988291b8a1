// Prints the nodes first and the head last, since symbols and blobs are numbered by first use.
#include "core/module/print.h"

#include "core/ir/lambda.h"
#include "core/ir/scope.h"
#include "core/ir/traverse.h"
#include "core/module/element_text.h"
#include "core/module/local_symbols.h"
#include "core/module/text_form.h"
#include "core/ops/op.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <unordered_map>

namespace kiln::module {
namespace {

using ir::Node;
using ir::Value;

class Printer {
 public:
  explicit Printer(const Module& module) : module_(module) {}

  std::string print() {
    const Numbers numbers = nodes(module_.written_roots(), "");
    values_line("inputs", module_.graph.inputs, numbers);
    values_line("outputs", module_.graph.outputs, numbers);
    for (const ir::Update& update : module_.graph.updates) {
      values_line("update", {update.variable, update.value}, numbers);
    }
    std::vector<Value> state;
    for (const StateEntry& entry : module_.state) state.push_back(entry.variable);
    if (!state.empty()) values_line("state", state, numbers);
    for (const ir::Guard& guard : module_.guards) guard_line(guard, "");
    return head() + std::move(body_);
  }

 private:
  using Numbers = std::unordered_map<const Node*, std::size_t>;

  std::string head() const {
    std::string head = text("kir ", kTextVersion, "\nmodule ");
    append_quoted(head, module_.name);
    head += '\n';
    for (const LocalSymbols::Entry& entry : symbols_.entries()) {
      head += "symbol " + entry.local.name;
      if (entry.local.name != entry.original) {
        head += ' ';
        append_quoted(head, entry.original);
      }
      head += '\n';
    }
    head += dim_lines_ + scope_lines_;
    for (std::size_t i = 0; i < blobs_.size(); ++i) blob_lines(head, i, *blobs_[i]);
    return head;
  }

  using Blob = std::vector<std::byte>;

  static void blob_lines(std::string& out, std::size_t number, const Blob& bytes) {
    out += text("blob ", number, " ", bytes.size(), " {\n");
    for (std::size_t at = 0; at < bytes.size(); at += kBlobLineBytes) {
      out += "  ";
      append_hex(out, bytes.data() + at, std::min(kBlobLineBytes, bytes.size() - at));
      out += '\n';
    }
    out += "}\n";
  }

  void values_line(const char* word, const std::vector<Value>& values, const Numbers& numbers) {
    body_ += word;
    for (const Value& value : values) append(value, numbers);
    body_ += '\n';
  }

  void append(const Value& value, const Numbers& numbers) {
    body_ += " %";
    body_ += std::to_string(numbers.at(value.node.get()));
    if (value.node->types.size() == 1) return;
    body_ += '#';
    body_ += std::to_string(value.index);
  }

  void guard_line(const ir::Guard& guard, const std::string& indent) {
    body_ += indent;
    body_ += guard.kind == ir::Guard::Kind::Equal ? "guard equal " : "guard less_equal ";
    put(guard.left);
    body_ += ' ';
    put(guard.right);
    body_ += ' ';
    append_quoted(body_, guard.message);
    append_origin({guard.origin.where, guard.origin.function});
    body_ += '\n';
  }

  /// "; dot train.cpp:88 in #1 encoder/attention"
  void append_origin(const ir::Origin& origin) {
    if (same_scoped_origin(origin, {})) return;
    body_ += " ; ";
    append_word(body_, origin.function);
    append_where(body_, origin.where);
    if (origin.scope == nullptr) return;
    body_ += text(" in #", number_of(origin.scope), " ");
    append_word(body_, scope_path(origin.scope));
  }

  /// The number of a scope, which has a line in the head, after that of the scope around it.
  std::size_t number_of(const ir::Scope* scope) {
    const auto known = scope_numbers_.find(scope);
    if (known != scope_numbers_.end()) return known->second;
    const std::string around =
        scope->parent == nullptr ? "" : text(" in #", number_of(scope->parent));
    const std::size_t number = scope_numbers_.size();
    scope_numbers_.emplace(scope, number);
    scope_lines_ += text("scope #", number, " ");
    append_word(scope_lines_, scope->name);
    append_where(scope_lines_, scope->where);
    scope_lines_ += around + "\n";
    return number;
  }

  static void append_where(std::string& out, Where where) {
    out += ' ';
    append_word(out, where.file);
    out += ':';
    out += std::to_string(where.line);
  }

  static void append_word(std::string& out, std::string_view word) {
    bool plain = !word.empty();
    for (const char c : word) plain = plain && is_plain_character(c);
    if (plain) {
      out += word;
    } else {
      append_quoted(out, word);
    }
  }

  // ---- nodes ----
  Numbers nodes(const std::vector<Value>& roots, const std::string& indent) {
    Numbers numbers;
    for (const Node* node : ir::topological_order(roots)) {
      body_ += indent;
      body_ += '%';
      body_ += std::to_string(numbers.size());
      body_ += " = ";
      body_ += def(*node).name;
      for (const Value& operand : node->operands) append(operand, numbers);
      fields(*node, indent);
      body_ += " :";
      for (std::size_t i = 0; i < node->types.size(); ++i) {
        body_ += i == 0 ? " " : ", ";
        put(node->types[i]);
      }
      append_origin(module_.origin_of(*node));
      body_ += '\n';
      numbers.emplace(node, numbers.size());
    }
    return numbers;
  }

  void fields(const Node& node, const std::string& indent) {
    if (const auto* constant = std::get_if<ir::ConstantAttrs>(&node.attrs)) {
      body_ += " data=";
      return put_data(*constant);
    }
    ir::for_each_field(node.attrs, [&](const char* name, const auto& member) {
      using Member = std::remove_cvref_t<decltype(member)>;
      if constexpr (std::is_same_v<Member, ir::Type>) {
        return;  // it is the type of the result
      } else {
        if (is_scope(node.op, name)) return;  // 0 in every closed lambda
        body_ += ' ';
        body_ += name;
        body_ += '=';
        if constexpr (std::is_same_v<Member, ir::LambdaRef>) {
          put_lambda(*member, indent);
        } else if (is_identity(node.op, name)) {
          put_identity(node.op, member);
        } else {
          put(member);
        }
      }
    });
  }

  // ---- values of attributes ----
  void put(std::int64_t value) { body_ += std::to_string(value); }
  void put(bool value) { body_ += value ? "true" : "false"; }
  template <class Enum>
    requires std::is_enum_v<Enum>
  void put(Enum value) {
    put(static_cast<std::int64_t>(value));
  }
  void put(DType value) { body_ += dtype_name(value); }
  void put(const std::string& value) { append_quoted(body_, value); }
  void put(const ir::Dim& dim) {
    const ir::Dim& local = symbols_(dim);
    const bool is_large = !local.is_static() && local.expr()->operations > kMaxInlineOperations;
    if (is_large) name_operations(local);
    append_text(body_, local, append_operation_);
  }
  /// Defines the operations of `local` that are too large to be printed at every use.
  void name_operations(const ir::Dim& local) {
    for (const ir::DimAtom* atom : operations_of(local)) {
      if (atom->operations <= kMaxInlineOperations || operations_.count(atom) != 0) continue;
      std::string text;
      append_text(text, *atom->operation(), append_operation_);
      const auto [entry, is_new] = operation_texts_.emplace(text, operation_texts_.size());
      operations_.emplace(atom, entry->second);
      if (is_new) dim_lines_ += kiln::text("dim #", entry->second, " ", text, "\n");
    }
  }
  void append_operation(std::string& out, const ir::DimAtom& atom) const {
    const auto found = operations_.find(&atom);
    if (found == operations_.end()) return append_text(out, *atom.operation(), append_operation_);
    out += '#';
    out += std::to_string(found->second);
  }
  void put(const ir::Type& type) {
    put(type.dtype);
    put(type.dims);
  }
  template <class Item>
  void put(const std::vector<Item>& items) {
    body_ += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i != 0) body_ += ',';
      put(items[i]);
    }
    body_ += ']';
  }
  void put(const ir::ConstantData&) {}  // see put_data
  void put_identity(ir::Op op, std::int64_t id) {
    auto& known = identities_[op];
    put(static_cast<std::int64_t>(known.emplace(id, known.size()).first->second));
  }
  template <class Member>
  void put_identity(ir::Op, const Member&) {}

  void put_data(const ir::ConstantAttrs& constant) {
    const std::vector<std::byte>& bytes = *constant.data.bytes;
    if (bytes.size() > ir::kSmallConstant) {
      const auto [entry, is_new] = blob_numbers_.emplace(&bytes, blobs_.size());
      if (is_new) blobs_.push_back(&bytes);
      body_ += "blob ";
      body_ += std::to_string(entry->second);
      return;
    }
    const DType dtype = constant.type.dtype;
    const bool scalar = constant.type.dims.empty();
    if (!scalar) body_ += '[';
    for (std::size_t at = 0; at < bytes.size(); at += dtype_bytes(dtype)) {
      if (at != 0) body_ += ',';
      append_element(body_, dtype, bytes.data() + at);
    }
    if (!scalar) body_ += ']';
  }

  void put_lambda(const ir::Lambda& lambda, const std::string& indent) {
    if (++nesting_ > kMaxNesting) {
      throw ValueError("", "",
                       text("scans and conditions are nested more than ", kMaxNesting, " deep"));
    }
    const std::string inner = indent + "  ";
    body_ += "{\n";
    body_ += inner + "parameters";
    for (std::size_t i = 0; i < lambda.parameters.size(); ++i) {
      body_ += i == 0 ? " " : ", ";
      put(lambda.parameters[i]);
    }
    body_ += '\n';
    const Numbers numbers = nodes(lambda.results, inner);
    for (const ir::Guard& guard : lambda.guards) guard_line(guard, inner);
    body_ += inner;
    values_line("results", lambda.results, numbers);
    body_ += indent + "}";
    --nesting_;
  }

  const Module& module_;
  std::string body_;
  LocalSymbols symbols_{LocalSymbols::Names::Unique};
  std::unordered_map<ir::Op, std::unordered_map<std::int64_t, std::size_t>> identities_;
  std::unordered_map<const Blob*, std::size_t> blob_numbers_;
  std::vector<const Blob*> blobs_;
  std::size_t nesting_ = 0;
  /// The numbers of the operations of dims that have a line of their own, by object and by text.
  std::unordered_map<const ir::DimAtom*, std::size_t> operations_;
  std::unordered_map<std::string, std::size_t> operation_texts_;
  std::string dim_lines_;
  std::unordered_map<const ir::Scope*, std::size_t> scope_numbers_;
  std::string scope_lines_;
  ir::AppendOperation append_operation_ = [this](std::string& out, const ir::DimAtom& atom) {
    append_operation(out, atom);
  };
};

}  // namespace

std::string print_module(const Module& module) { return Printer(module).print(); }

std::string print_graph(const ir::Graph& graph) { return print_module(make_module(graph)); }

}  // namespace kiln::module
