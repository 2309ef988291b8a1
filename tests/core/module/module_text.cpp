// Prints a module as module_text.c does, from the graph that Kiln has.
#include "tests/core/module/module_text.h"

#include "core/ir/scope.h"
#include "core/ir/traverse.h"
#include "core/module/read.h"
#include "core/module/text_form.h"
#include "core/module/write.h"
#include "core/types/text.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>

namespace kiln::test {
namespace {

using namespace kiln::ir;

class ModulePrinter {
 public:
  explicit ModulePrinter(const module::Module& module) : module_(module) {}

  std::string print() {
    put("\"", module_.name, "\"\n");
    const Numbers numbers = nodes(module_.written_roots());
    values("inputs", module_.graph.inputs, numbers);
    values("\noutputs", module_.graph.outputs, numbers);
    put("\nupdates");
    for (const Update& update : module_.graph.updates) {
      values("", {update.variable, update.value}, numbers);
    }
    put("\n");
    for (const module::StateEntry& entry : module_.state) {
      const auto& variable = entry.variable.node->as<VariableAttrs>();
      put("state ", number_of(Op::Variable, variable.id), " ");
      field(variable.name);
      put(" ");
      field(variable.type);
      put("\n");
    }
    guards(module_.guards);
    return std::move(out_);
  }

 private:
  using Numbers = std::map<const Node*, std::size_t>;

  template <class... Parts>
  void put(const Parts&... parts) {
    out_ += text(parts...);
  }

  void values(const char* word, const std::vector<Value>& values, const Numbers& numbers) {
    put(word);
    for (const Value& value : values) put(" %", numbers.at(value.node.get()), ".", value.index);
  }

  void origin(const Origin& origin) {
    put(" ; \"", origin.function, "\" \"", origin.where.file, "\":", origin.where.line);
    for (const Scope* scope = origin.scope; scope != nullptr; scope = scope->parent) {
      put(" in \"", scope->name, "\" \"", scope->where.file, "\":", scope->where.line);
    }
  }

  void guards(const std::vector<Guard>& guards) {
    for (const Guard& guard : guards) {
      put("guard ", static_cast<int>(guard.kind), " ");
      field(guard.left);
      put(" ");
      field(guard.right);
      put(" ");
      field(guard.message);
      origin(guard.origin);
      put("\n");
    }
  }

  // ---- fields ----
  void field(std::int64_t value) { put(value); }
  void field(bool value) { put(value); }
  template <class Enum>
    requires std::is_enum_v<Enum>
  void field(Enum value) {
    put(static_cast<std::int64_t>(value));
  }
  void field(const std::string& value) { put("\"", value, "\""); }
  void field(const Dim& dim) {
    try {
      put(evaluate(dim, [](const Symbol& symbol) {
        return std::optional(module_text_symbol(symbol.name.data(), symbol.name.size()));
      }));
    } catch (const ValueError&) {  // too large, or a division by zero
      put("?");
    }
  }
  void field(const Type& type) {
    field(type.dtype);
    field(type.dims);
  }
  template <class Item>
  void field(const std::vector<Item>& items) {
    put("[");
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i != 0) put(",");
      field(items[i]);
    }
    put("]");
  }
  void field(const ConstantData& data) {
    if (data.bytes->size() > kSmallConstant) {
      return put("@", constants_.emplace(data.bytes->data(), constants_.size()).first->second);
    }
    for (const std::byte byte : *data.bytes) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      put(kDigits[static_cast<unsigned>(byte) >> 4], kDigits[static_cast<unsigned>(byte) & 15]);
    }
  }
  void field(const LambdaRef& lambda) {
    put("{\nparameters");
    for (const Type& type : lambda->parameters) {
      put(" ");
      field(type);
    }
    put("\n");
    values("results", lambda->results, nodes(lambda->results));
    put("\n");
    guards(lambda->guards);
    put("}");
  }

  std::size_t number_of(Op op, std::int64_t id) {
    auto& known = ids_[op];
    return known.emplace(id, known.size()).first->second;
  }

  Numbers nodes(const std::vector<Value>& roots) {
    Numbers numbers;
    for (const Node* node : topological_order(roots)) {
      put("%", numbers.size(), " = ", def(*node).name);
      for_each_field(node->attrs, [&](const char* name, const auto& member) {
        put(" ", name, "=");
        if constexpr (std::is_same_v<decltype(member), const std::int64_t&>) {
          if (module::is_identity(node->op, name)) return put(number_of(node->op, member));
        }
        field(member);
      });
      values("", node->operands, numbers);
      put(" :");
      for (const Type& type : node->types) {
        put(" ");
        field(type);
      }
      origin(module_.origin_of(*node));
      put("\n");
      numbers.emplace(node, numbers.size());
    }
    return numbers;
  }

  const module::Module& module_;
  std::string out_;
  std::map<Op, std::map<std::int64_t, std::size_t>> ids_;
  std::map<const std::byte*, std::size_t> constants_;
};

}  // namespace

std::string module_text(const module::Module& module) { return ModulePrinter(module).print(); }

std::string error_of_c_reader(const std::vector<std::byte>& bytes) {
  // Of the same size, so that AddressSanitizer finds reads beyond the end.
  const std::unique_ptr<std::byte[]> copy(new std::byte[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  const char* error = nullptr;
  std::free(module_text_in_c(copy.get(), bytes.size(), &error));
  return error == nullptr ? "" : error;
}

std::string difference_of_readers(const module::Module& module) {
  const module::Encoded encoded = module::write_module(module);
  const std::string expected = module_text(module::read_module(encoded.bytes, encoded.constants));
  const char* error = nullptr;
  const std::unique_ptr<char, decltype(&std::free)> found(
      module_text_in_c(encoded.bytes.data(), encoded.bytes.size(), &error), &std::free);
  if (!found) return text("the C reader fails: ", error);
  if (found.get() == expected) return "";
  return text("the C reader reads\n", found.get(), "\nbut Kiln reads\n", expected);
}

}  // namespace kiln::test
