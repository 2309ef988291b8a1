// The one list of steps: its names, and the errors of its runner.
#include "tests/catch.h"
#include "tests/codegen/lowered.h"
#include "tests/error_text.h"

#include "core/ops/build.h"

#include <kiln/error.h>

#include <set>

using namespace kiln;
using namespace kiln::codegen;

TEST_CASE("each step has a name and a description of its own") {
  std::set<std::string_view> names, descriptions;
  for (const PipelineStep& step : pipeline()) {
    INFO(step.name);
    CHECK(names.insert(step.name).second);
    CHECK(descriptions.insert(step.description).second);
  }
  CHECK(names.size() > 10);
}

TEST_CASE("a step that leaves what is not sound is named") {
  Compilation compilation;
  compilation.results = {ir::full(DType::Float32, {2, 3}, 1.0)};
  compilation.program.kernels.emplace_back();  // has no stage
  const std::string error =
      testing::error_text<InternalError>([&] { run_pipeline(compilation); });
  CHECK(error.starts_with("function: after build_kernels: "));
}
