// Tests children of fork(), which have no CUDA, and processes that end during calls.
#include "tests/support/catch.h"
#include "tests/support/child.h"
#include "tests/backends/cuda/fake_device.h"
#include "tests/backends/cuda/training_step.h"
#include "tests/support/error_text.h"
#include "test_folders.h"

#include <atomic>
#include <chrono>
#include <iostream>
#include <thread>

using namespace kiln;
using cuda_test::TrainingStep;

namespace {

/// Whether `action` fails with that text; else prints the outcome on standard error.
template <class Action>
bool fails(const std::string& wanted, const Action& action) {
  const std::string error = kiln::testing::error_text<BackendError>(action);
  if (error != wanted) std::cerr << error << "\n";
  return error == wanted;
}

/// The error of this child of `parent`.
std::string child_error(const std::string& function, pid_t parent) {
  return function + ": backend cuda was initialised in process " + std::to_string(parent) +
         " before it forked and cannot be used in its child " + std::to_string(::getpid()) +
         "; start a new program instead of forking";
}

}  // namespace

TEST_CASE("processes: a child is told so, and ends") {
  cuda_test::fake_device(KILN_BINARY_DIR).reset();
  auto s = std::make_unique<TrainingStep>("cuda");
  const Variable known = variable(Array{1.f, 2.f}, {.name = "known"});
  function({}, {known * 2.0}, {.backend = "cuda"})();
  s->step({s->fed(2)});
  const pid_t parent = ::getpid();
  CHECK(kiln::testing::in_child([&] {
          const std::string step = child_error("step", parent);
          const std::string compile = child_error("function", parent);
          if (!fails(step, [&] { s->step({s->fed(2)}); })) return 1;
          if (!fails(step, [&] { s->step({s->fed(9)}); })) return 2;
          const std::string read = child_error("get_value", parent) + "; for variable 'w'";
          if (!fails(read, [&] { get_value(s->w); })) return 3;
          if (!fails(compile, [&] { TrainingStep other("cuda"); })) return 4;
          if (get_value(known) != Array{1.f, 2.f}) return 5;
          s.reset();
          return 0;
        }) == 0);
  CHECK_NOTHROW(s->step({s->fed(2)}));
  CHECK(s->look()[0] == get_value(s->w));
}

TEST_CASE("processes: the end comes while threads compute", "[.ends-amid-calls]") {
  const auto& control = cuda_test::fake_device(KILN_BINARY_DIR);
  for (int t = 0; t < 2; ++t) {
    std::thread([] {
      TrainingStep s("cuda");
      for (std::int64_t rows = 1;; rows = rows % 7 + 1) s.step({s.fed(rows)});
    }).detach();
  }
  std::thread([] {
    while (true) TrainingStep("cuda").look();
  }).detach();
  while (control.calls("cuLaunchKernel") < 200) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::exit(0);
}

TEST_CASE("processes: the end amid calls is a clean one") {
  for (int round = 0; round < 5; ++round) {
    CHECK(kiln::testing::in_new_process("[.ends-amid-calls]", "KILN_THREADS", "2") == 0);
  }
}
