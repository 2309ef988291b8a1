// Depth follows the user's graph: a chain of a million nodes is differentiated and passes through
// the whole pass list on a thread with a 256 KiB stack.
#include "tests/catch.h"

#include "core/autodiff/vjp.h"
#include "core/ops/build.h"
#include "core/passes/pipeline.h"

#include <pthread.h>

using namespace kiln;
using ir::Value;

namespace {

constexpr int kLength = 1'000'000;

struct Result {
  bool differentiated = false, unchanged = false;
};

void* run(void* argument) {
  auto& result = *static_cast<Result*>(argument);
  const Value x = ir::make(ir::Op::Placeholder,
                           ir::PlaceholderAttrs{77, "x", {DType::Float32, {2}}}, {});
  Value y = x;
  for (int i = 0; i < kLength; ++i) y = ir::unary(ir::Op::Sin, y);
  const Value one = ir::like(y, 1);
  const auto dx = autodiff::vjp({&y, 1}, {&one, 1}, {&x, 1}).dx;
  result.differentiated = dx[0] && dx[0].type() == x.type();
  const ir::Graph graph{{x}, {y}, {}};
  passes::PipelineOptions options;
  options.verify = false;  // the verifier's own depth is tested with the module
  result.unchanged = passes::run_pipeline(graph, options) == graph;
  return nullptr;
}

}  // namespace

TEST_CASE("a million nodes are differentiated and optimised on a small stack", "[slow]") {
  Result result;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, &attributes, run, &result) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  CHECK(result.differentiated);
  CHECK(result.unchanged);
}
