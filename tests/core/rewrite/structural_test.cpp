// Tests structural rules on both sides: their examples in every dtype, every elementwise op behind
// broadcasts, and random chains of movement ops. `evaluate` interprets a graph as it is given,
// without any pass: it shares no code with the rules that are checked.
#include "core/ops/build.h"
#include "core/rewrite/rules.h"
#include "tests/support/catch.h"
#include "tests/core/ops/evaluate.h"
#include "tests/core/ops/special_values.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace kiln::test {
namespace {

using ir::Dims;
using ir::Ints;
using ir::Op;
using ir::Value;

std::vector<DType> all_dtypes() {
  std::vector<DType> all;
  for (int i = 0; i < kDTypeCount; ++i) all.push_back(static_cast<DType>(i));
  return all;
}

/// Collects the parameters of an example, each once.
void collect_parameters(const Value& value, std::vector<Value>& found) {
  if (value.node->op == Op::Parameter) {
    if (std::find(found.begin(), found.end(), value) == found.end()) found.push_back(value);
    return;
  }
  for (const Value& operand : value.node->operands) collect_parameters(operand, found);
}

/// Appends both sides of an example.
void add_sides(const rewrite::StructuralRule& rule, const Value& left, std::vector<Value>& sides) {
  CHECK(rule.root(left.node->op));
  const Value right = rule.apply(*left.node);
  REQUIRE(right);
  CHECK_FALSE(right == left);
  CHECK(right.type() == left.type());
  sides.insert(sides.end(), {left, right});
}

/// Whether backends add its terms in an order that may depend on the padding.
bool adds_in_any_order(const Value& value) {
  return value.node->op == Op::Conv && is_float(value.dtype());
}

/// Whether two sides of a rule agree: to the bit, or as sums in different orders do.
bool agree(const Value& side, const Array& left, const Array& right) {
  if (!adds_in_any_order(side)) return bit_difference(left, right).empty();
  constexpr double kTerms = 64;
  const double epsilon = side.dtype() == DType::BFloat16  ? 0x1p-8
                         : side.dtype() == DType::Float16 ? 0x1p-11
                         : side.dtype() == DType::Float32 ? 0x1p-24
                                                          : 0x1p-53;
  const std::vector<double> x = doubles(left), y = doubles(right);
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [&](double a, double b) { return std::fabs(a - b) <= kTerms * epsilon; });
}

/// Operands of convolutions that are fed moderate numbers. Backends may leave out products with
/// zeros of the padding, so that those of an infinite filter are NaN on one side only:
/// core/ops/op.h. Sums in different orders overflow differently.
std::vector<Value> moderate_operands(const std::vector<Value>& sides) {
  std::vector<Value> found;
  for (const Value& side : sides) {
    if (side.node->op != Op::Conv) continue;
    found.push_back(side.node->operands[1]);
    if (adds_in_any_order(side)) collect_parameters(side, found);
  }
  return found;
}

void check_sides(const std::vector<Value>& sides, std::mt19937_64& generator) {
  std::vector<Value> parameters;
  for (const Value& side : sides) collect_parameters(side, parameters);
  const std::vector<Value> moderate = moderate_operands(sides);
  const auto is_moderate = [&](const Value& parameter) {
    return std::find(moderate.begin(), moderate.end(), parameter) != moderate.end();
  };
  for (int round = 0; round < 4; ++round) {
    std::vector<Array> feeds;
    for (const Value& parameter : parameters) {
      feeds.push_back(round == 0 || is_moderate(parameter)
                          ? random_array(generator, parameter.type(), -3, 3)
                          : repeated_specials(parameter.type(), generator));
    }
    const std::vector<Array> results = evaluate(parameters, sides, feeds);
    for (std::size_t i = 0; i < sides.size(); i += 2) {
      INFO(dtype_name(sides[i].dtype()) << ", example " << i / 2);
      INFO(bit_difference(results[i], results[i + 1]));
      CHECK(agree(sides[i], results[i], results[i + 1]));
    }
  }
}

TEST_CASE("structural rules: each holds on its examples in every dtype and fires on them") {
  std::mt19937_64 generator(2);
  for (const rewrite::StructuralRule& rule : rewrite::structural_rules()) {
    INFO("rule " << rule.name << ": " << rule.equation);
    std::vector<Value> sides;
    for (const DType dtype : all_dtypes()) {
      const std::vector<Value> examples = rule.examples(dtype);
      // No dtype is wider than these.
      const bool is_widest =
          dtype == DType::Int64 || dtype == DType::UInt64 || dtype == DType::Float64;
      const bool is_of_numbers = rule.name == "bitcast_bitcast" || rule.name == "conv_of_pad";
      const bool is_without =
          (rule.name == "cast_cast" && is_widest) || (is_of_numbers && dtype == DType::Bool);
      CHECK(examples.empty() == is_without);
      for (const Value& left : examples) add_sides(rule, left, sides);
    }
    check_sides(sides, generator);
  }
}

/// Every node of an elementwise op on values of that dtype: none where the op does not take it.
std::vector<Value> elementwise_nodes(Op op, DType dtype, const std::vector<Value>& operands,
                                     const Value& condition) {
  const ir::OpDef& d = ir::def(op);
  if (op == Op::Select) {
    return {ir::select(condition, operands[0], operands[1])};
  }
  if ((d.dtypes & ir::dtype_bit(dtype)) == 0) return {};
  const std::vector<Value> own(operands.begin(), operands.begin() + d.arity);
  if (ir::has_scalar_meaning(d)) return {ir::make(op, ir::NoAttrs{}, own)};
  std::vector<Value> casts;
  for (const DType to : all_dtypes()) {
    const bool fits = to != DType::Bool && dtype_bytes(to) == dtype_bytes(dtype);
    if (op == Op::Cast || fits) casts.push_back(ir::make(op, ir::CastAttrs{to}, own));
  }
  return casts;
}

template <class Check>
void for_each_elementwise_op(const Check& check) {
  int ops = 0;
  for (const ir::OpDef& d : ir::all_ops()) {
    const Op op = d.op;
    if (ir::def(op).lowering != ir::Lowering::Elementwise) continue;
    ++ops;
    for (const DType dtype : all_dtypes()) {
      INFO(ir::def(op).name << " of " << dtype_name(dtype));
      check(op, dtype);
    }
  }
  CHECK(ops >= 30);
}

TEST_CASE("structural rules: elementwise_broadcast holds for every elementwise op and dtype") {
  std::mt19937_64 generator(3);
  for_each_elementwise_op([&](Op op, DType dtype) {
    const auto feeds = all_combinations({dtype, dtype, DType::Bool}, 8, generator);
    std::vector<Value> parameters, spread;
    for (const Array& feed : feeds) {
      parameters.push_back(placeholder(type_of(feed)));
      spread.push_back(ir::broadcast(parameters.back(), {2, feed.size()}, {1}));
    }
    std::vector<Value> sides;
    for (const Value& left : elementwise_nodes(op, dtype, spread, spread[2])) {
      bool fired = false;
      const auto observe = [&](std::string_view rule, const ir::Node&) {
        fired = fired || rule == "elementwise_broadcast" || rule == "cast_same";
      };
      sides.insert(sides.end(), {left, rewrite::Simplifier(observe).simplify({left})[0]});
      CHECK(fired);
    }
    if (sides.empty()) return;
    const std::vector<Array> results = evaluate(parameters, sides, feeds);
    for (std::size_t i = 0; i < sides.size(); i += 2) {
      CHECK(bit_difference(results[i], results[i + 1]) == "");
    }
  });
}

/// Grows a chain of the movement ops that structural rules rewrite.
class Movement {
 public:
  Movement(std::mt19937_64& generator, DType dtype) : generator_(generator) {
    Dims dims(1 + below(4));
    for (ir::Dim& dim : dims) dim = static_cast<std::int64_t>(below(8) == 0 ? 0 : 1 + below(3));
    parameters_ = {placeholder({dtype, dims}), placeholder({dtype, dims})};
    value_ = parameters_[0];
  }
  const std::vector<Value>& parameters() const { return parameters_; }
  const Value& value() const { return value_; }

  void step() {
    switch (below(9)) {
      case 0: return reshape();
      case 1: return permute();
      case 2: return broadcast();
      case 3: return apply(Op::Reverse, ir::AxesAttrs{some_axes()});
      case 4: return slice();
      case 5: return concat();
      case 6: return part_of_concat();
      case 7: return apply(Op::Identity, ir::NoAttrs{});
      default: return same();
    }
  }

 private:
  std::size_t below(std::size_t count) { return generator_() % count; }
  std::size_t rank() const { return value_.dims().size(); }
  std::int64_t size(std::size_t axis) const { return value_.dims()[axis].value(); }
  void apply(Op op, ir::Attrs attrs) { value_ = ir::make(op, std::move(attrs), {value_}); }
  Ints some_axes() {
    Ints axes;
    for (std::size_t i = 0; i < rank(); ++i) {
      if (below(2) == 0) axes.push_back(static_cast<std::int64_t>(i));
    }
    return axes;
  }
  void reshape() {
    Dims dims = value_.dims();
    for (std::size_t i = dims.size(); i-- > 0;) {
      if (below(2) == 0) std::swap(dims[i], dims[below(i + 1)]);
    }
    const auto position = static_cast<std::ptrdiff_t>(below(rank() + 1));
    if (below(2) == 0) dims.insert(dims.begin() + position, 1);
    if (dims.size() > 1 && below(2) == 0) {
      dims[1] = dims[0].value() * dims[1].value();
      dims.erase(dims.begin());
    }
    apply(Op::Reshape, ir::DimsAttrs{dims});
  }
  void permute() {
    Ints axes(rank());
    std::iota(axes.begin(), axes.end(), 0);
    for (std::size_t i = axes.size(); i-- > 0;) std::swap(axes[i], axes[below(i + 1)]);
    apply(Op::Permute, ir::AxesAttrs{axes});
  }
  void broadcast() {
    if (rank() > 5) return;
    Dims dims = value_.dims();
    Ints axes(rank());
    std::iota(axes.begin(), axes.end(), 0);
    const std::size_t at = below(rank() + 1);
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at),
                static_cast<std::int64_t>(below(3)));
    for (std::size_t i = at; i < axes.size(); ++i) ++axes[i];
    apply(Op::Broadcast, ir::BroadcastAttrs{dims, axes});
  }
  void slice() {
    ir::SliceAttrs attrs;
    for (std::size_t i = 0; i < rank(); ++i) {
      const bool whole = below(2) == 0;
      const auto start =
          whole ? 0 : static_cast<std::int64_t>(below(static_cast<std::size_t>(size(i)) + 1));
      const std::int64_t rest = size(i) - start;
      const auto length =
          whole ? rest : static_cast<std::int64_t>(below(static_cast<std::size_t>(rest) + 1));
      attrs.start.push_back(start);
      attrs.limit.push_back(start + length);
      attrs.step.push_back(whole ? 1 : static_cast<std::int64_t>(1 + below(2)));
    }
    apply(Op::Slice, attrs);
  }
  std::vector<Value> parts() {
    const bool fits = parameters_[1].dims() == value_.dims();
    const Value other = fits ? parameters_[1] : ir::make(Op::Reverse, ir::AxesAttrs{{0}}, {value_});
    std::vector<Value> all{value_, other, value_};
    all.resize(1 + below(3));
    return all;
  }
  void concat() {
    if (rank() == 0) return;
    const auto axis = static_cast<std::int64_t>(below(rank()));
    if (size(static_cast<std::size_t>(axis)) > 8) return;
    value_ = ir::make(Op::Concat, ir::AxisAttrs{axis}, parts());
  }
  /// Mostly a whole part, else a slice that begins or ends inside of a part.
  void part_of_concat() {
    if (rank() == 0) return;
    const std::size_t axis = below(rank());
    const std::int64_t own = size(axis);
    if (own > 8) return;
    value_ = ir::make(Op::Concat, ir::AxisAttrs{static_cast<std::int64_t>(axis)}, parts());
    const auto count = static_cast<std::size_t>(own == 0 ? 1 : size(axis) / own);
    ir::SliceAttrs attrs = whole();
    std::int64_t start = own * static_cast<std::int64_t>(below(count));
    std::int64_t limit = start + own;
    if (below(3) == 0) limit = std::min(limit + 1, size(axis));
    if (below(4) == 0) start = std::min(start + 1, limit);
    attrs.start[axis] = start;
    attrs.limit[axis] = limit;
    apply(Op::Slice, attrs);
  }
  /// The slice of all elements.
  ir::SliceAttrs whole() const {
    return {.start = Dims(rank(), 0), .limit = value_.dims(), .step = Ints(rank(), 1)};
  }
  /// Adds an op that moves nothing.
  void same() {
    Ints axes(rank());
    std::iota(axes.begin(), axes.end(), 0);
    switch (below(4)) {
      case 0: return apply(Op::Reshape, ir::DimsAttrs{value_.dims()});
      case 1: return apply(Op::Permute, ir::AxesAttrs{axes});
      case 2: return apply(Op::Broadcast, ir::BroadcastAttrs{value_.dims(), axes});
      default: return apply(Op::Slice, whole());
    }
  }

  std::mt19937_64& generator_;
  std::vector<Value> parameters_;
  Value value_;
};

TEST_CASE("structural rules: chains of movement ops keep every element through all rules") {
  std::mt19937_64 generator(4);
  std::map<std::string_view, int> fired;
  for (int round = 0; round < 24; ++round) {
    for (const DType dtype : all_dtypes()) {
      Movement chain(generator, dtype);
      std::vector<Value> sides;
      for (int i = 0; i < 6; ++i) {
        chain.step();
        const auto observe = [&](std::string_view rule, const ir::Node&) { ++fired[rule]; };
        const auto right = rewrite::Simplifier(observe).simplify({chain.value()});
        sides.insert(sides.end(), {chain.value(), right[0]});
      }
      std::vector<Array> feeds;
      for (const Value& parameter : chain.parameters()) {
        feeds.push_back(repeated_specials(parameter.type(), generator));
      }
      const std::vector<Array> results = evaluate(chain.parameters(), sides, feeds);
      for (std::size_t i = 0; i < sides.size(); i += 2) {
        CHECK(bit_difference(results[i], results[i + 1]) == "");
      }
    }
  }
  for (const char* rule :
       {"drop_identity", "reshape_reshape", "reshape_same", "permute_permute", "permute_same",
        "broadcast_broadcast", "broadcast_same", "reverse_reverse", "slice_all", "slice_slice",
        "concat_one", "slice_concat"}) {
    INFO(rule);
    CHECK(fired[rule] > 0);
  }
}

/// One element as a scalar constant.
Value constant_of(const Array& array, std::size_t i) {
  const std::size_t size = dtype_bytes(array.dtype());
  const auto* first = static_cast<const std::byte*>(array.data()) + i * size;
  return ir::constant({array.dtype(), {}}, {first, first + size});
}

/// Checks equal bits; up to the last bits where a backend has math functions of its own.
void check_folded(const Array& folded, const Array& found, const ir::OpDef& op) {
  if (!op.expensive) {
    CHECK(bit_difference(folded, found) == "");
    return;
  }
  const DType dtype = folded.dtype();
  const double tolerance = dtype == DType::Float16    ? 2e-3
                           : dtype == DType::BFloat16 ? 1.6e-2
                           : dtype == DType::Float32  ? 4e-6
                                                      : 4e-14;
  CHECK(difference(folded, found, tolerance, 1e-37) == "");
}

// On `reference`, folding and evaluation share apply_scalar and convert_elements, and only the code
// around these differs; on `cpu` (ctest rewrite/on-cpu-*) they share nothing.
TEST_CASE("fold_constants: gives the values of evaluation, for every op and dtype") {
  std::mt19937_64 generator(5);
  for_each_elementwise_op([&](Op op, DType dtype) {
    std::vector<DType> dtypes(static_cast<std::size_t>(ir::def(op).arity), dtype);
    if (op == Op::Select) dtypes = {dtype, dtype, DType::Bool};
    const auto feeds = all_combinations(dtypes, 4, generator);
    const auto nodes_on = [&](const std::vector<Value>& operands) {
      const Value condition = op == Op::Select ? operands[2] : Value{};
      return elementwise_nodes(op, dtype, operands, condition);
    };
    std::vector<Value> parameters;
    for (const Array& feed : feeds) parameters.push_back(placeholder(type_of(feed)));
    const std::vector<Value> results = nodes_on(parameters);
    if (results.empty()) return;
    const std::vector<Array> found = evaluate(parameters, results, feeds);
    std::vector<std::vector<std::byte>> bytes(results.size());
    for (std::size_t i = 0; i < static_cast<std::size_t>(feeds[0].size()); ++i) {
      std::vector<Value> constants;
      for (const Array& feed : feeds) constants.push_back(constant_of(feed, i));
      const std::vector<Value> nodes = nodes_on(constants);
      for (std::size_t r = 0; r < nodes.size(); ++r) {
        const Value folded = rewrite::fold_constants(*nodes[r].node);
        REQUIRE(folded);
        REQUIRE(folded.type() == nodes[r].type());
        const auto& own = *folded.node->as<ir::ConstantAttrs>().data.bytes;
        bytes[r].insert(bytes[r].end(), own.begin(), own.end());
      }
    }
    for (std::size_t r = 0; r < results.size(); ++r) {
      const Array folded = Array::copy_of(bytes[r].data(), found[r].dims(), results[r].dtype());
      check_folded(folded, found[r], ir::def(op));
    }
  });
}

}  // namespace
}  // namespace kiln::test
