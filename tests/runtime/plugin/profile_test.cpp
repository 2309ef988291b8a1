// Tests profiles of functions whose backend gives no times.
#include "tests/runtime/plugin/fakes.h"
#include "tests/support/catch.h"
#include "tests/support/has.h"

#include <kiln/k.h>

#include <sstream>

using namespace kiln;

TEST_CASE("profile: a backend without times says so by name, and calls count", "[plugin]") {
  for (const char* stem : {"instant", "buffered"}) {
    const std::string backend = runtime::fake_path(stem);
    INFO(backend);
    const Tensor x = placeholder({.shape = {4}});
    const Function f = function({x}, {x + 1.0}, {.name = "step", .backend = backend});
    f({Array::zeros({4}, DType::Float32)});
    Profiler profiler = f.profile();
    for (int i = 0; i < 2; ++i) f({Array::zeros({4}, DType::Float32)});
    profiler.stop();
    f({Array::zeros({4}, DType::Float32)});
    const Profile profile = profiler.result();
    CHECK(profile.calls == 2);
    CHECK(profile.rows.empty());
    CHECK(profile.without_times == "backend " + backend + " gives no times");
    std::ostringstream out;
    out << profile;
    CHECK(testing::has(out.str(), "step on " + backend + ": 2 calls\n  " + profile.without_times));
  }
}
