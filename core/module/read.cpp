// Rebuilds nodes in the order in which they were written, from sections that sections.h has
// checked.
#include "core/module/read.h"

#include "core/ir/lambda.h"
#include "core/ir/scope.h"
#include "core/module/attrs_of_kind.h"
#include "core/module/sections.h"
#include "core/module/text_form.h"
#include "core/module/verify.h"
#include "core/ops/make.h"
#include "core/types/fork.h"
#include "core/types/no_destructor.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <set>

namespace kiln::module {
namespace {

using ir::Value;

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, std::span<const SideConstant> constants)
      : sections_(sections_of(bytes)), side_(constants.begin(), constants.end()) {}

  Module read() {
    Module& module = module_;
    Cursor& names = section(Section::Names);
    names.text_value();  // the producer
    module.name = names.text_value();
    const std::size_t symbols = names.count();
    for (std::size_t i = 0; i < symbols; ++i) {
      symbols_.push_back(*ir::Dim::fresh(names.text_value()).as_symbol());
    }
    read_operations(section(Section::Types));
    get(section(Section::Types), types_);
    read_embedded();
    graph(module.graph);
    state(module.state);
    get_guards(section(Section::Guards), module.guards);
    for (const auto& [id, cursor] : sections_) cursor.require_end();
    if (const auto violation = verify(module)) damaged(*violation);
    return std::move(module);
  }

 private:
  Cursor& section(Section id) {
    const auto found = sections_.find(id);
    if (found == sections_.end()) damaged("a section is missing");
    return found->second;
  }

  void read_embedded() {
    const auto found = sections_.find(Section::Constants);
    if (found == sections_.end()) return;
    const std::size_t count = found->second.count();
    side_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const auto bytes = found->second.raw(found->second.count());
      side_.push_back({bytes.data(), bytes.size()});
    }
  }

  // ---- values of attributes ----
  void get(Cursor& from, std::int64_t& value) { value = from.integer(); }
  void get(Cursor& from, bool& value) { value = from.number() != 0; }
  /// Type rules reject unknown enumerators.
  template <class Enum>
    requires std::is_enum_v<Enum>
  void get(Cursor& from, Enum& value) {
    static_assert(sizeof(Enum) == sizeof(std::int64_t), "a number could wrap to an enumerator");
    value = static_cast<Enum>(from.integer());
  }
  void get(Cursor& from, std::string& value) { value = from.text_value(); }
  void get(Cursor& from, DType& value) {
    const std::uint64_t number = from.number();
    if (number >= static_cast<std::uint64_t>(kDTypeCount)) damaged(text("dtype ", number));
    value = static_cast<DType>(number);
  }
  void get(Cursor& from, ir::Type& type) {
    get(from, type.dtype);
    get(from, type.dims);
    if (type.dims.size() > kMaxDims) damaged("a type has too many dims");
  }
  template <class Item>
  void get(Cursor& from, std::vector<Item>& items) {
    const std::size_t count = from.count();
    for (std::size_t i = 0; i < count; ++i) {
      Item item{};
      get(from, item);
      items.push_back(std::move(item));
    }
  }
  void get(Cursor& from, ir::Dim& dim) { dim = polynomial(from); }

  void read_operations(Cursor& from) {
    const std::size_t count = from.count();
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t op = from.number();
      const ir::Dim left = polynomial(from);
      operations_.push_back(apply(op, left, polynomial(from)));
    }
  }

  ir::Dim polynomial(Cursor& from) {
    ir::Dims parts{from.integer()};
    std::size_t pending = 0;  // terms since `parts` were added up
    const std::size_t terms = from.count(ir::kMaxDimTerms);
    for (std::size_t t = 0; t < terms; ++t) {
      ir::Dim product = from.integer();
      const std::size_t factors = from.count(ir::kMaxDimFactors);
      for (std::size_t f = 0; f < factors; ++f) {
        const ir::Dim factor = read_factor(from);
        if (term_count(product) * term_count(factor) > kMaxExpandedTerms) {
          damaged("a dim is too large");
        }
        product = product * factor;
      }
      pending += term_count(product);
      parts.push_back(std::move(product));
      if (pending < ir::kMaxDimTerms) continue;
      // total() limits the sum; here, so that a small file does not need much memory before.
      parts = {ir::total(parts)};
      pending = 0;
    }
    return ir::total(parts);
  }

  ir::Dim read_factor(Cursor& from) {
    const std::uint64_t kind = from.number();
    const std::uint64_t index = from.number();
    if (kind == kSymbolFactor) {
      if (index >= symbols_.size()) damaged("a symbol is not in the table");
      return ir::Dim::of(symbols_[index]);
    }
    if (kind != kOperationFactor) damaged("a dim has a factor of unknown kind");
    if (index >= operations_.size()) damaged("a dim has an operation that is not defined before");
    return operations_[index];
  }

  static ir::Dim apply(std::uint64_t op, const ir::Dim& left, const ir::Dim& right) {
    // Checked before the cast: DimOp has 8 bits, to which 257 wraps as 1.
    constexpr auto kLast = static_cast<std::uint64_t>(ir::DimOp::Min);
    if (op == 0 || op > kLast) damaged("a dim has an unknown operation");
    switch (static_cast<ir::DimOp>(op)) {
      case ir::DimOp::FloorDiv: return floor_div(left, right);
      case ir::DimOp::Mod: return mod(left, right);
      case ir::DimOp::Max: return max(left, right);
      case ir::DimOp::Min: break;
    }
    return min(left, right);
  }

  void get(Cursor& from, ir::ConstantData& data) {
    if (from.number() == 0) {
      const auto bytes = from.raw(from.count(ir::kSmallConstant));
      data.bytes = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
      return;
    }
    const std::uint64_t index = from.number();
    if (index >= side_.size()) damaged("a constant beside the module is missing");
    auto& shared = shared_[index];
    const SideConstant& side = side_[index];
    if (!shared) {
      shared = std::make_shared<const std::vector<std::byte>>(side.data, side.data + side.size);
    }
    data.bytes = shared;
  }
  void get(Cursor& outer, ir::LambdaRef& ref) {
    if (++nesting_ > kMaxNesting) damaged("lambdas are nested too deep");
    Cursor from = outer.part("a lambda");
    auto lambda = std::make_shared<ir::Lambda>();
    get(from, lambda->parameters);
    const std::vector<ir::NodeRef> own = nodes(from);
    const std::size_t results = from.count();
    for (std::size_t i = 0; i < results; ++i) lambda->results.push_back(value(from, own));
    get_guards(from, lambda->guards);
    from.require_end();
    ref.lambda = std::move(lambda);
    --nesting_;
  }

  ir::Attrs attributes(Cursor& outer, const ir::OpDef& d) {
    Cursor from = outer.part("the attribute list", d.name);
    ir::Attrs held = attrs_of_kind(d.attrs);
    ir::for_each_field(held, [&](const char* name, auto& member) {
      if constexpr (std::is_same_v<decltype(member), std::int64_t&>) {
        if (is_identity(d.op, name)) {
          member = identity(d.op, from.integer());
          return;
        }
      }
      get(from, member);
    });
    from.require_end();
    return held;
  }

  /// The id in this process of the placeholder, variable or host call with this number.
  std::int64_t identity(ir::Op op, std::int64_t number) {
    const auto [entry, is_new] = identities_.emplace(std::pair(op, number), 0);
    if (is_new) entry->second = fresh_id();
    return entry->second;
  }

  // ---- nodes ----
  Value value(Cursor& from, const std::vector<ir::NodeRef>& nodes) {
    const std::uint64_t node = from.number(), index = from.number();
    if (node >= nodes.size()) damaged("a value is used before it is defined");
    if (index >= nodes[node]->types.size()) damaged("a node has no such result");
    return {nodes[node], static_cast<std::uint32_t>(index)};
  }

  std::vector<ir::NodeRef> nodes(Cursor& from) {
    std::vector<ir::NodeRef> nodes;
    const std::size_t count = from.count();
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t code = from.number();
      const ir::OpDef* d = ir::find_op(code);
      if (d == nullptr) {
        throw IoError("", "", text("the module has op ", code, " of another version of Kiln"));
      }
      ir::Attrs own = attributes(from, *d);
      const std::size_t operand_count = from.count();
      if (d->arity != ir::kVariadic && operand_count != static_cast<std::size_t>(d->arity)) {
        damaged(text(d->name, " has ", operand_count, " operands"));
      }
      std::vector<Value> operands;
      for (std::size_t o = 0; o < operand_count; ++o) operands.push_back(value(from, nodes));
      const ir::Origin origin = next_origin();
      const ir::OriginScope scope(origin, /*replace=*/true);
      nodes.push_back(ir::make_node(d->op, std::move(own), std::move(operands)));
      module_.set_origin(*nodes.back(), origin);
      check_types(from, *nodes.back());
    }
    return nodes;
  }

  /// Compares the types that were written with those that the type rules infer.
  void check_types(Cursor& from, const ir::Node& node) {
    bool equal = from.number() == node.types.size();
    for (std::size_t i = 0; equal && i < node.types.size(); ++i) {
      const std::uint64_t number = from.number();
      if (number >= types_.size()) damaged("a type is not in the table");
      equal = same_types(types_[number], node.types[i]);
    }
    if (equal) return;
    damaged(text("the stored type of ", ir::def(node).name, " differs from the inferred one"));
  }

  Where read_where(Cursor& from) {
    const std::string file = from.text_value();
    const std::uint64_t line = from.number();
    if (line > std::numeric_limits<unsigned>::max()) damaged(text("source line ", line));
    return {interned_text(file), static_cast<unsigned>(line)};
  }

  /// An origin without its scope.
  ir::Origin read_origin(Cursor& from) {
    const Where where = read_where(from);
    return {where, interned_text(from.text_value())};
  }

  const ir::Scope* read_scope(Cursor& from) {
    const std::uint64_t number = from.number();
    if (number > scopes_.size()) damaged("a name scope is not in the table");
    const ir::Scope* scope = number == 0 ? nullptr : scopes_[number - 1];
    const std::size_t added = from.count(ir::kMaxScopeDepth - ir::scope_depth(scope));
    for (std::size_t i = 0; i < added; ++i) {
      const std::string name = from.text_value();
      const std::string fault = ir::scope_name_fault(name);
      if (!fault.empty()) damaged("the name of a scope " + fault);
      scope = ir::intern_scope({.name = name, .where = read_where(from), .parent = scope});
      scopes_.push_back(scope);
    }
    return scope;
  }

  ir::Origin next_origin() {
    const auto found = sections_.find(Section::Origins);
    if (found == sections_.end()) return {};
    const std::uint64_t index = found->second.number();
    if (index > origins_.size()) damaged("a source line is not in the table");
    if (index == origins_.size()) {
      origins_.push_back(read_origin(found->second));
      origins_.back().scope = read_scope(found->second);
    }
    return origins_[index];
  }

  void graph(ir::Graph& graph) {
    Cursor& from = section(Section::Graph);
    const std::vector<ir::NodeRef> own = nodes(from);
    const std::size_t inputs = from.count();
    for (std::size_t i = 0; i < inputs; ++i) graph.inputs.push_back(value(from, own));
    const std::size_t outputs = from.count();
    for (std::size_t i = 0; i < outputs; ++i) graph.outputs.push_back(value(from, own));
    const std::size_t updates = from.count();
    for (std::size_t i = 0; i < updates; ++i) {
      const Value variable = value(from, own);
      graph.updates.push_back({variable, value(from, own)});
    }
  }

  void state(std::vector<StateEntry>& entries) {
    Cursor& from = section(Section::State);
    const std::size_t count = from.count();
    for (std::size_t i = 0; i < count; ++i) {
      ir::Attrs variable = attributes(from, ir::def(ir::Op::Variable));
      entries.push_back({ir::make(ir::Op::Variable, std::move(variable), {})});
    }
  }

  void get_guards(Cursor& from, std::vector<ir::Guard>& guards) {
    const std::size_t count = from.count();
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t kind = from.number();
      if (kind > 1) damaged("a guard of unknown kind");
      ir::Guard guard;
      guard.kind = static_cast<ir::Guard::Kind>(kind);
      get(from, guard.left);
      get(from, guard.right);
      guard.message = from.text_value();
      guard.origin = read_origin(from);
      guards.push_back(std::move(guard));
    }
  }

  std::map<Section, Cursor> sections_;
  std::vector<SideConstant> side_;
  Module module_;
  ir::Types types_;
  std::vector<ir::Symbol> symbols_;
  ir::Dims operations_;  // by their numbers
  std::vector<ir::Origin> origins_;
  std::vector<const ir::Scope*> scopes_;
  std::map<std::uint64_t, std::shared_ptr<const std::vector<std::byte>>> shared_;
  std::map<std::pair<ir::Op, std::int64_t>, std::int64_t> identities_;
  std::size_t nesting_ = 0;
};

}  // namespace

namespace {

constinit ForkMutex texts_mutex;
KILN_AT_LOAD NoDestructor<std::set<std::string>> texts;  // origins point into it
[[maybe_unused]] const bool are_texts_held = hold_at_fork<texts_mutex>();

}  // namespace

const char* interned_text(const std::string& text) {
  const std::lock_guard lock(texts_mutex);
  return texts->insert(text).first->c_str();
}

std::int64_t fresh_id() {
  static std::atomic<std::int64_t> next{std::int64_t{1} << 40};
  return next.fetch_add(1, std::memory_order_relaxed);
}

Module read_module(std::span<const std::byte> bytes, std::span<const SideConstant> constants) {
  if (bytes.size() > kMaxModuleBytes) damaged(text("it has ", bytes.size(), " bytes"));
  try {
    return Reader(bytes, constants).read();
  } catch (const IoError&) {
    throw;
  } catch (const Error& error) {  // from a type rule or the arithmetic of dims
    damaged(error.message());
  }
}

}  // namespace kiln::module
