// Writes nodes once each, into sections that grow side by side and are assembled at the end.
// format.h has the layout.
#include "core/module/write.h"

#include "core/ir/lambda.h"
#include "core/ir/scope.h"
#include "core/ir/traverse.h"
#include "core/module/format.h"
#include "core/module/local_symbols.h"
#include "core/module/text_form.h"
#include "core/ops/op.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <array>
#include <cstring>
#include <map>
#include <unordered_map>

namespace kiln::module {
namespace {

using ir::Node;
using ir::Value;

class Bytes {
 public:
  std::vector<std::byte> out;

  void number(std::uint64_t value) { insert_number(out.size(), value); }
  /// Calls `append`, and inserts the number of bytes that it appends before them.
  template <class Append>
  void with_length(const Append& append) {
    const std::size_t start = out.size();
    append();
    insert_number(start, out.size() - start);
  }
  void integer(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    number((bits << 1) ^ (value < 0 ? ~std::uint64_t{0} : 0));
  }
  void text(std::string_view value) {
    number(value.size());
    raw(value.data(), value.size());
  }
  void raw(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::byte*>(data);
    out.insert(out.end(), bytes, bytes + size);
  }
  template <class Fixed>
  void fixed(Fixed value) {
    raw(&value, sizeof(value));  // little-endian hosts only: checked in sections.cpp
  }

 private:
  void insert_number(std::size_t at, std::uint64_t value) {
    std::array<std::byte, 10> digits;
    std::size_t count = 0;
    do {
      const std::uint8_t more = value > 0x7f ? 0x80 : 0;
      digits[count++] = static_cast<std::byte>((value & 0x7f) | more);
      value >>= 7;
    } while (value != 0);
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(at), digits.begin(),
               digits.begin() + static_cast<std::ptrdiff_t>(count));
  }
};

/// Numbers ids by first appearance.
class Numbering {
 public:
  std::int64_t operator()(std::int64_t id) {
    return numbers_.emplace(id, static_cast<std::int64_t>(numbers_.size())).first->second;
  }

 private:
  std::map<std::int64_t, std::int64_t> numbers_;
};

class Writer {
 public:
  Writer(const Module& module, const WriteOptions& options) : module_(module), options_(options) {}

  Encoded write() {
    graph_section(module_.graph);
    for (const StateEntry& entry : module_.state) attributes(state_, *entry.variable.node);
    put_guards(guards_, module_.guards);
    name_section();
    return assemble(module_.state.size());
  }

 private:
  // ---- values of attributes ----
  void put(Bytes& to, std::int64_t value) { to.integer(value); }
  void put(Bytes& to, bool value) { to.number(value ? 1 : 0); }
  template <class Enum>
    requires std::is_enum_v<Enum>
  void put(Bytes& to, Enum value) {
    to.integer(static_cast<std::int64_t>(value));
  }
  void put(Bytes& to, DType value) { to.number(static_cast<std::uint64_t>(value)); }
  void put(Bytes& to, const std::string& value) { to.text(value); }
  void put(Bytes& to, const ir::Type& type) {
    put(to, type.dtype);
    put(to, type.dims);
  }
  template <class Item>
  void put(Bytes& to, const std::vector<Item>& items) {
    to.number(items.size());
    for (const Item& item : items) put(to, item);
  }
  void put(Bytes& to, const ir::Dim& dim) { put_local(to, symbols_(dim)); }
  /// `dim` is in local symbols.
  void put_local(Bytes& to, const ir::Dim& dim) {
    for (const ir::DimAtom* atom : operations_of(dim)) {
      if (operation_numbers_.count(atom) != 0) continue;
      const auto& [op, left, right] = *atom->operation();
      Bytes bytes;
      bytes.number(static_cast<std::uint64_t>(op));
      polynomial(bytes, left);
      polynomial(bytes, right);
      const auto [entry, is_new] =
          operation_bytes_.emplace(std::move(bytes.out), operation_bytes_.size());
      operation_numbers_.emplace(atom, entry->second);
      if (is_new) operations_.raw(entry->first.data(), entry->first.size());
    }
    polynomial(to, dim);
  }
  void polynomial(Bytes& to, const ir::Dim& dim) const {
    const ir::DimExpr* expr = dim.expr();
    to.integer(expr ? expr->constant : dim.value());
    to.number(expr ? expr->terms.size() : 0);
    if (!expr) return;
    for (const ir::DimTerm& term : expr->terms) {
      to.integer(term.coefficient);
      to.number(term.factors.size());
      for (const ir::DimAtomRef& factor : term.factors) {
        const ir::Symbol* symbol = factor->symbol();
        to.number(symbol ? kSymbolFactor : kOperationFactor);
        to.number(symbol ? static_cast<std::uint64_t>(symbol->id)
                         : operation_numbers_.at(factor.get()));
      }
    }
  }
  void put(Bytes& to, const ir::ConstantData& data) {
    const std::vector<std::byte>& bytes = *data.bytes;
    const bool beside = bytes.size() > ir::kSmallConstant;
    to.number(beside ? 1 : 0);
    if (!beside) {
      to.number(bytes.size());
      to.raw(bytes.data(), bytes.size());
      return;
    }
    const auto [entry, is_new] = constants_.emplace(bytes.data(), side_.size());
    if (is_new) side_.push_back({bytes.data(), bytes.size()});
    to.number(entry->second);
  }
  void put(Bytes& to, const ir::LambdaRef& lambda) {
    if (++nesting_ > kMaxNesting) {
      throw ValueError(
          "", "", kiln::text("scans and conditions are nested more than ", kMaxNesting, " deep"));
    }
    to.with_length([&] {
      put(to, lambda->parameters);
      region(to, lambda->results);
      put_guards(to, lambda->guards);
    });
    --nesting_;
  }

  /// The length of the fields in bytes, then the fields.
  void attributes(Bytes& to, const Node& node) {
    to.with_length([&] {
      ir::for_each_field(node.attrs, [&](const char* name, const auto& member) {
        if constexpr (std::is_same_v<decltype(member), const std::int64_t&>) {
          if (is_identity(node.op, name)) return put(to, identities_[node.op](member));
        }
        put(to, member);
      });
    });
  }

  // ---- nodes ----
  using Numbers = std::unordered_map<const Node*, std::uint64_t>;

  void value(Bytes& to, const Numbers& numbers, const Value& value) {
    to.number(numbers.at(value.node.get()));
    to.number(value.index);
  }

  Numbers nodes(Bytes& to, const std::vector<Value>& roots) {
    Numbers numbers;
    const auto order = ir::topological_order(roots);
    to.number(order.size());
    for (const Node* node : order) {
      to.number(static_cast<std::uint64_t>(def(node->op).code));
      attributes(to, *node);
      to.number(node->operands.size());
      for (const Value& operand : node->operands) value(to, numbers, operand);
      to.number(node->types.size());
      for (const ir::Type& type : node->types) to.number(type_number(type));
      numbers.emplace(node, numbers.size());
      origin(module_.origin_of(*node));
    }
    return numbers;
  }

  std::uint64_t type_number(const ir::Type& type) {
    const auto [entry, is_new] = type_numbers_.emplace(type, type_numbers_.size());
    if (is_new) put(types_, type);
    return entry->second;
  }

  void region(Bytes& to, const std::vector<Value>& results) {
    const Numbers numbers = nodes(to, results);
    to.number(results.size());
    for (const Value& result : results) value(to, numbers, result);
  }

  void graph_section(const ir::Graph& graph) {
    const Numbers numbers = nodes(graph_, module_.written_roots());
    graph_.number(graph.inputs.size());
    for (const Value& input : graph.inputs) value(graph_, numbers, input);
    graph_.number(graph.outputs.size());
    for (const Value& output : graph.outputs) value(graph_, numbers, output);
    graph_.number(graph.updates.size());
    for (const ir::Update& update : graph.updates) {
      value(graph_, numbers, update.variable);
      value(graph_, numbers, update.value);
    }
  }

  void put_guards(Bytes& to, const std::vector<ir::Guard>& guards) {
    to.number(guards.size());
    for (const ir::Guard& guard : guards) {
      to.number(static_cast<std::uint64_t>(guard.kind));
      put(to, guard.left);
      put(to, guard.right);
      to.text(guard.message);
      put_origin(to, options_.origins ? guard.origin : ir::Origin{});
    }
  }

  void put_origin(Bytes& to, const ir::Origin& origin) {
    to.text(origin.where.file);
    to.number(origin.where.line);
    to.text(origin.function);
  }

  /// Writes the index of an origin, and the origin itself at its first use.
  void origin(const ir::Origin& origin) {
    if (!options_.origins) return;
    const std::tuple key(std::string(origin.where.file), origin.where.line,
                         std::string(origin.function), origin.scope);
    const auto [entry, is_new] = origin_numbers_.emplace(key, origin_numbers_.size());
    origins_.number(entry->second);
    if (!is_new) return;
    put_origin(origins_, origin);
    put_scope(origin.scope);
  }

  /// Writes the number of the innermost scope that is written already, 0 for none, then the scopes
  /// inside it, outermost first.
  void put_scope(const ir::Scope* scope) {
    std::vector<const ir::Scope*> added;
    for (; scope != nullptr && scope_numbers_.count(scope) == 0; scope = scope->parent) {
      added.insert(added.begin(), scope);
    }
    origins_.number(scope == nullptr ? 0 : scope_numbers_.at(scope));
    origins_.number(added.size());
    for (const ir::Scope* one : added) {
      origins_.text(one->name);
      origins_.text(one->where.file);
      origins_.number(one->where.line);
      scope_numbers_.emplace(one, scope_numbers_.size() + 1);
    }
  }

  void name_section() {
    names_.text("kiln " KILN_VERSION);
    names_.text(module_.name);
    names_.number(symbols_.entries().size());
    for (const LocalSymbols::Entry& entry : symbols_.entries()) names_.text(entry.original);
  }

  Encoded assemble(std::size_t state_count) {
    Bytes state;
    state.number(state_count);
    state.raw(state_.out.data(), state_.out.size());
    Bytes types;
    types.number(operation_bytes_.size());
    types.raw(operations_.out.data(), operations_.out.size());
    types.number(type_numbers_.size());
    types.raw(types_.out.data(), types_.out.size());
    std::vector<std::pair<Section, const Bytes*>> sections{{Section::Names, &names_},
                                                           {Section::Types, &types},
                                                           {Section::Graph, &graph_},
                                                           {Section::State, &state},
                                                           {Section::Guards, &guards_}};
    if (options_.origins) sections.push_back({Section::Origins, &origins_});
    Bytes constants;
    Encoded encoded;
    if (options_.embed_constants) {
      constants.number(side_.size());
      for (const SideConstant& side : side_) {
        constants.number(side.size);
        constants.raw(side.data, side.size);
      }
      sections.push_back({Section::Constants, &constants});
    } else {
      encoded.constants = side_;
    }
    Bytes out;
    out.raw(kMagic, sizeof(kMagic));
    out.fixed(kFormatMajor);
    out.fixed(kFormatMinor);
    out.fixed(static_cast<std::uint32_t>(sections.size()));
    std::uint64_t offset = kHeaderBytes + kEntryBytes * sections.size();
    for (const auto& [id, bytes] : sections) {
      out.fixed(static_cast<std::uint32_t>(id));
      out.fixed(offset);
      out.fixed(static_cast<std::uint64_t>(bytes->out.size()));
      out.fixed(checksum(bytes->out));
      offset += bytes->out.size();
    }
    for (const auto& [id, bytes] : sections) out.raw(bytes->out.data(), bytes->out.size());
    encoded.bytes = std::move(out.out);
    return encoded;
  }

  struct TypeHash {
    std::size_t operator()(const ir::Type& type) const {
      std::size_t hash = static_cast<std::size_t>(type.dtype);
      for (const ir::Dim& dim : type.dims) hash = hash * 1000003 + dim.hash();
      return hash;
    }
  };

  const Module& module_;
  const WriteOptions& options_;
  Bytes names_, operations_, types_, graph_, state_, guards_, origins_;
  std::map<ir::Op, Numbering> identities_;
  LocalSymbols symbols_{LocalSymbols::Names::Original};
  /// The numbers of the operations of dims that are written, by object and by their bytes.
  std::unordered_map<const ir::DimAtom*, std::uint64_t> operation_numbers_;
  std::map<std::vector<std::byte>, std::uint64_t> operation_bytes_;
  std::unordered_map<ir::Type, std::uint64_t, TypeHash> type_numbers_;
  std::map<const std::byte*, std::uint64_t> constants_;
  std::vector<SideConstant> side_;
  std::map<std::tuple<std::string, unsigned, std::string, const ir::Scope*>, std::uint64_t>
      origin_numbers_;
  std::unordered_map<const ir::Scope*, std::uint64_t> scope_numbers_;  // from 1 on
  std::size_t nesting_ = 0;
};

}  // namespace

Encoded write_module(const Module& module, const WriteOptions& options) {
  return Writer(module, options).write();
}

}  // namespace kiln::module
