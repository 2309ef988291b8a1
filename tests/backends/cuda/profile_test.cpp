// Tests profiles on `cuda`: steps by events of the device, and CUDA graphs again afterwards.
#include "tests/backends/cuda/fresh_backend.h"
#include "tests/support/catch.h"
#include "tests/support/has.h"

#include <kiln/k.h>

#include <algorithm>
#include <string>

using namespace kiln;
using cuda_test::control;
using kiln::testing::has;

namespace {

/// A matmul with a variable, and a kernel.
Function matmul_and_sum() {
  const Tensor x = placeholder({.shape = {None, 8}, .name = "x"});
  const Tensor w = variable(Array::zeros({8, 8}, DType::Float32), {.name = "w"});
  return function({x}, {dot(x, w), exp(x)}, {.backend = "cuda"});
}

Array fed(std::int64_t rows) { return Array::zeros({rows, 8}, DType::Float32); }

const ProfileRow* row_of(const Profile& profile, const std::string& name) {
  const auto found = std::find_if(profile.rows.begin(), profile.rows.end(), [&](const auto& row) {
    return !row.places.empty() && row.places[0].function == name;
  });
  return found == profile.rows.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("profile: rows of launches and library calls, with their work") {
  control().reset();
  const Function f = matmul_and_sum();
  Profiler profiler = f.profile();
  for (const std::int64_t rows : {4, 6}) f({fed(rows)});
  profiler.stop();
  const Profile profile = profiler.result();
  CHECK(profile.calls == 2);
  const ProfileRow *matmul = row_of(profile, "dot"), *kernel = row_of(profile, "exp");
  REQUIRE(matmul != nullptr);
  CHECK(matmul->calls == 2);
  CHECK(matmul->operations == 2 * 10 * 8 * 8);
  REQUIRE(kernel != nullptr);
  CHECK(kernel->bytes == 2 * 4 * 10 * 8);
  CHECK(has(profile.lines[0].name, "profile_test.cpp:"));
  const bool has_weights =
      std::any_of(profile.tensors.begin(), profile.tensors.end(),
                  [](const ProfileTensor& one) { return one.name == "w float32[8,8]"; });
  CHECK(has_weights);
  REQUIRE(profile.events.size() == 3);
  CHECK(profile.events[2].reason == "x.0 was 4 and is 6");
}

TEST_CASE("profile: calls queue graphs only while none is measured") {
  control().reset();
  const Function f = matmul_and_sum();
  for (int i = 0; i < 3; ++i) f({fed(4)});
  const auto graphs_of_call = [&] {
    const int before = control().calls("cuGraphLaunch");
    f({fed(4)});
    return control().calls("cuGraphLaunch") - before;
  };
  CHECK(graphs_of_call() > 0);
  Profiler profiler = f.profile();
  CHECK(graphs_of_call() == 0);
  profiler.stop();
  CHECK(graphs_of_call() > 0);
  CHECK(profiler.result().calls == 1);
}

TEST_CASE("profile: calls whose events fail are noted") {
  control().reset();
  const Function f = matmul_and_sum();
  f({fed(4)});
  const Profiler profiler = f.profile();
  control().fail("cuEventRecord", 1, 304);
  f({fed(4)});
  control().reset();
  f({fed(4)});
  const Profile profile = profiler.result();
  CHECK(profile.calls == 1);
  REQUIRE(profile.notes.size() == 1);
  CHECK(has(profile.notes[0], "1 calls were not timed: "));
}
