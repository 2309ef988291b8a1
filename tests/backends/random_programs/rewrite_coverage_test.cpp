// Counts which rules and passes fire in random programs and in templates, and checks that each pass
// that fires keeps the values: `reference` interprets the graphs before and after the pass as they
// are, without any other pass. A rule or pass that never fires fails the test.
#include "tests/support/catch.h"

#include "backends/codegen/host/prepared/matmul.h"
#include "core/k/base/tensor_impl.h"
#include "core/ops/halves.h"
#include "core/ops/lambda_builder.h"
#include "core/passes/pipeline.h"
#include "core/rewrite/rules.h"
#include "runtime/function/compile/build_graph.h"
#include "tests/backends/codegen/lowered.h"
#include "tests/core/ops/special_values.h"
#include "tests/backends/random_programs/coverage_counts.h"
#include "tests/backends/random_programs/coverage_templates.h"

#include <algorithm>
#include <cmath>

using namespace kiln;
using namespace kiln::testing;

namespace {

/// A program as a graph of inputs alone: variables become inputs.
struct GraphCase {
  ir::Graph graph;
  std::vector<codegen::InputOutputAlias> updates;  // positions in outputs and inputs
  std::vector<bool> unchanged;  // of each input: a variable that has no update
  std::vector<Array> feeds;
  std::vector<std::vector<Array>> moved;  // feeds with other last bits
};

/// Whether all inputs that are not exact are float32.
bool is_float32(const Program& program) {
  for (std::size_t i = 0; i < program.feeds.size(); ++i) {
    if (!program.is_exact[i] && program.feeds[i].dtype() != DType::Float32) return false;
  }
  return true;
}

GraphCase graph_case(const Program& program) {
  GraphCase result;
  result.graph = runtime::build_graph(program.inputs, program.outputs, program.updates);
  result.feeds = program.feeds;
  for (const std::uint64_t seed : {1, 2, 3}) {
    if (is_float32(program)) result.moved.push_back(moved_in_the_last_bits(program, seed));
  }
  ir::Replacements fed;
  for (std::size_t i = 0; i < program.variables.size(); ++i) {
    const ir::Value variable = value_of(program.variables, i, "variables");
    const ir::Value input = test::placeholder(variable.type(), "variable");
    fed.emplace(variable, input);
    result.graph.inputs.push_back(input);
    result.feeds.push_back(program.starts[i]);
    for (std::vector<Array>& feeds : result.moved) feeds.push_back(program.starts[i]);
  }
  for (std::size_t i = 0; i < result.graph.updates.size(); ++i) {
    const ir::Value& input = fed.at(result.graph.updates[i].variable);
    const auto at = std::find(result.graph.inputs.begin(), result.graph.inputs.end(), input);
    result.updates.push_back({static_cast<int>(result.graph.outputs.size() + i),
                              static_cast<int>(at - result.graph.inputs.begin())});
  }
  result.unchanged.resize(result.graph.inputs.size(), false);
  std::fill(result.unchanged.begin() + static_cast<std::ptrdiff_t>(program.inputs.size()),
            result.unchanged.end(), true);
  for (const codegen::InputOutputAlias& update : result.updates) {
    result.unchanged[static_cast<std::size_t>(update.argument)] = false;
  }
  result.graph.outputs = ir::replace_values(result.graph.roots(), fed);
  result.graph.updates.clear();
  return result;
}

/// The allowed difference of results whose sums were added in another order.
double reordering(const Array& array) {
  double result = 1;
  for (const double number : test::doubles(array)) {
    if (std::isfinite(number)) result = std::max(result, std::fabs(number));
  }
  return result * (array.dtype() == DType::Float64 ? 1e-11 : 2e-5);
}

/// Takes all matmuls, and convolutions but those of halves, so that graph passes leave them as they
/// are.
class WholeLibrary final : public codegen::HostLibrary {
 public:
  std::optional<std::string> rejection_of_matmul(const codegen::MatmulRequest&) const override {
    return std::nullopt;
  }
  std::shared_ptr<const codegen::PreparedMatmul> prepare(const codegen::MatmulShape&,
                                                         codegen::RhsUse) override {
    return nullptr;
  }
  std::optional<std::string> rejection_of_convolution(const ir::Node& node) const override {
    if (!ir::is_half(node.types[0].dtype)) return std::nullopt;
    return "a half";
  }
  bool requires_symmetric_padding() const override { return true; }
};

/// Runs one graph through the passes of core and of codegen, and compares values after each.
class Followed {
 public:
  Followed(const GraphCase& given, Counts& counts, Origin origin)
      : given_(given), counts_(counts), origin_(origin), results_(given.graph.outputs) {
    values_ = evaluated(results_);
  }

  void run_list_1() {
    ir::Graph before = given_.graph;
    passes::PipelineOptions options;
    options.report = [&](const passes::PassReport& report) {
      if (report.pass.name == "simplify") count_rules(before.roots());
      if (report.changed) check("pass", report.pass, report.graph.outputs);
      before = report.graph;
    };
    passes::run_pipeline(given_.graph, options);
  }

  /// Runs the passes for a target with a library, and for one without.
  void run_list_2() {
    const WholeLibrary whole;
    const std::vector<ir::Value> results = results_;
    const std::vector<Array> values = values_;
    for (const codegen::HostLibrary* library :
         {static_cast<const codegen::HostLibrary*>(&whole),
          static_cast<const codegen::HostLibrary*>(nullptr)}) {
      results_ = results;
      values_ = values;
      for (const codegen::CodegenPass& pass : codegen::graph_passes()) {
        const std::vector<ir::Value> after = codegen::after(
            pass, results_, library, given_.graph.inputs, given_.updates, given_.unchanged);
        if (after != results_) check("graph pass", pass, after);
      }
    }
  }

 private:
  std::vector<Array> evaluated(const std::vector<ir::Value>& results) const {
    return test::evaluate(given_.graph.inputs, results, given_.feeds, "reference");
  }

  /// 60 times the distance by which other last bits of the inputs move result i, before the pass.
  double sensitivity(std::size_t i) const {
    double farthest = 0;
    const std::vector<double> here = test::doubles(values_[i]);
    for (const std::vector<Array>& feeds : given_.moved) {
      const std::vector<double> there =
          test::doubles(test::evaluate(given_.graph.inputs, results_, feeds, "reference")[i]);
      for (std::size_t k = 0; k < here.size(); ++k) {
        const double distance = std::fabs(here[k] - there[k]);
        if (std::isfinite(distance)) farthest = std::max(farthest, distance);
      }
    }
    return 60 * farthest;
  }

  std::string mismatch_of(const Array& found, std::size_t i, bool keeps_bits) const {
    if (keeps_bits) return test::bit_difference(found, values_[i]);
    const double near = reordering(values_[i]);
    const std::string mismatch = test::difference(found, values_[i], 0, near);
    return mismatch.empty() ? "" : test::difference(found, values_[i], 0, near + sensitivity(i));
  }

  void count_rules(const std::vector<ir::Value>& roots) {
    const auto observe = [&](std::string_view rule, const ir::Node&) {
      counts_.add("rule", rule, origin_);
    };
    rewrite::Simplifier(observe).simplify(roots);
  }

  /// `pass`: of core/passes or of codegen.
  template <class Pass>
  void check(const std::string& kind, const Pass& pass, const std::vector<ir::Value>& after) {
    INFO(kind << " " << pass.name);
    counts_.add(kind, pass.name, origin_);
    const std::vector<Array> found = evaluated(after);
    REQUIRE(found.size() == values_.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(mismatch_of(found[i], i, pass.keeps_bits) == "");
    }
    results_ = after;
    values_ = found;
  }

  const GraphCase& given_;
  Counts& counts_;
  Origin origin_;
  std::vector<ir::Value> results_;
  std::vector<Array> values_;
};

void follow(const Program& program, Counts& counts, Origin origin) {
  const GraphCase graph_and_feeds = graph_case(program);
  // Data-dependent shapes partition a program, which the runtime does between the two pipelines.
  if (!graph_and_feeds.graph.sizes.empty()) {
    return counts.add("program", "with data-dependent shapes", origin);
  }
  counts.add("program", "followed", origin);
  Followed followed(graph_and_feeds, counts, origin);
  followed.run_list_1();
  followed.run_list_2();
}

Program with_gradients(Program program) {
  program.outputs.push_back(program.loss);
  for (const Tensor& gradient : gradients(program.loss, program.differentiable())) {
    if (!gradient.empty()) program.outputs.push_back(gradient);
  }
  return program;
}

void collect_conditions(const rewrite::Pattern& pattern, std::vector<bool>& conditions) {
  if (const auto* variable = pattern.as<rewrite::Variable>(); variable && variable->is_condition) {
    conditions[static_cast<std::size_t>(variable->index)] = true;
  }
  if (const auto* application = pattern.as<rewrite::Application>()) {
    for (const rewrite::Pattern& operand : application->operands) {
      collect_conditions(operand, conditions);
    }
  }
}

/// Simplifies the left sides of equations and the examples of structural rules: another rule may
/// fire first, but not always.
void apply_rules_to_their_own_sides(Counts& counts) {
  const auto observe = [&](std::string_view rule, const ir::Node&) {
    counts.add("rule", rule, Origin::Template);
  };
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    for (const rewrite::Equation& equation : rewrite::equations()) {
      if ((equation.dtypes & ir::dtype_bit(dtype)) == 0) continue;
      std::vector<bool> conditions(4);
      collect_conditions(equation.left, conditions);
      std::vector<ir::Value> variables;
      for (const bool is_condition : conditions) {
        variables.push_back(test::placeholder({is_condition ? DType::Bool : dtype, {3}}));
      }
      const ir::Value left = rewrite::instantiate(equation.left, variables, {dtype, {3}});
      rewrite::Simplifier(observe).simplify({left});
    }
    for (const rewrite::StructuralRule& rule : rewrite::structural_rules()) {
      rewrite::Simplifier(observe).simplify(rule.examples(dtype));
    }
    const ir::Value two = ir::scalar_constant(dtype, 1);
    rewrite::Simplifier(observe).simplify({ir::equal_to(two, two)});
  }
}

}  // namespace

TEST_CASE("coverage: every rule and pass fires, and keeps the values of a program") {
  Counts counts;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    // As float32; then as float64 with gradients, where rounding does not hide a wrong rewrite.
    for (const bool wide : {false, true}) {
      clear_session();
      set_random_seed(static_cast<std::int64_t>(seed));
      const Program program = wide ? with_gradients(random_loss(seed)) : random_program(seed);
      INFO("seed " << seed << (wide ? " of float64: " : ": ") << program.text);
      follow(program, counts, Origin::Drawn);
    }
  }
  for (const Template& one : coverage_templates()) {
    clear_session();
    INFO("template: " << one.name);
    follow(one.make(), counts, Origin::Template);
  }
  apply_rules_to_their_own_sides(counts);
  counts.report("program", "followed");
  counts.report("program", "with data-dependent shapes", false);
  counts.report("rule", rewrite::kFoldConstants);
  for (const auto& rule : rewrite::structural_rules()) counts.report("rule", rule.name);
  for (const auto& equation : rewrite::equations()) counts.report("rule", equation.name);
  for (std::size_t i = 0; i < passes::pipeline().size(); ++i) {
    const std::string_view name = passes::pipeline()[i].name;
    if (i == 0 || name != "simplify") counts.report("pass", name);
  }
  for (const auto& pass : codegen::graph_passes()) {
    if (pass.name != "check_sizes") counts.report("graph pass", pass.name);  // changes no node
  }
}
