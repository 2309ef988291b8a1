// Counts which rules, passes, epilogues and library calls fire in random programs and in templates,
// and checks that each pass that fires keeps the values: graphs before and after it are interpreted
// by `reference` as they are, without any other pass. One that never fires fails the test.
#include "tests/catch.h"

#include "backends/codegen/claims/claim.h"
#include "backends/codegen/host/prepared/product.h"
#include "core/k/frame/tensor_impl.h"
#include "core/ops/lambda_builder.h"
#include "core/passes/pipeline.h"
#include "core/rewrite/rules.h"
#include "runtime/function/compile/build_graph.h"
#include "tests/codegen/lowered.h"
#include "tests/ops/special_values.h"
#include "tests/random_programs/coverage_templates.h"
#include "tests/scratch.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <regex>
#include <sstream>

using namespace kiln;
using namespace kiln::testing;

namespace {

enum class Origin { Drawn, Template };

/// How often each thing fired, by kind and name.
class Counts {
 public:
  void add(const std::string& kind, std::string_view name, Origin origin) {
    Count& count = counts_[{kind, std::string(name)}];
    ++(origin == Origin::Drawn ? count.drawn : count.in_templates);
  }
  /// Prints the count; where it is `required`, 0 fails.
  void report(const std::string& kind, std::string_view name, bool required = true) {
    const Count count = counts_[{kind, std::string(name)}];
    std::cout << "  " << kind << " " << name << ": " << count.drawn << " in random programs, "
              << count.in_templates << " in templates" << (required ? "\n" : " (not required)\n");
    INFO(kind << " " << name << " never fires");
    if (required) CHECK(count.drawn + count.in_templates > 0);
  }

 private:
  struct Count {
    int drawn = 0, in_templates = 0;
  };
  std::map<std::pair<std::string, std::string>, Count> counts_;
};

/// A program as a graph of inputs alone: variables are fed.
struct GraphCase {
  ir::Graph graph;
  std::vector<codegen::ResultOverArgument> updates;  // numbers in outputs and inputs
  std::vector<Array> feeds;
  std::vector<std::vector<Array>> moved;  // feeds with other last bits
};

/// Whether a rounding of the inputs that are not exact is one of float32.
bool is_float32(const Program& program) {
  for (std::size_t i = 0; i < program.feeds.size(); ++i) {
    if (!program.is_exact[i] && program.feeds[i].dtype() != DType::Float32) return false;
  }
  return true;
}

GraphCase graph_case(const Program& program) {
  GraphCase made;
  made.graph = runtime::build_graph(program.inputs, program.outputs, program.updates);
  made.feeds = program.feeds;
  for (const std::uint64_t seed : {1, 2, 3}) {
    if (is_float32(program)) made.moved.push_back(moved_in_the_last_bits(program, seed));
  }
  ir::Replacements fed;
  for (std::size_t i = 0; i < program.variables.size(); ++i) {
    const ir::Value variable = value_of(program.variables, i, "variables");
    const ir::Value input = test::placeholder(variable.type(), "variable");
    fed.emplace(variable, input);
    made.graph.inputs.push_back(input);
    made.feeds.push_back(program.starts[i]);
    for (std::vector<Array>& feeds : made.moved) feeds.push_back(program.starts[i]);
  }
  for (std::size_t i = 0; i < made.graph.updates.size(); ++i) {
    const ir::Value& input = fed.at(made.graph.updates[i].variable);
    const auto at = std::find(made.graph.inputs.begin(), made.graph.inputs.end(), input);
    made.updates.push_back({static_cast<int>(made.graph.outputs.size() + i),
                            static_cast<int>(at - made.graph.inputs.begin())});
  }
  made.graph.outputs = ir::replace_values(made.graph.roots(), fed);
  made.graph.updates.clear();
  return made;
}

/// How far apart results may be of which sums were added in another order.
double reordering(const Array& array) {
  double result = 1;
  for (const double number : test::doubles(array)) {
    if (std::isfinite(number)) result = std::max(result, std::fabs(number));
  }
  return result * (array.dtype() == DType::Float64 ? 1e-11 : 2e-5);
}

/// Takes all matmuls and convolutions, so that the passes of list 2 leave them as they are.
class WholeLibrary final : public codegen::ProductLibrary {
 public:
  std::optional<std::string> rejection_of_matmul(const codegen::MatmulRequest&) const override {
    return std::nullopt;
  }
  std::shared_ptr<const codegen::PreparedProduct> prepare(const codegen::MatrixProduct&,
                                                          codegen::RhsUse) override {
    return nullptr;
  }
  std::optional<std::string> rejection_of_convolution(const ir::Node&) const override {
    return std::nullopt;
  }
};

/// Follows one graph through both lists of passes, from its values as it was written.
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

  /// Once for a target with a library and once for one without.
  void run_list_2() {
    const WholeLibrary whole;
    const std::vector<ir::Value> results = results_;
    const std::vector<Array> values = values_;
    for (const codegen::ProductLibrary* library :
         {static_cast<const codegen::ProductLibrary*>(&whole),
          static_cast<const codegen::ProductLibrary*>(nullptr)}) {
      results_ = results;
      values_ = values;
      for (const codegen::PipelineStep& pass : codegen::graph_steps()) {
        const std::vector<ir::Value> after =
            codegen::after(pass, results_, library, given_.graph.inputs, given_.updates);
        if (after != results_) check("graph pass", pass, after);
      }
    }
  }

 private:
  std::vector<Array> evaluated(const std::vector<ir::Value>& results) const {
    return test::evaluate(given_.graph.inputs, results, given_.feeds, "reference");
  }

  /// Many times how far other last bits of the inputs move result i, before the pass.
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

  std::string fault_of(const Array& found, std::size_t i, bool keeps_bits) const {
    if (keeps_bits) return test::bit_difference(found, values_[i]);
    const double near = reordering(values_[i]);
    const std::string fault = test::difference(found, values_[i], 0, near);
    return fault.empty() ? "" : test::difference(found, values_[i], 0, near + sensitivity(i));
  }

  void count_rules(const std::vector<ir::Value>& roots) {
    const auto observe = [&](std::string_view rule, const ir::Node&) {
      counts_.add("rule", rule, origin_);
    };
    rewrite::Simplifier(observe).simplify(roots);
  }

  /// `pass`: of one of the lists.
  template <class Pass>
  void check(const std::string& kind, const Pass& pass, const std::vector<ir::Value>& after) {
    INFO(kind << " " << pass.name);
    counts_.add(kind, pass.name, origin_);
    const std::vector<Array> found = evaluated(after);
    REQUIRE(found.size() == values_.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(fault_of(found[i], i, pass.keeps_bits) == "");
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
  const GraphCase made = graph_case(program);
  // Sizes that are data divide a program into parts, which the runtime does between the lists.
  if (!made.graph.sizes.empty()) return counts.add("program", "with sizes that are data", origin);
  counts.add("program", "followed", origin);
  Followed followed(made, counts, origin);
  followed.run_list_1();
  followed.run_list_2();
}

Program with_gradients(Program program) {
  program.outputs.push_back(program.loss);
  for (const Tensor& gradient : gradients(program.loss, program.differentiable())) {
    if (gradient) program.outputs.push_back(gradient);
  }
  return program;
}

void collect_conditions(const rewrite::Pattern& pattern, std::vector<bool>& conditions) {
  if (pattern->is_bool) conditions[static_cast<std::size_t>(pattern->variable)] = true;
  for (const rewrite::Pattern& operand : pattern->operands) {
    collect_conditions(operand, conditions);
  }
}

/// The left sides of equations and the examples of structural rules, through the whole driver:
/// another rule may fire first, but not always.
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

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The lines of a dump's files whose names begin so, without their comments where these are cut.
std::vector<std::string> dumped_lines(const Scratch& dump, const std::string& prefix) {
  std::vector<std::string> lines;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dump.folder())) {
    if (entry.path().filename().string().rfind(prefix, 0) != 0) continue;
    std::istringstream text(contents_of(entry.path().string()));
    for (std::string line; std::getline(text, line);) {
      lines.push_back(line.substr(std::min(line.find_first_not_of(' '), line.size())));
    }
  }
  return lines;
}

/// The epilogue of a step that multiplies or convolves, from its line in a plan; else empty.
std::string epilogue_of(const std::string& line) {
  const bool is_matmul = line.rfind("product %", 0) == 0;
  if (!is_matmul && line.rfind("convolution %", 0) != 0) return "";
  const std::string step = line.substr(0, line.find('#'));
  const bool bias = has(step, " + %"), relu = has(step, ", relu");
  const std::string of = is_matmul ? "of a matmul" : "of a convolution";
  if (bias && relu) return "bias and relu " + of;
  if (bias || relu) return (bias ? "bias " : "relu ") + of;
  return "none " + of;
}

/// Stacks that carries of loops lie in, as plans print them.
const char* const kCarryStacks[] = {
    "carry [0-9]+ in %[0-9]+ before(,|;)",
    "carry [0-9]+ in %[0-9]+ after(,|;)",
    "carry [0-9]+ in %[0-9]+ before in %[0-9]+ after(,|;)",
};

void count_library_calls(const Program& program, Counts& counts, Origin origin) {
  const Scratch dump;
  for (std::size_t i = 0; i < program.variables.size(); ++i) {
    set_value(program.variables[i], program.starts[i]);
  }
  const Function f = function(program.inputs, program.outputs,
                              {.updates = program.updates, .backend = "cpu"});
  f(program.feeds);
  f.dump(dump.folder(), Stage::Claims | Stage::Kernels | Stage::Plan | Stage::MemoryPlan);
  for (const std::string& line : dumped_lines(dump, "51-kernels")) {
    if (!has(line, " when v")) continue;
    const bool stores = line.rfind("store v", 0) == 0 || line.rfind("add v", 0) == 0;
    counts.add("guard", stores ? "of a store" : "of a load", origin);
  }
  for (const std::string& line : dumped_lines(dump, "52-plan")) {
    for (const char* stacks : kCarryStacks) {
      if (std::regex_search(line, std::regex(stacks))) counts.add("carry", stacks, origin);
    }
    const std::string epilogue = epilogue_of(line);
    if (!epilogue.empty()) counts.add("epilogue", epilogue, origin);
  }
  for (const std::string& line : dumped_lines(dump, "50-claims")) {
    for (const codegen::Claim& claim : codegen::claims()) {
      if (line.rfind(std::string(claim.name) + ": taken", 0) == 0) {
        counts.add("claim", claim.name, origin);
      }
    }
  }
  for (const std::string& line : dumped_lines(dump, "50-claims-sizes")) {
    const bool is_convolution = has(line, ": convolution in ");
    if (!is_convolution && !has(line, " product")) continue;
    const std::string of = is_convolution ? "of a convolution" : "of a matmul";
    for (const char* library : {"oneDNN", "own loops"}) {
      if (has(line, std::string(" by ") + library)) {
        counts.add("library", std::string(library) + " " + of, origin);
      }
    }
  }
}

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512cd") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}

}  // namespace

TEST_CASE("every rule and pass fires and keeps the values of a program") {
  Counts counts;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    // Of float32; then of float64 with gradients, where a wrong rewrite cannot pass for rounding.
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
  counts.report("program", "with sizes that are data", false);
  counts.report("rule", rewrite::kFoldConstants);
  for (const auto& rule : rewrite::structural_rules()) counts.report("rule", rule.name);
  for (const auto& equation : rewrite::equations()) counts.report("rule", equation.name);
  for (std::size_t i = 0; i < passes::pipeline().size(); ++i) {
    const std::string_view name = passes::pipeline()[i].name;
    if (i == 0 || name != "simplify") counts.report("pass", name);
  }
  for (const auto& pass : codegen::graph_steps()) {
    if (pass.name != "check_sizes") counts.report("graph pass", pass.name);  // changes no node
  }
}

TEST_CASE("every epilogue, library call, carry stack and guard of cpu is made in a program") {
  Counts counts;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    clear_session();
    set_random_seed(static_cast<std::int64_t>(seed));
    const Program program = random_program(seed);
    INFO("seed " << seed << ": " << program.text);
    count_library_calls(program, counts, Origin::Drawn);
  }
  for (const Template& one : coverage_templates()) {
    clear_session();
    INFO("template: " << one.name);
    count_library_calls(one.make(), counts, Origin::Template);
  }
  for (const char* of : {"of a matmul", "of a convolution"}) {
    for (const char* epilogue : {"none ", "bias ", "relu ", "bias and relu "}) {
      counts.report("epilogue", std::string(epilogue) + of);
    }
  }
  for (const char* stacks : kCarryStacks) counts.report("carry", stacks);
  for (const codegen::Claim& claim : codegen::claims()) counts.report("claim", claim.name);
  for (const char* of : {"of a load", "of a store"}) counts.report("guard", of);
  counts.report("library", "oneDNN of a matmul");
  counts.report("library", "oneDNN of a convolution");
  counts.report("library", "own loops of a matmul");
  counts.report("library", "own loops of a convolution", has_avx512());
}
