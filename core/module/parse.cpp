// Parses statements by recursive descent; recursion follows lambdas only, whose nesting is limited.
// parse_values.cpp parses values of attributes, scanner.cpp tokens.
#include "core/module/parse.h"

#include "core/ir/lambda.h"
#include "core/module/attrs_of_kind.h"
#include "core/module/parse_values.h"
#include "core/module/read.h"
#include "core/module/text_form.h"
#include "core/module/verify.h"
#include "core/ops/make.h"
#include "core/ops/op.h"
#include "core/types/nearest.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>
#include <map>

namespace kiln::module {
namespace {

using ir::NodeRef;
using ir::Value;

class Parser {
 public:
  Parser(std::string_view text, std::string_view file)
      : file_(file), scan_(text, file), values_(scan_) {}

  Module parse() {
    scan_.expect_word("kir");
    if (scan_.peek() == '\0' || scan_.token() != kTextVersion) {
      scan_.fail(text("expected version ", kTextVersion, " of the text form"));
    }
    scan_.expect_word("module");
    module_.name = scan_.quoted();
    while (!scan_.at_end()) statement();
    if (!has_inputs_) scan_.fail_expected("'inputs'");
    if (!has_outputs_) scan_.fail_expected("'outputs'");
    if (!has_state_) module_.state = make_module(module_.graph).state;
    if (const auto violation = verify(module_)) {
      throw IoError("", "", text(file_, ": ", *violation));
    }
    return std::move(module_);
  }

 private:
  using Nodes = std::unordered_map<std::uint64_t, NodeRef>;

  /// Runs `read`; adds the position to errors of type rules and of dim arithmetic.
  template <class Read>
  void at_position(Read&& read) {
    scan_.skip_space();
    const std::size_t start = scan_.position();
    try {
      read();
    } catch (const IoError&) {
      throw;
    } catch (const Error& error) {
      scan_.fail_at(start, error.message());
    }
  }

  void statement() {
    at_position([&] {
      if (scan_.peek() == '%') return node(nodes_);
      const std::size_t start = scan_.position();
      const std::string_view word = scan_.word();
      if (word == "symbol") return values_.symbol_line();
      if (word == "dim") return values_.dim_line();
      if (word == "blob") return values_.blob_lines();
      if (word == "scope") return scan_.scope_line();
      if (word == "inputs") return list(module_.graph.inputs, has_inputs_, start);
      if (word == "outputs") return list(module_.graph.outputs, has_outputs_, start);
      if (word == "update") return update();
      if (word == "state") return state(start);
      if (word == "guard") return guard(module_.guards);
      scan_.seek(start);
      scan_.fail_expected(
          "a value (%0 = ...), symbol, dim, blob, scope, inputs, outputs, update, state or guard");
    });
  }

  void list(std::vector<Value>& values, bool& has, std::size_t start) {
    if (has) scan_.fail_at(start, "the line occurs twice");
    has = true;
    while (scan_.peek() == '%') values.push_back(value(nodes_));
  }

  void update() {
    const Value variable = value(nodes_);
    module_.graph.updates.push_back({variable, value(nodes_)});
  }

  void state(std::size_t start) {
    std::vector<Value> variables;
    list(variables, has_state_, start);
    for (const Value& variable : variables) module_.state.push_back({variable});
  }

  void guard(std::vector<ir::Guard>& guards) {
    ir::Guard guard;
    const std::string_view kind = scan_.peek_word();
    if (kind != "equal" && kind != "less_equal") scan_.fail_expected("equal or less_equal");
    scan_.word();
    guard.kind = kind == "equal" ? ir::Guard::Kind::Equal : ir::Guard::Kind::LessEqual;
    guard.left = values_.dim();
    guard.right = values_.dim();
    guard.message = scan_.quoted();
    const ir::Origin origin = scan_.trailing_origin();
    guard.origin = {origin.where, origin.function};
    guards.push_back(std::move(guard));
  }

  // ---- values: %7, or %7#1 of a node with several results ----
  Value value(const Nodes& nodes) {
    scan_.skip_space();
    const std::size_t start = scan_.position();
    scan_.expect('%');
    const std::uint64_t number = scan_.number("the number of a value");
    const auto found = nodes.find(number);
    if (found == nodes.end()) scan_.fail_at(start, text("%", number, " is not defined before"));
    const std::size_t results = found->second->types.size();
    const bool has_index = scan_.take_here('#');
    const std::uint64_t index = has_index ? scan_.number("the number of a result") : 0;
    if (index >= results || (!has_index && results != 1)) {
      scan_.fail_at(start, text("%", number, " has ", results, " results"));
    }
    return {found->second, static_cast<std::uint32_t>(index)};
  }

  // %2 = dot %0 %1 lhs=[0,1] rhs=[1,2] result=[0,2] : float32[x.0,10] ; dot train.cpp:88
  void node(Nodes& nodes) {
    scan_.expect('%');
    const std::size_t start = scan_.position();
    const std::uint64_t number = scan_.number("the number of a value");
    if (nodes.count(number) != 0) scan_.fail_at(start, text("%", number, " is defined twice"));
    scan_.expect('=');
    scan_.skip_space();
    const std::size_t op_position = scan_.position();
    const ir::OpDef& d = named_op();
    std::vector<Value> operands;
    while (scan_.peek() == '%') operands.push_back(value(nodes));
    if (d.arity != ir::kVariadic && operands.size() != static_cast<std::size_t>(d.arity)) {
      scan_.fail_at(op_position,
                    text(d.name, " takes ", d.arity, " operands, got ", operands.size()));
    }
    Fields fields{.d = d,
                  .position = op_position,
                  .attrs = attrs_of_kind(d.attrs),
                  .given = {},
                  .data_position = 0};
    while (!scan_.take(':')) field(fields);
    check_complete(fields);
    const std::size_t types_position = scan_.position();
    const ir::Types types = values_.types();
    set_type(fields, types, types_position);
    const ir::Origin origin = scan_.trailing_origin();
    NodeRef parsed = make(fields, std::move(operands), origin);
    if (!std::equal(types.begin(), types.end(), parsed->types.begin(), parsed->types.end(),
                    same_types)) {
      scan_.fail_at(types_position, text("the type of ", d.name, " is ", join_text(parsed->types),
                                         ", not ", join_text(types)));
    }
    nodes.emplace(number, std::move(parsed));
  }

  const ir::OpDef& named_op() {
    const std::string_view name = scan_.peek_word();
    if (name.empty()) scan_.fail_expected("the name of an op");
    const ir::OpDef* d = ir::find_op(name);
    if (d == nullptr) {
      std::vector<std::string> names;
      for (const ir::OpDef& known : ir::all_ops()) names.emplace_back(known.name);
      scan_.fail(text("unknown op '", name, "'", did_you_mean(name, names)));
    }
    scan_.word();
    return *d;
  }

  struct Fields {
    const ir::OpDef& d;
    std::size_t position;
    ir::Attrs attrs;
    std::vector<std::string> given;
    std::size_t data_position;
  };

  void field(Fields& fields) {
    const std::size_t start = (scan_.skip_space(), scan_.position());
    const std::string name(scan_.word());
    if (name.empty()) scan_.fail_expected("an attribute or ':'");
    scan_.expect('=');
    for (const std::string& earlier : fields.given) {
      if (earlier == name) scan_.fail_at(start, text("attribute ", name, " occurs twice"));
    }
    bool known = false;
    ir::for_each_field(fields.attrs, [&](const char* field, auto& member) {
      using Member = std::remove_cvref_t<decltype(member)>;
      if (known || field != name || std::is_same_v<Member, ir::Type> ||
          is_scope(fields.d.op, field)) {
        return;
      }
      known = true;
      if constexpr (std::is_same_v<Member, ir::ConstantData>) {
        fields.data_position = scan_.position();  // read when the type is known
        values_.skip_data();
      } else if constexpr (std::is_same_v<Member, ir::LambdaRef>) {
        member.lambda = lambda();
      } else {
        values_.get(member);
        if constexpr (std::is_same_v<Member, std::int64_t>) {
          if (is_identity(fields.d.op, field)) member = identity(fields.d.op, member);
        }
      }
    });
    if (!known) unknown_attribute(fields, start, name);
    fields.given.push_back(name);
  }

  [[noreturn]] void unknown_attribute(const Fields& fields, std::size_t start,
                                      const std::string& name) {
    std::vector<std::string> names;
    ir::for_each_field(fields.attrs, [&](const char* field, const auto& member) {
      using Member = std::remove_cvref_t<decltype(member)>;
      if (!std::is_same_v<Member, ir::Type> && !is_scope(fields.d.op, field)) {
        names.emplace_back(field);
      }
    });
    std::string hint = did_you_mean(name, names);
    if (hint.empty()) hint = names.empty() ? "; it has none" : "; it has " + join_text(names);
    scan_.fail_at(start, text(fields.d.name, " has no attribute '", name, "'", hint));
  }

  void check_complete(const Fields& fields) {
    ir::for_each_field(fields.attrs, [&](const char* field, const auto& member) {
      using Member = std::remove_cvref_t<decltype(member)>;
      if (std::is_same_v<Member, ir::Type> || is_scope(fields.d.op, field)) return;
      for (const std::string& given : fields.given) {
        if (given == field) return;
      }
      scan_.fail_at(fields.position, text(fields.d.name, " needs the attribute ", field));
    });
  }

  /// Sets the type attribute of a leaf, and parses a constant's elements, which depend on its
  /// dtype.
  void set_type(Fields& fields, const ir::Types& types, std::size_t position) {
    ir::for_each_field(fields.attrs, [&](const char*, auto& member) {
      using Member = std::remove_cvref_t<decltype(member)>;
      if constexpr (std::is_same_v<Member, ir::Type>) {
        if (types.size() != 1) scan_.fail_at(position, "expected one type");
        member = types[0];
      }
      if constexpr (std::is_same_v<Member, ir::ConstantData>) {
        const std::size_t after = scan_.position();
        scan_.seek(fields.data_position);
        member = values_.data(types[0].dtype);
        scan_.seek(after);
      }
    });
  }

  NodeRef make(Fields& fields, std::vector<Value> operands, const ir::Origin& origin) {
    const ir::OriginScope scope(origin, /*replace=*/true);
    try {
      NodeRef node = ir::make_node(fields.d.op, std::move(fields.attrs), std::move(operands));
      module_.set_origin(*node, origin);
      return node;
    } catch (const Error& error) {
      scan_.fail_at(fields.position, error.message());
    }
  }

  std::int64_t identity(ir::Op op, std::int64_t number) {
    const auto [entry, is_new] = identities_.emplace(std::pair(op, number), 0);
    if (is_new) entry->second = fresh_id();
    return entry->second;
  }

  std::shared_ptr<const ir::Lambda> lambda() {
    if (++nesting_ > kMaxNesting) scan_.fail("lambdas are nested too deep");
    auto lambda = std::make_shared<ir::Lambda>();
    scan_.expect('{');
    scan_.expect_word("parameters");
    if (scan_.peek() != '%' && scan_.peek_word() != "results") {
      lambda->parameters = values_.types();
    }
    Nodes own;
    while (scan_.peek() == '%') at_position([&] { node(own); });
    while (scan_.peek_word() == "guard") {
      scan_.word();
      at_position([&] { guard(lambda->guards); });
    }
    scan_.expect_word("results");
    while (scan_.peek() == '%') lambda->results.push_back(value(own));
    scan_.expect('}');
    --nesting_;
    return lambda;
  }

  std::string_view file_;
  Scanner scan_;
  ValueParser values_;
  Module module_;
  Nodes nodes_;
  std::map<std::pair<ir::Op, std::int64_t>, std::int64_t> identities_;
  bool has_inputs_ = false, has_outputs_ = false, has_state_ = false;
  std::size_t nesting_ = 0;
};

}  // namespace

Module parse_module(std::string_view text, std::string_view file) {
  if (text.size() > kMaxTextBytes) {
    throw IoError(
        "", "",
        kiln::text(file, ": it has ", text.size(), " bytes, at most ", kMaxTextBytes, " are read"));
  }
  return Parser(text, file).parse();
}

}  // namespace kiln::module
