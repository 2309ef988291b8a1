#include "core/module/print.h"

#include "core/ir/lambda.h"
#include "core/ir/traverse.h"
#include "core/ops/op.h"
#include "core/types/text.h"

#include <map>
#include <set>
#include <sstream>

namespace kiln::module {
namespace {

using ir::Node;
using ir::Value;

std::string quoted(std::string_view value) {
  std::string out = "\"";
  for (char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

class Printer {
 public:
  std::string print(const Module& module) {
    number_symbols(module);
    out_ << "module " << quoted(module.name) << "\n";
    for (const std::string& name : symbol_list_) out_ << "symbol " << name << "\n";
    std::vector<Value> roots = module.graph.inputs;
    for (const StateEntry& entry : module.state) roots.push_back(entry.variable);
    for (const Value& root : module.graph.roots()) roots.push_back(root);
    Names names;
    nodes(roots, names, 0);
    list("inputs", module.graph.inputs, names);
    std::vector<Value> state;
    for (const StateEntry& entry : module.state) state.push_back(entry.variable);
    list("state", state, names);
    list("outputs", module.graph.outputs, names);
    for (const ir::Update& update : module.graph.updates) {
      out_ << "update " << name_of(update.variable, names) << " = "
           << name_of(update.value, names) << "\n";
    }
    for (const ir::Guard& guard : module.guards) {
      out_ << "guard " << dim(guard.left)
           << (guard.kind == ir::Guard::Kind::Equal ? " = " : " <= ") << dim(guard.right) << " "
           << quoted(guard.fact) << origin(guard.origin) << "\n";
    }
    return out_.str();
  }

 private:
  using Names = std::map<const Node*, std::size_t>;

  // ---- symbols: unique names in order of first appearance ----
  void add_symbols(const ir::Dim& dim) {
    ir::for_each_symbol(dim, [&](const ir::Symbol& symbol) {
      if (symbols_.count(symbol.id) != 0) return;
      std::string name = symbol.name;
      for (int i = 2; !taken_.insert(name).second; ++i) name = text(symbol.name, "~", i);
      symbols_.emplace(symbol.id, name);
      symbol_list_.push_back(name);
    });
  }
  void add_symbols(const ir::Dims& dims) {
    for (const ir::Dim& dim : dims) add_symbols(dim);
  }
  void add_symbols(const ir::Type& type) { add_symbols(type.dims); }
  void add_symbols(const ir::Types& types) {
    for (const ir::Type& type : types) add_symbols(type);
  }
  void add_symbols(const ir::LambdaRef& lambda) {
    add_symbols(lambda->parameters);
    add_symbols_of(lambda->results);
  }
  template <class Other>
  void add_symbols(const Other&) {}

  void add_symbols_of(const std::vector<Value>& roots) {
    for (const Node* node : ir::topological_order(roots)) {
      ir::for_each_field(node->attrs, [&](const char*, const auto& member) { add_symbols(member); });
      add_symbols(node->types);
    }
  }

  void number_symbols(const Module& module) {
    std::vector<Value> roots = module.graph.inputs;
    for (const Value& root : module.graph.roots()) roots.push_back(root);
    add_symbols_of(roots);
    for (const ir::Guard& guard : module.guards) {
      add_symbols(guard.left);
      add_symbols(guard.right);
    }
  }

  // ---- attributes ----
  std::string dim(const ir::Dim& dim) const {
    return substitute(dim, [&](const ir::Symbol& symbol) -> std::optional<ir::Dim> {
             return ir::Dim::of({symbol.id, symbols_.at(symbol.id)});
           }).to_string();
  }
  std::string show(std::int64_t value) const { return std::to_string(value); }
  std::string show(bool value) const { return value ? "true" : "false"; }
  std::string show(DType value) const { return text(value); }
  std::string show(const std::string& value) const { return quoted(value); }
  std::string show(const ir::Dim& value) const { return dim(value); }
  std::string show(const ir::Type& type) const { return text(type.dtype, show(type.dims)); }
  template <class Item>
  std::string show(const std::vector<Item>& items) const {
    std::string out = "[";
    for (const Item& item : items) out += (out.size() > 1 ? "," : "") + show(item);
    return out + "]";
  }
  std::string show(const ir::ConstantData& data) const {
    static constexpr char kHex[] = "0123456789abcdef";
    std::string out = "0x";
    for (std::byte byte : *data.bytes) {
      out += kHex[static_cast<unsigned>(byte) >> 4];
      out += kHex[static_cast<unsigned>(byte) & 15];
    }
    return out;
  }

  std::string attributes(const Node& node) const {
    std::string out;
    ir::for_each_field(node.attrs, [&](const char* name, const auto& member) {
      using Member = std::remove_cvref_t<decltype(member)>;
      if constexpr (!std::is_same_v<Member, ir::LambdaRef>) {
        // Identities are those of the process: which of them are equal shows in the numbering.
        const bool identity = std::string_view(name) == "id" && node.op != ir::Op::HostCall;
        if (!identity) out += text(out.empty() ? "" : ", ", name, "=", show(member));
      }
    });
    return out.empty() ? out : " {" + out + "}";
  }

  static std::string origin(const ir::Origin& origin) {
    if (!origin.where.known()) return "";
    const std::string_view file(origin.where.file);
    const std::size_t slash = file.rfind('/');
    const std::string_view base = slash == std::string_view::npos ? file : file.substr(slash + 1);
    return text("  ; ", origin.function, " ", base, ":", origin.where.line);
  }

  static std::string name_of(const Value& value, const Names& names) {
    const std::string name = text("%", names.at(value.node.get()));
    return value.node->types.size() == 1 ? name : text(name, ".", value.index);
  }

  void list(const char* what, const std::vector<Value>& values, const Names& names) {
    out_ << what;
    for (const Value& value : values) out_ << " " << name_of(value, names);
    out_ << "\n";
  }

  void nodes(const std::vector<Value>& roots, Names& names, int depth) {
    const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
    for (const Node* node : ir::topological_order(roots)) {
      names.emplace(node, names.size());
      out_ << indent << "%" << names.at(node) << " = " << def(*node).name;
      for (const Value& operand : node->operands) out_ << " " << name_of(operand, names);
      out_ << attributes(*node) << " : ";
      for (std::size_t i = 0; i < node->types.size(); ++i) {
        out_ << (i == 0 ? "" : ", ") << show(node->types[i]);
      }
      out_ << origin(node->origin) << "\n";
      ir::for_each_field(node->attrs, [&](const char* name, const auto& member) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, ir::LambdaRef>) {
          lambda(name, *member, depth + 1);
        }
      });
    }
  }

  void lambda(const char* name, const ir::Lambda& lambda, int depth) {
    const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
    out_ << indent << name << " " << show(lambda.parameters) << " {\n";
    Names names;
    nodes(lambda.results, names, depth + 1);
    out_ << indent << "  ";
    list("return", lambda.results, names);
    out_ << indent << "}\n";
  }

  std::ostringstream out_;
  std::map<std::int64_t, std::string> symbols_;
  std::set<std::string> taken_;
  std::vector<std::string> symbol_list_;
};

}  // namespace

std::string print_module(const Module& module) { return Printer().print(module); }

}  // namespace kiln::module
