// Tests texts of OutOfMemory: variables with type and line, requested and reserved bytes, results.
#include "tests/support/catch.h"
#include "tests/backends/cuda/fresh_backend.h"
#include "tests/support/environment.h"
#include "tests/support/error_text.h"
#include "test_folders.h"

#include "backends/codegen/text/grid_text.h"
#include "core/module/module.h"
#include "core/module/write.h"
#include "core/ops/build.h"
#include "runtime/plugin/backend_instance.h"

#include <kiln/k.h>

using namespace kiln;
using cuda_test::FreshBackend;
using kiln::fake_cuda::objects_alive;
using kiln::testing::error_text;

namespace {

using cuda_test::kMiB;

using cuda_test::control;

std::string line(int number) { return std::string(__FILE__) + ":" + std::to_string(number); }

Array mebibytes(std::int64_t count, double value) { return Array::full({count * kMiB / 4}, value); }

/// A backend with a memory limit.
class LimitedBackend : public FreshBackend {
 public:
  explicit LimitedBackend(std::int64_t bytes) : FreshBackend(KILN_BINARY_DIR) {
    control().reset();
    set_backend_options(path(), {{"memory_limit", std::to_string(bytes)}});
  }
};

}  // namespace

TEST_CASE("memory texts: a variable that does not fit the device") {
  const LimitedBackend backend(6 * kMiB);
  const std::string start = "f: device 0 (Fake GPU) has no memory for 8388608 bytes of float32";
  const std::string in_use = ": 0 bytes are in use by Kiln, whose limit is 6291456, ";
  const int made_at = __LINE__ + 1;
  const Tensor w = variable(mebibytes(8, 1), {.name = "w"}), other = zeros({2048, 1024});
  const auto make = [&](const Tensor& x) {
    return function({}, {max(x)}, {.name = "f", .backend = backend.path()});
  };
  const Function f = make(w), unnamed = make(other), fits = make(variable(mebibytes(2, 3)));
  const std::size_t alive = objects_alive(control().usage());
  const std::string text = error_text<OutOfMemory>([&] { f(); });
  CHECK_THAT(text, Catch::Matchers::StartsWith(start + "[2097152]" + in_use));
  CHECK_THAT(text, Catch::Matchers::EndsWith(
                       "; for variable 'w', 8388608 bytes of float32[2097152] (variable at " +
                       line(made_at) + ")"));
  const std::string other_text = error_text<OutOfMemory>([&] { unnamed(); });
  CHECK_THAT(other_text, Catch::Matchers::StartsWith(start + "[2048,1024]" + in_use));
  CHECK_THAT(other_text, Catch::Matchers::EndsWith(
                             "; for a variable, 8388608 bytes of float32[2048,1024] (zeros at " +
                             line(made_at) + ")"));
  CHECK(objects_alive(control().usage()) == alive);
  CHECK(get_value(w) == mebibytes(8, 1));
  CHECK(fits()[0] == Array(3.0f));
}

TEST_CASE("memory texts: the new value of a variable") {
  const testing::EnvironmentVariable disable("KILN_DISABLE", "find_buffer_aliases");
  const LimitedBackend backend(7 * kMiB);
  const int made_at = __LINE__ + 1;
  const Variable w = variable(mebibytes(4, 1), {.name = "w"});
  const Function f =
      function({}, {}, {.updates = {update(w, w * 2.0)}, .name = "f", .backend = backend.path()});
  const Function look = function({}, {max(w)}, {.backend = backend.path()});
  CHECK(look()[0] == Array(1.0f));
  const std::size_t used = control().usage().bytes;
  const std::string text = error_text<OutOfMemory>([&] { f(); });
  CHECK_THAT(
      text, Catch::Matchers::StartsWith("f: device 0 (Fake GPU) has no memory for 4194304 bytes of "
                                        "float32[1048576]: "));
  CHECK_THAT(text, Catch::Matchers::EndsWith(
                       "; for the new value of variable 'w', 4194304 bytes of float32[1048576] "
                       "(variable at " +
                       line(made_at) + ")"));
  CHECK(control().usage().bytes <= used);
  CHECK(look()[0] == Array(1.0f));
  CHECK(get_value(w) == mebibytes(4, 1));
}

TEST_CASE("memory texts: bytes asked for and bytes taken") {
  const LimitedBackend backend(5'000'000);
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  const Function f = function({x}, {x * 2.0}, {.name = "f", .backend = backend.path()});
  CHECK(f({mebibytes(0, 1)})[0].size() == 0);
  // 4,800,000 bytes fit the limit. In units of 2 MiB they do not.
  const Array fed = Array::full({600'000}, 1);
  const std::size_t used = control().usage().bytes;
  CHECK_THAT(error_text<OutOfMemory>([&] { f({fed}); }),
             Catch::Matchers::StartsWith(
                 "f: device 0 (Fake GPU) has no memory for 4800000 bytes of inputs, outputs and "
                 "temporary tensors (6291456 bytes more, in units of 2097152): 112 bytes are in "
                 "use by Kiln, whose limit is 5000000, "));
  CHECK(control().usage().bytes == used + sizeof(codegen::CallBlock));
  CHECK(f({mebibytes(1, 1)})[0] == mebibytes(1, 2));
}

TEST_CASE("memory texts: a result that the backend allocates") {
  control().reset();
  const FreshBackend backend(KILN_BINARY_DIR);
  for (const std::string& name : {std::string("cpu"), backend.path()}) {
    INFO(name);
    constexpr std::int64_t kRows = std::int64_t{1} << 45;
    const ir::Value state =
        ir::make(ir::Op::Variable, ir::VariableAttrs{1 << 20, "w", {DType::Float32, {4}}, {}}, {});
    ir::Graph graph;
    graph.outputs = {state + state, ir::broadcast_to(state, {kRows, 4})};
    const module::Encoded encoded = module::write_module(module::make_module(graph));
    const runtime::InstancePtr instance = runtime::backend_instance(name);
    runtime::CompileRequest request;
    request.module = encoded.bytes;
    const runtime::Executable executable = instance->compile(request);
    const std::vector<float> elements{1, 2, 3, 4};
    const std::vector<std::int64_t> dims{4};
    const runtime::Buffer buffer = instance->import_copy(elements.data(), DType::Float32, dims);
    const runtime::StateInput input{&buffer, false, 0};
    std::vector<runtime::Buffer> outputs(2);
    runtime::ExecuteCall call;
    call.states = {&input, 1};
    call.outputs = outputs;
    const std::string text = error_text<OutOfMemory>([&] { executable.execute(call).wait(); });
    CHECK_THAT(text, Catch::Matchers::ContainsSubstring(" 562949953421312 bytes "));
    CHECK_THAT(text, Catch::Matchers::ContainsSubstring(
                         " float32[35184372088832,4] (result 1, broadcast)"));
    CHECK(!outputs[0]);
  }
}
