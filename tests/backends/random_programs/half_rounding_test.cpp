// Tests where float16 and bfloat16 are rounded: after each pass of both lists, and on every
// backend, a program is at least as accurate as the graph as written. `reference` gives three
// results without passes: of the graph as written, of the graph after a pass, and of the same
// program in float64. Programs are in half_programs.cpp; a pass that none changes fails the test.
#include "tests/support/catch.h"

#include "backends/codegen/host/prepared/matmul.h"
#include "core/k/base/tensor_impl.h"
#include "core/ops/halves.h"
#include "core/passes/pipeline.h"
#include "core/types/text.h"
#include "runtime/function/compile/build_graph.h"
#include "tests/backends/codegen/lowered.h"
#include "tests/backends/cuda_fakes/use_fake_gpu.h"
#include "tests/backends/random_programs/coverage_counts.h"
#include "tests/backends/random_programs/half_programs.h"
#include "tests/core/ops/evaluate.h"
#include "tests/support/build_folder.h"

#include <algorithm>
#include <cmath>

using namespace kiln;
using namespace kiln::testing;

namespace {

/// Takes matmuls and convolutions: all, or none of halves.
class TestLibrary final : public codegen::HostLibrary {
 public:
  explicit TestLibrary(bool takes_halves) : takes_halves_(takes_halves) {}
  std::optional<std::string> rejection_of_matmul(
      const codegen::MatmulRequest& matmul) const override {
    return rejection_of(matmul.dtype);
  }
  std::shared_ptr<const codegen::PreparedMatmul> prepare(const codegen::MatmulShape&,
                                                         codegen::RhsUse) override {
    return nullptr;
  }
  std::optional<std::string> rejection_of_convolution(const ir::Node& node) const override {
    return rejection_of(node.types[0].dtype);
  }
  bool requires_symmetric_padding() const override { return true; }
  bool takes_filters_first() const override { return true; }

 private:
  std::optional<std::string> rejection_of(DType dtype) const {
    return takes_halves_ || !ir::is_half(dtype) ? std::nullopt : std::optional<std::string>("half");
  }

  bool takes_halves_;
};

/// The distance of neighbours of x in the dtype.
double ulp(DType dtype, double x) {
  const int digits = dtype == DType::Float16 ? 11 : dtype == DType::BFloat16 ? 8 : 24;
  const int lowest = dtype == DType::Float16 ? -13 : -125;  // of normal numbers
  int exponent = 0;
  std::frexp(x, &exponent);
  return std::ldexp(1.0, std::max(exponent, lowest) - digits);
}

double largest_of(DType dtype) {
  return dtype == DType::Float16 ? 65504 : std::numeric_limits<float>::max();
}

/// The results of a program as written: in its dtype, and in float64.
struct Results {
  std::vector<Array> rounded, exact;
};

/// The largest error of the results as written, of those that are finite.
double error_as_written(const Results& results, std::size_t i) {
  const std::vector<double> rounded = test::doubles(results.rounded[i]);
  const std::vector<double> exact = test::doubles(results.exact[i]);
  double error = 0;
  for (std::size_t k = 0; k < rounded.size(); ++k) {
    if (std::isfinite(rounded[k])) error = std::max(error, std::fabs(rounded[k] - exact[k]));
  }
  return error;
}

/// The first element of result i that is less accurate than as written; empty without one. Passes
/// may drop roundings whose errors cancel, so the largest error of the result counts, twice.
std::string less_accurate(const Array& found, const Results& results, std::size_t i) {
  const DType dtype = found.dtype();
  const std::vector<double> numbers = test::doubles(found);
  const std::vector<double> rounded = test::doubles(results.rounded[i]);
  const std::vector<double> exact = test::doubles(results.exact[i]);
  const double error = 2 * error_as_written(results, i);
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (!std::isfinite(rounded[k]) || std::fabs(exact[k]) > largest_of(dtype)) continue;
    if (std::fabs(numbers[k] - exact[k]) <= error + ulp(dtype, exact[k])) continue;
    return text("element ", k, " is ", numbers[k], ", exactly ", exact[k], ", as written ",
                rounded[k]);
  }
  return {};
}

/// The first element that is not the exact one, rounded once; empty without one.
std::string inexact(const Array& found, const Array& expected) {
  const std::vector<double> numbers = test::doubles(found), exact = test::doubles(expected);
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (std::fabs(numbers[k] - exact[k]) <= ulp(found.dtype(), exact[k])) continue;
    return text("element ", k, " is ", numbers[k], ", exactly ", exact[k]);
  }
  return {};
}

ir::Graph graph_of(const HalfProgram& program) {
  return runtime::build_graph(program.inputs, program.outputs, {});
}

std::vector<Array> as_dtypes(const std::vector<Array>& feeds, const std::vector<Tensor>& inputs) {
  std::vector<Array> result;
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    result.push_back(feeds[i].astype(value_of(inputs, i, "inputs").dtype()));
  }
  return result;
}

/// One program in one dtype.
class Followed {
 public:
  Followed(const HalfTemplate& given, DType dtype, Counts& counts)
      : counts_(counts), program_(given.make(dtype)), graph_(graph_of(program_)) {
    feeds_ = as_dtypes(program_.feeds, program_.inputs);
    results_.rounded = evaluated(graph_.outputs);
    const HalfProgram wide = given.make(DType::Float64);
    const ir::Graph exact = graph_of(wide);
    // The feeds as the narrow program gets them.
    results_.exact =
        test::evaluate(exact.inputs, exact.outputs, as_dtypes(feeds_, wide.inputs), "reference");
    REQUIRE(results_.exact.size() == results_.rounded.size());
    if (given.is_exact) check_exact(results_.rounded);
    is_exact_after_passes_ = given.is_exact_after_passes;
  }

  void run_passes() {
    ir::Graph last = graph_;
    passes::PipelineOptions options;
    options.report = [&](const passes::PassReport& report) {
      if (report.changed) check("pass", report.pass.name, report.graph.outputs);
      last = report.graph;
    };
    passes::run_pipeline(graph_, options);
    if (is_exact_after_passes_) check_exact(evaluated(last.outputs));
    const TestLibrary whole(/*takes_halves=*/true), wide(/*takes_halves=*/false);
    const codegen::HostLibrary* const libraries[] = {&whole, &wide, nullptr};
    for (const codegen::HostLibrary* one : libraries) {
      lower(graph_.outputs, one);
      lower(last.outputs, one);
    }
  }

  void run_on(const std::string& backend) {
    for (const bool optimize : {false, true}) {
      INFO(backend << (optimize ? "" : ", as written"));
      const Function f =
          function(program_.inputs, program_.outputs, {.backend = backend, .optimize = optimize});
      const std::vector<Array> found = f(feeds_);
      check_accuracy(found);
      if (optimize && is_exact_after_passes_) check_exact(found);
    }
  }

 private:
  std::vector<Array> evaluated(const std::vector<ir::Value>& outputs) const {
    return test::evaluate(graph_.inputs, outputs, feeds_, "reference");
  }

  void check(const char* kind, std::string_view name, const std::vector<ir::Value>& outputs) {
    INFO(kind << " " << name);
    counts_.add(kind, name, Origin::Template);
    check_accuracy(evaluated(outputs));
  }

  void check_accuracy(const std::vector<Array>& found) const {
    REQUIRE(found.size() == results_.rounded.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      INFO("result " << i);
      CHECK(less_accurate(found[i], results_, i) == "");
    }
  }

  void check_exact(const std::vector<Array>& found) const {
    for (std::size_t i = 0; i < found.size(); ++i) {
      INFO("result " << i);
      CHECK(inexact(found[i], results_.exact[i]) == "");
    }
  }

  /// Runs the second list. Values are compared after passes that change the graph; run_on() has the
  /// results of the others.
  void lower(const std::vector<ir::Value>& outputs, const codegen::HostLibrary* library) {
    codegen::Compilation c;
    c.arguments = graph_.inputs;
    c.results = outputs;
    for (const auto& [result, argument] : program_.updates) c.updates.push_back({result, argument});
    c.unchanged = program_.unchanged;
    c.library = library;
    c.target.batches_launches = true;
    c.loop_transform = codegen::order_loops;
    c.target.loop_bytes = 48 << 10;
    std::vector<ir::Value> before = c.results;
    codegen::PipelineOptions options;
    options.report = [&](const codegen::CodegenPass& pass, const rewrite::PassRun& run) {
      if (!run.changed) return;
      if (c.results == before) return counts_.add("codegen pass", pass.name, Origin::Template);
      check("codegen pass", pass.name, c.results);
      before = c.results;
    };
    codegen::run_pipeline(c, options);
  }

  Counts& counts_;
  HalfProgram program_;
  ir::Graph graph_;
  std::vector<Array> feeds_;
  Results results_;
  bool is_exact_after_passes_ = false;
};

}  // namespace

TEST_CASE("halves: every pass of both lists is as accurate as the graph as written") {
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    Counts counts;
    for (const HalfTemplate& one : half_templates()) {
      clear_session();
      INFO(dtype_name(dtype) << ": " << one.name);
      Followed(one, dtype, counts).run_passes();
    }
    // find_attention leaves halves alone, which round the scores and the probabilities.
    for (const passes::Pass& pass : passes::pipeline()) {
      counts.report("pass", pass.name, pass.name != std::string_view("find_attention"));
    }
    // read_narrow_weights needs variables: tests/backends/narrow_weights_test.cpp.
    for (const codegen::CodegenPass& pass : codegen::pipeline()) {
      counts.report("codegen pass", pass.name, pass.name != "read_narrow_weights");
    }
  }
}

TEST_CASE("halves: every backend is as accurate as the graph as written") {
  std::vector<std::string> backends{"reference", "cpu"};
  if (fake_cuda::use_fake_gpu(build_folder())) backends.push_back("cuda");
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    for (const HalfTemplate& one : half_templates()) {
      clear_session();
      INFO(dtype_name(dtype) << ": " << one.name);
      Counts unused;
      Followed followed(one, dtype, unused);
      for (const std::string& backend : backends) followed.run_on(backend);
    }
  }
}
