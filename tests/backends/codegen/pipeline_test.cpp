// Tests the list of passes: its names, and the errors of its runner.
#include "tests/support/catch.h"
#include "tests/backends/codegen/lowered.h"
#include "tests/support/error_text.h"

#include "core/ops/build.h"

#include <kiln/error.h>

#include <set>

using namespace kiln;
using namespace kiln::codegen;
using ir::Value;

namespace {

Value input(std::int64_t id, ir::Dims dims) {
  return ir::make(ir::Op::Placeholder,
                  ir::PlaceholderAttrs{id, "x", {DType::Float32, std::move(dims)}}, {});
}

}  // namespace

TEST_CASE("pipeline: each pass has a name and a description of its own") {
  std::set<std::string_view> names, descriptions;
  for (const CodegenPass& pass : pipeline()) {
    INFO(pass.name);
    CHECK(names.insert(pass.name).second);
    CHECK(descriptions.insert(pass.description).second);
  }
  CHECK(names.size() > 10);
}

TEST_CASE("pipeline: a pass that leaves an invalid state is named") {
  Compilation compilation;
  compilation.results = {ir::full(DType::Float32, {2, 3}, 1.0)};
  compilation.program.kernels.emplace_back();  // has no stage
  const std::string error = testing::error_text<InternalError>([&] { run_pipeline(compilation); });
  CHECK(error.starts_with("function: after build_kernels: "));
}

TEST_CASE("pipeline: a matmul reads the dense copy that another reader needs") {
  const ir::Dim n = ir::Dim::fresh("n");
  // The dense form of `transposed` has strides of 0, as one axis is empty; x itself has none.
  const Value x = input(950, {0, 16, n}), w = input(951, {9, n});
  const Value transposed = ir::permute(x, {1, 0, 2});
  const Value y = ir::dot(transposed, {0, 1, 2}, w, {3, 2}, {0, 1, 3});
  const EveryMatmul library;
  const std::string alone = print(lowered({x, w}, {y}, &library));
  INFO(alone);
  CHECK(alone.find("matmul") != alone.npos);
  CHECK(alone.find("kernel") == alone.npos);
  const std::string beside = print(lowered({x, w}, {transposed, y}, &library));
  INFO(beside);
  CHECK(beside.find("matmul") != beside.npos);
  CHECK(beside.find("kernel") != beside.npos);
}

TEST_CASE("pipeline: a matmul's operand that kernels rematerialise is written out for the matmul") {
  const Value w = input(952, {3, 8});
  const Value half = ir::broadcast(ir::scalar_constant(DType::BFloat16, 0.5), {2, 3}, {});
  const Value y = ir::dot(ir::cast(half, DType::Float32), {0, 1}, w, {1, 2}, {0, 2});
  const EveryMatmul library;
  const std::string plan = print(lowered({w}, {y}, &library));
  INFO(plan);
  const std::size_t kernel = plan.find("kernel"), matmul = plan.find("matmul");
  CHECK(matmul != plan.npos);
  CHECK(kernel < matmul);
}
