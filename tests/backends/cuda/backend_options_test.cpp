// Tests options of the backend as users set them: by set_backend_options, by the environment, and
// by keras.json.
#include "core/k/base/tensor_impl.h"
#include "core/ops/build.h"
#include "core/ops/collective_payload.h"
#include "runtime/host/log.h"
#include "tests/support/catch.h"
#include "tests/runtime/config/home.h"
#include "tests/backends/cuda/fresh_backend.h"
#include "tests/support/environment.h"
#include "tests/support/error_text.h"
#include "tests/support/scratch.h"
#include "test_folders.h"

#include <kiln/k.h>

#include <algorithm>

using namespace kiln;
using cuda_test::FreshBackend;
using kiln::testing::EnvironmentVariable;
using kiln::testing::error_text;
using kiln::testing::KerasHome;
using runtime::LogLevel;
using runtime::set_log_sink;

namespace {

using cuda_test::control;

/// A keras.json with these options of the backend.
std::string file_of(const FreshBackend& backend, const std::string& options) {
  return R"({"backend": "cpu", "kiln": {"backends": {")" + backend.path() + "\": {" + options +
         "}}}}";
}

/// The number of four equal calls that were launches of graphs.
int graph_launches(const FreshBackend& backend) {
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  // Two kernels; a call of one is a plain launch.
  const Function f = function({x}, {x + max(x)}, {.backend = backend.path()});
  const int before = control().calls("cuGraphLaunch");
  for (int i = 0; i < 4; ++i) CHECK(f({Array{1.f}})[0] == Array{2.f});
  return control().calls("cuGraphLaunch") - before;
}

}  // namespace

TEST_CASE("backend options: graphs, by each source and with none") {
  control().reset();
  {
    const FreshBackend backend(KILN_BINARY_DIR);
    CHECK(graph_launches(backend) == 3);
  }
  {
    const FreshBackend backend(KILN_BINARY_DIR);
    set_backend_options(backend.path(), {{"graphs", "false"}});
    CHECK(graph_launches(backend) == 0);
  }
  {
    const FreshBackend backend(KILN_BINARY_DIR);
    const KerasHome home(file_of(backend, R"("graphs": false)"));
    CHECK(graph_launches(backend) == 0);
  }
  const EnvironmentVariable graphs("KILN_CUDA_GRAPHS", "false");
  const FreshBackend backend(KILN_BINARY_DIR);
  CHECK(graph_launches(backend) == 0);
}

TEST_CASE("backend options: the call, then the environment, then the file") {
  control().reset();
  const EnvironmentVariable graphs("KILN_CUDA_GRAPHS", "true");
  {
    const FreshBackend backend(KILN_BINARY_DIR);
    const KerasHome home(file_of(backend, R"("graphs": false)"));
    CHECK(graph_launches(backend) == 3);
  }
  const FreshBackend backend(KILN_BINARY_DIR);
  const KerasHome home(file_of(backend, R"("graphs": "perhaps")"));
  set_backend_options(backend.path(), {{"graphs", "false"}});
  CHECK(graph_launches(backend) == 0);
}

TEST_CASE("backend options: a limit of memory in keras.json, as a number") {
  control().reset();
  const FreshBackend backend(KILN_BINARY_DIR);
  const KerasHome home(file_of(backend, R"("memory_limit": 3e6, "device": 0, "tf32": true)"));
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  const Function f = function({x}, {x * 2.0}, {.name = "f", .backend = backend.path()});
  CHECK(f({Array{1.f}})[0] == Array{2.f});
  CHECK_THAT(error_text<OutOfMemory>([&] { f({Array::zeros({1'000'000})}); }),
             Catch::Matchers::ContainsSubstring(", whose limit is 3000000, "));
}

TEST_CASE("backend options: errors name the option and the file") {
  control().reset();
  const FreshBackend backend(KILN_BINARY_DIR);
  const KerasHome home;
  const auto error = [&](const std::string& options) {
    home.write(file_of(backend, options));
    return home.without_path(error_text<ValueError>([&] { graph_launches(backend); }));
  };
  const std::string end = " (PATH) (backend cuda, " + backend.path() + ")";
  CHECK(error(R"("speed": 9)") ==
        "function: the cuda backend has no option speed, only device, driver, libraries, "
        "memory_limit, arch, graphs, tf32, deterministic, collectives; options: 'speed' = '9'" +
            end);
  CHECK(error(R"("memory_limit": "8G")") ==
        "function: memory_limit is '8G' but needs a number of bytes from 1 to "
        "9223372036854775807; options: 'memory_limit' = '8G'" +
            end);
  CHECK(error(R"("device": 0.5)") ==
        "function: device is '0.5' but needs the number of a device from 0 to 2147483647; "
        "options: 'device' = '0.5'" +
            end);
  CHECK(error(R"("tf32": 2)") ==
        "function: tf32 is '2' but needs true or false; options: 'tf32' = '2'" + end);
  home.write(file_of(backend, R"("tf32": false)"));
  CHECK(graph_launches(backend) == 3);
}

TEST_CASE("backend options: auto leaves out a backend that compiles only") {
  control().reset();
  const FreshBackend backend(KILN_BINARY_DIR);
  load_backend(backend.path());
  static std::vector<std::string> lines;
  lines.clear();
  set_log_sink([](LogLevel level, std::string_view line) {
    if (level == LogLevel::Warning) lines.emplace_back(line);
  });
  {
    const EnvironmentVariable architecture("KILN_CUDA_ARCH", "sm_90");
    set_backend("auto");
    CHECK(kiln::backend() == "cpu");
    CHECK(backend_choice().reason == "set_backend: best of 2 usable, score 10");
    const std::string text = "auto skips " + backend.path() + ": compiles for sm_90 only (dumps)";
    CHECK(std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    }));
  }
  set_log_sink(nullptr);
  set_backend("auto");
  CHECK(kiln::backend() != "cpu");
  CHECK_THAT(backend_choice().reason, Catch::Matchers::EndsWith(" usable, score 100"));
  set_backend("cpu");
}

TEST_CASE("backend options: collectives run through the host only where that is asked for") {
  control().reset();
  const ir::Value start =
      ir::make(ir::Op::HostCall,
               ir::HostCallAttrs{.function = "collective_start",
                                 .payload = ir::encode({.number = 0, .attrs = {.ranks = 2}}),
                                 .results = {{DType::Int64, {}}}},
               {ir::scalar_constant_int(DType::Int64, 0), ir::scalar_constant(DType::Float32, 1)});
  const auto compile = [&](const FreshBackend& backend) {
    return error_text<Error>([&] { function({}, {wrap(start)}, {.backend = backend.path()}); });
  };
  {
    const FreshBackend backend(KILN_BINARY_DIR);
    const testing::Scratch damaged;
    damaged.write("libnccl.so.2", "text");
    set_backend_options(
        backend.path(),
        {{"libraries", damaged.folder() + ":" + fake_cuda::library_folder(KILN_BINARY_DIR)}});
    CHECK_THAT(compile(backend),
               Catch::Matchers::ContainsSubstring("collectives on cuda need NCCL: "));
  }
  {
    const FreshBackend backend(KILN_BINARY_DIR);
    const EnvironmentVariable host("KILN_CUDA_COLLECTIVES", "host");
    CHECK(compile(backend) == "no error");
  }
  const FreshBackend backend(KILN_BINARY_DIR);
  set_backend_options(backend.path(), {{"collectives", "ring"}});
  CHECK_THAT(compile(backend), Catch::Matchers::ContainsSubstring("needs nccl or host"));
}
