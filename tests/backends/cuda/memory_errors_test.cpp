// Tests memory exhaustion: of the device at each allocation, of the limit that the user set, and of
// page-locked host memory.
#include "tests/support/catch.h"
#include "tests/backends/cuda/fresh_backend.h"
#include "tests/backends/cuda/training_step.h"
#include "tests/support/environment.h"
#include "tests/support/error_text.h"
#include "test_folders.h"

using namespace kiln;
using cuda_test::FreshBackend;
using cuda_test::TrainingStep;
using kiln::fake_cuda::objects_alive;
using kiln::testing::error_of;
using kiln::testing::error_text;

namespace {

using cuda_test::kOutOfMemory;
constexpr const char* kAllocate = "cuMemAllocFromPoolAsync";

using cuda_test::control;

std::vector<Array> values(const TrainingStep& s) { return batch_get_value({s.w, s.velocity}); }

/// The error of `action` while the device has no memory from the nth call of `function` on; empty
/// without an error.
template <class Action>
std::string error_from(const char* function, int nth, const Action& action) {
  // Kept memory is freed, then an allocation is tried again.
  for (int i = 0; i < 64; ++i) control().fail(function, nth + i, kOutOfMemory);
  std::string text;
  try {
    action();
  } catch (const OutOfMemory& error) {
    text = error.message();
  }
  control().reset();
  return text;
}

}  // namespace

TEST_CASE("memory errors: each allocation of a call") {
  control().reset();
  // Each update has a buffer of its own.
  const testing::EnvironmentVariable disable("KILN_DISABLE", "find_buffer_aliases");
  const FreshBackend backend(KILN_BINARY_DIR);
  {
    TrainingStep(backend.path()).step({TrainingStep::fed(2)});
  }
  const std::size_t alive = objects_alive(control().usage());
  std::vector<std::string> errors;
  for (int nth = 1;; ++nth) {
    TrainingStep s(backend.path());
    const std::vector<Array> before = values(s);
    const std::string error = error_from(kAllocate, nth, [&] { s.step({s.fed(7)}); });
    if (error.empty()) break;
    REQUIRE(nth < 20);
    errors.push_back(error);
    CHECK(values(s) == before);
    CHECK_NOTHROW(s.step({s.fed(2)}));
    CHECK_NOTHROW(s.step({s.fed(7)}));
  }
  CHECK(objects_alive(control().usage()) == alive);
  int of_calls = 0;
  const std::string start = "step: device 0 (Fake GPU) has no memory for ";
  for (const std::string& error : errors) {
    INFO(error);
    CHECK(error.starts_with(start));
    CHECK_THAT(error, Catch::Matchers::ContainsSubstring(" bytes are in use by Kiln, "));
    const bool is_of_call =
        error.find("bytes of loop counters: ") != error.npos ||
        error.find("bytes of the seed and the index error of a call: ") != error.npos;
    of_calls += is_of_call;
    CHECK((is_of_call || error.find("variable '") != error.npos));
  }
  CHECK(of_calls == 2);
  CHECK(errors.size() == 6);
}

TEST_CASE("memory errors: the arena of a call cannot grow") {
  control().reset();
  const FreshBackend backend(KILN_BINARY_DIR);
  TrainingStep s(backend.path());
  s.step({s.fed(2)});
  const std::vector<Array> before = values(s);
  const std::string error = error_from("cuMemCreate", 1, [&] { s.step({s.fed(60'000)}); });
  CHECK_THAT(error, Catch::Matchers::StartsWith("step: device 0 (Fake GPU) has no memory for "));
  CHECK_THAT(error, Catch::Matchers::ContainsSubstring(
                        " bytes of inputs, outputs and temporary tensors (12582912 bytes more, in "
                        "units of 2097152): "));
  CHECK_THAT(error, Catch::Matchers::ContainsSubstring("; the largest: 2880000 bytes of "));
  CHECK_THAT(error, Catch::Matchers::ContainsSubstring("training_step.h:"));
  CHECK(values(s) == before);
  CHECK(s.look() == before);
  CHECK_NOTHROW(s.step({s.fed(3)}));
}

TEST_CASE("memory errors: each allocation of a compilation") {
  control().reset();
  const FreshBackend backend(KILN_BINARY_DIR);
  {
    TrainingStep s(backend.path());
  }
  const std::size_t alive = objects_alive(control().usage());
  const auto compile = [&] { TrainingStep s(backend.path()); };
  const std::string error = error_from(kAllocate, 1, compile);
  CHECK_THAT(error, Catch::Matchers::StartsWith(
                        "function: device 0 (Fake GPU) has no memory for 12 bytes of the constant "
                        "float32[3] (constant at "));
  CHECK(objects_alive(control().usage()) == alive);
  CHECK(error_from(kAllocate, 2, compile).empty());
}

TEST_CASE("memory errors: an arena that cannot grow") {
  control().reset();
  const FreshBackend backend(KILN_BINARY_DIR);
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  const int line = __LINE__ + 2;
  const Tensor row = expand_dims(x, {.axis = 0}), column = expand_dims(x);
  const Tensor square = row + column, y = dot(square, square);
  const Function f = function({x}, {sum(y)}, {.name = "f", .backend = backend.path()});
  CHECK_NOTHROW(f({Array::zeros({10})}));
  constexpr int kEveryCall = 0;
  REQUIRE(control().fail("cuMemCreate", kEveryCall, kOutOfMemory) == 1);
  const std::string error = error_of<OutOfMemory>([&] { f({Array::zeros({5000})}); });
  control().reset();
  const std::string file = __FILE__;
  const std::string at = " at " + file + ":" + std::to_string(line);
  CHECK_THAT(error,
             Catch::Matchers::StartsWith(
                 "f: device 0 (Fake GPU) has no memory for 200520384 bytes of inputs, outputs and "
                 "temporary tensors (199229440 bytes more, in units of 2097152): "));
  CHECK_THAT(error, Catch::Matchers::ContainsSubstring(
                        " are held by Kiln; the largest: 100000000 bytes of "
                        "float32[5000,5000] (operator+" +
                        at + "), 100000000 bytes of float32[5000,5000] (dot" + at +
                        "), 20000 bytes of float32[5000] (input x at "));
  CHECK_NOTHROW(f({Array::zeros({10})}));
}

TEST_CASE("memory errors: the limit that the user set") {
  control().reset();
  const kiln::testing::EnvironmentVariable limit("KILN_CUDA_MEMORY_LIMIT", "3000000");
  const FreshBackend backend(KILN_BINARY_DIR);
  TrainingStep s(backend.path());
  s.step({s.fed(2)});
  const std::vector<Array> before = values(s);
  const std::string error = error_text<OutOfMemory>([&] { s.step({s.fed(60'000)}); });
  CHECK_THAT(error, Catch::Matchers::StartsWith("step: device 0 (Fake GPU) has no memory for "));
  CHECK_THAT(error, Catch::Matchers::ContainsSubstring(
                        " bytes are in use by Kiln, whose limit is 3000000, "));
  CHECK_THAT(error, Catch::Matchers::ContainsSubstring("; the largest: 2880000 bytes of float32["));
  CHECK(values(s) == before);
  CHECK(s.look() == before);
  CHECK_NOTHROW(s.step({s.fed(3)}));
}

TEST_CASE("memory errors: page-locked host memory") {
  control().reset();
  const FreshBackend backend(KILN_BINARY_DIR);
  const Variable w = variable(Array{1.f, 2.f}, {.name = "w"});
  const Function f =
      function({}, {}, {.updates = {update(w, w * 2.0)}, .name = "f", .backend = backend.path()});
  const std::string text =
      "cannot allocate page-locked host memory: CUDA_ERROR_OUT_OF_MEMORY (2): an error of the fake "
      "driver; CUDA error 2 (backend cuda, " +
      backend.path() + ")";
  control().fail("cuMemHostAlloc", 0, kOutOfMemory);
  CHECK_THAT(error_text<OutOfMemory>([&] { f(); }),
             Catch::Matchers::StartsWith(
                 "f: " + text + "; for variable 'w', 8 bytes of float32[2] (variable at "));
  CHECK(get_value(w) == Array{1.f, 2.f});
  control().reset();
  f();
  CHECK(get_value(w) == Array{2.f, 4.f});
}
