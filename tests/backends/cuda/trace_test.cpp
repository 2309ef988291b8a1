// Tests the dump stage `trace`: the steps on the device are events of a track of their own.
#include "tests/support/catch.h"
#include "tests/backends/cuda/fresh_backend.h"
#include "tests/support/has.h"
#include "tests/support/environment.h"
#include "tests/support/scratch.h"
#include "tests/support/trace_events.h"

#include <kiln/k.h>

#include <algorithm>

using namespace kiln;
using kiln::testing::has;
using kiln::testing::Scratch;
using kiln::testing::TraceFileEvent;
using kiln::testing::TraceText;

namespace {

using cuda_test::control;

/// A loop over the second axis of x, whose size is unknown.
Function traced_sum(const std::string& backend) {
  const Tensor x = placeholder({.shape = {1, None, 2}});
  const auto step = [](const Tensor& in, const std::vector<Tensor>& states) {
    const Tensor next = states[0] + in;
    return StepResult{next * 2.0, {next}};
  };
  const RnnResult r = rnn(step, x, {zeros({1, 2})});
  return function({x}, {r.last_output, r.outputs}, {.name = "sum", .backend = backend});
}

}  // namespace

TEST_CASE("trace: steps on the device, copies and calls") {
  control().reset();
  const kiln::testing::EnvironmentVariable disable("KILN_DISABLE", "fuse_loops");
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  const Function f = traced_sum("cuda");
  const Array fed = Array::full({1, 5, 2}, 1);
  const std::vector<Array> wanted = f({fed});
  start_trace(path);
  CHECK(f({fed}) == wanted);
  CHECK(f({fed}) == wanted);
  stop_trace();
  const int events = control().calls("cuEventCreate");
  CHECK(f({fed}) == wanted);  // untraced: as before
  CHECK(control().calls("cuEventCreate") == events);
  const TraceText trace(path);
  CHECK(trace.fault() == "");
  const std::vector<TraceFileEvent> calls = trace.of("call"), steps = trace.of("step");
  REQUIRE(calls.size() == 2);
  REQUIRE_FALSE(steps.empty());
  for (const TraceFileEvent& step : steps) {
    INFO(step.name);
    CHECK(trace.threads.at(step.thread).starts_with("cuda stream "));
    CHECK(step.begin >= calls[0].begin);
    CHECK(has(step.arguments.at("source"), "trace_test.cpp:"));
  }
  const std::vector<TraceFileEvent> loops = trace.named("loop rnn");
  REQUIRE(loops.size() == 2);
  for (const TraceFileEvent& loop : loops) CHECK(trace.inside(loop, "step").size() >= 1 + 5);
  CHECK(trace.named("copy inputs to the device").size() == 2);
  CHECK(trace.named("copy outputs from the device").size() == 2);
}

TEST_CASE("trace: an event that fails costs the steps of its call alone") {
  control().reset();
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  const Function f = traced_sum("cuda");
  const Array fed = Array::full({1, 3, 2}, 1);
  const std::vector<Array> wanted = f({fed});
  start_trace(path);
  control().fail("cuEventElapsedTime", 2, 304);
  CHECK(f({fed}) == wanted);
  control().reset();
  CHECK(f({fed}) == wanted);
  stop_trace();
  const TraceText trace(path);
  CHECK(trace.of("call").size() == 2);
  CHECK(trace.named("loop rnn").size() == 1);
}
