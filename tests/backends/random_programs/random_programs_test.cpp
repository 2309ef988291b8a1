// Compares random programs with the oracle, `reference` running them as written: after the passes
// on `reference`, `cuda` and the tested backend; some as written, some without an optional pass.
#include "tests/support/build_folder.h"
#include "tests/support/catch.h"
#include "tests/backends/cuda_fakes/use_fake_gpu.h"
#include "tests/support/environment.h"
#include "tests/backends/random_programs/program.h"
#include "tests/backends/random_programs/wanted_seeds.h"

#include "backends/codegen/pipeline.h"

#include <cmath>
#include <cstdlib>
#include <sstream>

using namespace kiln;
using namespace kiln::testing;

namespace {

struct Outcome {
  std::vector<Array> outputs;  // of the second call, then the variables
  std::string error;
};

/// The backend that is compared with the oracle: KILN_TEST_BACKEND, else `cpu`.
std::string tested_backend() {
  const char* chosen = std::getenv("KILN_TEST_BACKEND");
  return chosen != nullptr && *chosen != '\0' ? chosen : "cpu";
}

/// The tested backend and `reference`; with `cpu` also `cuda` on the fakes.
std::vector<std::string> backends() {
  std::vector<std::string> names{"reference", tested_backend()};
  if (names.back() == "cpu" && fake_cuda::use_fake_gpu(build_folder())) names.push_back("cuda");
  return names;
}

Outcome run_on(const Program& program, const std::string& backend, bool optimize,
               const std::vector<Array>& feeds) {
  try {
    for (std::size_t i = 0; i < program.variables.size(); ++i) {
      set_value(program.variables[i], program.starts[i]);
    }
    const Function f =
        function(program.inputs, program.outputs,
                 {.updates = program.updates, .backend = backend, .optimize = optimize});
    set_random_seed(1);  // draws depend on the number of the call
    f(feeds);
    std::vector<Array> outputs = f(feeds);
    for (const Tensor& variable : program.variables) outputs.push_back(get_value(variable));
    return {outputs, ""};
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}

double largest(const Array& array) {
  double result = 0;
  for (const float number : array.as<float>()) {
    if (std::isfinite(number)) result = std::max(result, std::fabs(double{number}));
  }
  return result;
}

/// The first difference that rounding does not explain; empty without one. `moved` are results for
/// inputs that differ in their last bits.
std::string difference(const Array& want, const std::vector<Array>& moved, const Array& got) {
  std::ostringstream text;
  if (want.dims() != got.dims() || want.dtype() != got.dtype()) return "other sizes";
  const double scale = 1e-5 + 3e-4 * largest(want);
  for (std::int64_t i = 0; i < want.size(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    const double a = want.as<float>()[k], b = got.as<float>()[k];
    if ((std::isnan(a) && std::isnan(b)) || a == b) continue;
    double rounding = 0;
    for (const Array& one : moved) {
      rounding = std::max(rounding, std::fabs(a - double{one.as<float>()[k]}));
    }
    if (std::fabs(a - b) <= scale + 60 * rounding) continue;
    text << "element " << i << " of " << want.size() << ": " << b << " instead of " << a
         << " (moved by " << rounding << ")";
    return text.str();
  }
  return {};
}

/// Compares the results of `backend`, after the passes if `optimize`, with the oracle's, which runs
/// the graph as written. `moved` are the oracle's results for inputs that differ in their last
/// bits.
void check_backend(const Program& program, const std::string& backend, bool optimize,
                   const Outcome& want, const std::vector<Outcome>& moved) {
  INFO("backend " << backend << (optimize ? "" : ", as written"));
  const Outcome got = run_on(program, backend, optimize, program.feeds);
  CHECK(got.error == want.error);
  REQUIRE(want.outputs.size() == got.outputs.size());
  for (std::size_t i = 0; i < want.outputs.size(); ++i) {
    INFO("output " << i);
    std::vector<Array> others;
    for (const Outcome& one : moved) others.push_back(one.outputs.at(i));
    CHECK(difference(want.outputs[i], others, got.outputs[i]) == "");
  }
}

/// Compares runs of the tested backend without one of its optional passes.
void check_without_a_pass(const Program& program, std::uint64_t number, const Outcome& want,
                          const std::vector<Outcome>& moved) {
  std::vector<std::string> optional;
  for (const codegen::CodegenPass& pass : codegen::pipeline()) {
    if (pass.is_optional) optional.emplace_back(pass.name);
  }
  const EnvironmentVariable disable("KILN_DISABLE", optional[number % optional.size()]);
  INFO("KILN_DISABLE=" << optional[number % optional.size()]);
  check_backend(program, tested_backend(), true, want, moved);
}

void check_seed(std::uint64_t seed) {
  clear_session();
  set_random_seed(static_cast<std::int64_t>(seed));
  const Program program = random_program(seed);
  INFO("seed " << seed << ": " << program.text);
  const Outcome want = run_on(program, "reference", false, program.feeds);
  CHECK(want.error == "");
  std::vector<Outcome> moved;
  for (const std::uint64_t bits : {seed + 1, seed + 2, seed + 3}) {
    moved.push_back(run_on(program, "reference", false, moved_in_the_last_bits(program, bits)));
  }
  for (const std::string& backend : backends()) {
    check_backend(program, backend, true, want, moved);
  }
  if (seed % 3 == 0) check_backend(program, tested_backend(), false, want, moved);
  if (seed % 3 == 1) check_without_a_pass(program, seed / 3, want, moved);
}

void check_seeds(std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) check_seed(seed);
}

}  // namespace

TEST_CASE("random programs agree on all backends") { check_seeds(0, 60); }

TEST_CASE("random programs agree on all backends, many seeds", "[matrix]") { check_seeds(60, 500); }

TEST_CASE("random programs of KILN_RANDOM_PROGRAMS agree on all backends", "[.][seeds]") {
  const Seeds seeds = wanted_seeds();
  check_seeds(seeds.first, seeds.count);
}

// For tools/compare_assembly, with KILN_TEST_DUMP.
TEST_CASE("random programs of KILN_RANDOM_PROGRAMS run on the tested backend", "[.][run]") {
  const Seeds seeds = wanted_seeds();
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    clear_session();
    set_random_seed(static_cast<std::int64_t>(seed));
    const Program program = random_program(seed);
    INFO("seed " << seed << ": " << program.text);
    CHECK(run_on(program, tested_backend(), true, program.feeds).error == "");
  }
}
