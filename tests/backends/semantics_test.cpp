// Tests semantics that every backend shares: control flow, errors, state buffers.
#include "tests/backends/always_built.h"
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/core/ops/evaluate.h"

#include "core/k/base/tensor_impl.h"
#include "core/module/module.h"
#include "core/module/write.h"
#include "core/ops/build.h"
#include "core/types/text.h"
#include "runtime/function/call.h"
#include "runtime/plugin/backend_instance.h"

#include <kiln/k.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <thread>
#include <type_traits>

using namespace kiln;
using kiln::testing::error_text;
using kiln::test::kBackends;

namespace {

/// Makes `name` the backend of functions for a scope.
class Using {
 public:
  explicit Using(const std::string& name) : before_(backend()) { set_backend(name); }
  ~Using() { set_backend(before_); }

 private:
  std::string before_;
};

}  // namespace

TEST_CASE("host calls: their tensors have the shapes of the graph, though reshapes share memory") {
  const Tensor x = placeholder({.shape = {None}});
  const Array fed{1.f, 2.f};
  std::string printed;
  set_print_sink([&](std::string_view line) { printed = line; });
  const auto call = [&](const Tensor& y) { return function({x}, {y})({fed})[0]; };
  CHECK(call(print_tensor(reshape(x, {-1, 1}))) == Array{{1.f}, {2.f}});
  CHECK(printed == "[[1.]\n [2.]]\n");
  CHECK(call(reshape(print_tensor(x * 2), {1, -1})) == Array{{2.f, 4.f}});
  CHECK(printed == "[2. 4.]\n");
  CHECK(call(print_tensor(expand_dims(-x)) * 2) == Array{{-2.f}, {-4.f}});
  CHECK(printed == "[[-1.]\n [-2.]]\n");
  const auto body = [](const Tensor& e) { return print_tensor(reshape(exp(e) * 0, {1})); };
  CHECK(call(map_fn(body, x)) == Array{{0.f}, {0.f}});
  CHECK(printed == "[0.]\n");
  const Tensor read = print_tensor(x * 2);  // by a step after the copy to the first result
  const auto both = function({x}, {reshape(read, {1, -1}), read + 1.0})({fed});
  CHECK(both[0] == Array{{2.f, 4.f}});
  CHECK(both[1] == Array{3.f, 5.f});
  set_print_sink({});
}

TEST_CASE("control flow: only the branch that is taken runs") {
  for (const char* name : kBackends) {
    INFO(name);
    const Using chosen(name);
    const Tensor x = placeholder({.shape = {3}, .name = "x"});
    const Tensor i = placeholder({.shape = {1}, .dtype = DType::Int32, .name = "i"});
    const Tensor y =
        switch_(sum(x) > 0.0, [&] { return x * 2.0; }, [&] { return x + gather(x, i); });
    const Function f = function({x, i}, {y});
    const Array outside(std::vector<std::int32_t>{7});
    CHECK(f({Array{1.f, 2.f, 3.f}, outside})[0].as<float>()[2] == 6.f);
    CHECK(error_text<Error>([&] {
            f({Array{-1.f, -2.f, -3.f}, outside});
          }).find("index 7 is outside of an axis of size 3") != std::string::npos);
    CHECK(f({Array{1.f, 2.f, 3.f}, outside})[0].as<float>()[0] == 2.f);
  }
}

TEST_CASE("control flow: nested loops, over no steps and backwards") {
  for (const char* name : kBackends) {
    INFO(name);
    const Using chosen(name);
    const Tensor x = placeholder({.shape = {2, None, 3}, .name = "x"});
    const StepFunction inner = [](const Tensor& input, const std::vector<Tensor>& states) {
      const Tensor next = states[0] + input;
      return StepResult{next, {next}};
    };
    const StepFunction outer = [&](const Tensor& input, const std::vector<Tensor>& states) {
      const Tensor row = expand_dims(input, {.axis = -1});  // (2, 3, 1): three steps of one number
      const Tensor start = zeros_like(gather(permute_dimensions(row, {1, 0, 2}), 0));
      const RnnResult sums = rnn(inner, row, {start}, {.go_backwards = true});
      const Tensor next = states[0] * 0.5 + squeeze(sums.last_output, -1);
      return StepResult{expand_dims(next, {.axis = -1}), {next}};
    };
    const Tensor start = sum(x, {.axis = {1, 2}}) * 0.0;
    const RnnResult result = rnn(outer, x, {start}, {.go_backwards = true});
    const Function f = function({x}, {result.new_states[0]});
    const Array some = Array::full({2, 4, 3}, 1);
    CHECK(f({some})[0].as<float>()[1] == Approx(3 + 1.5 + 0.75 + 0.375));
    const Array none = Array::zeros({2, 0, 3});
    CHECK(f({none})[0].as<float>()[0] == 0.f);
  }
}

TEST_CASE("errors: a failing call changes no variable, and the next one works") {
  for (const char* name : kBackends) {
    INFO(name);
    const Using chosen(name);
    const Tensor table = variable(Array{1.f, 2.f, 3.f}, {.name = "table"});
    const Tensor i = placeholder({.shape = {None}, .dtype = DType::Int32, .name = "i"});
    const Function f =
        function({i}, {sum(gather(table, i))}, {.updates = {update_add(table, 1.0)}});
    CHECK_THROWS_AS(f({Array(std::vector<std::int32_t>{0, -1})}), Error);
    CHECK(get_value(table).as<float>()[0] == 1.f);
    CHECK(f({Array(std::vector<std::int32_t>{0, 1})})[0].item<float>() == 3.f);
    CHECK(get_value(table).as<float>()[0] == 2.f);
  }
}

TEST_CASE("state buffers: another type is rejected by every backend") {
  for (const char* name : kBackends) {
    INFO(name);
    const ir::Value state =
        ir::make(ir::Op::Variable, ir::VariableAttrs{1 << 20, "w", {DType::Float32, {4}}, {}}, {});
    ir::Graph graph;
    graph.outputs = {state + state};
    const module::Encoded encoded = module::write_module(module::make_module(graph));
    const runtime::InstancePtr instance = runtime::backend_instance(name);
    runtime::CompileRequest request;
    request.module = encoded.bytes;
    const runtime::Executable executable = instance->compile(request);
    const std::vector<float> elements{1, 2, 3, 4};
    const auto run = [&](DType dtype, std::vector<std::int64_t> dims) {
      const runtime::Buffer buffer = instance->import_copy(elements.data(), dtype, dims);
      const runtime::StateInput input{&buffer, false, 0};
      std::vector<runtime::Buffer> outputs(1);
      runtime::ExecuteCall call;
      call.states = {&input, 1};
      call.outputs = outputs;
      executable.execute(call).wait();
    };
    CHECK(error_text<Error>([&] { run(DType::Float32, {4}); }) == "no error");
    for (const std::string& text : {error_text<Error>([&] { run(DType::Int32, {4}); }),
                                    error_text<Error>([&] { run(DType::Float32, {3}); }),
                                    error_text<Error>([&] { run(DType::Float32, {2, 2}); })}) {
      CHECK(text.find("the buffer of state 0 does not have the type float32[4] of its variable") !=
            std::string::npos);
    }
  }
}

TEST_CASE("errors: a tensor that exceeds any memory is an error with its bytes") {
  for (const char* name : kBackends) {
    INFO(name);
    const Using chosen(name);
    const Tensor x = placeholder({.shape = {None}, .name = "x"});
    // Larger than the address space, so that no system overcommits it.
    const Function f = function({x}, {repeat_elements(x, std::int64_t{1} << 45, 0)});
    const std::string text = error_text<Error>([&] { f({Array{1.f, 2.f, 3.f, 4.f, 5.f}}); });
    INFO(text);
    CHECK(text.find("bytes") != std::string::npos);
  }
}

TEST_CASE("threads: eight run one executable", "[concurrency]") {
  for (const char* name : kBackends) {
    INFO(name);
    const Using chosen(name);
    const Tensor x = placeholder({.shape = {None, 8}, .name = "x"});
    const Tensor w = ones({8, 8}, {.name = "w"});
    const Function f = function({x}, {tanh(dot(x, w)) + sum(x, {.axis = {1}, .keepdims = true})});
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 25; ++i) {
          const auto rows = static_cast<std::int64_t>(1 + (t + i) % 5);
          const Array y = f({Array::full({rows, 8}, 0.125)})[0];
          for (const float value : y.as<float>()) {
            wrong += std::abs(value - (std::tanh(1.f) + 1.f)) > 1e-5f;
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
  }
}

TEST_CASE("matmul: reversed matrices, vectors among them") {
  for (const std::int64_t m : {1, 3}) {
    for (const std::int64_t k : {1, 5}) {
      for (const std::int64_t n : {1, 4}) {
        const Tensor x = placeholder({.shape = {m, k}, .name = "x"});
        const Tensor w = placeholder({.shape = {k, n}, .name = "w"});
        const Tensor y = dot(reverse(x, {0, 1}), reverse(w, 1));
        std::vector<float> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n));
        for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i + 1);
        for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * i) - 3;
        for (const char* name : kBackends) {
          INFO(name << ": " << m << ", " << k << ", " << n);
          const Using chosen(name);
          const Array result = function({x, w}, {y})({Array(a, {m, k}), Array(b, {k, n})})[0];
          for (std::int64_t i = 0; i < m; ++i) {
            for (std::int64_t j = 0; j < n; ++j) {
              float sum = 0;
              for (std::int64_t l = 0; l < k; ++l) {
                const std::int64_t from = (m - 1 - i) * k + k - 1 - l, to = l * n + n - 1 - j;
                sum += a[static_cast<std::size_t>(from)] * b[static_cast<std::size_t>(to)];
              }
              CHECK(result.at<float>(i, j) == sum);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("simplification: a sum of deviations keeps NaN, so it is not folded to 0") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = placeholder({.shape = {None, 2}, .name = "x"});
  for (const char* name : kBackends) {
    INFO(name);
    const Using chosen(name);
    const Tensor total = sum(x - mean(x, {.axis = 0, .keepdims = true}), {.axis = 0});
    const Array result = function({x}, {total})({Array{{1.f, nan}, {2.f, 1.f}}})[0];
    CHECK(result.as<float>()[0] == 0.f);
    CHECK(std::isnan(result.as<float>()[1]));
  }
}

TEST_CASE("float16: a subnormal constant that is added to 0 keeps its value") {
  for (const char* name : kBackends) {
    INFO(name);
    const Using chosen(name);
    const Tensor x = placeholder({.shape = {2}, .dtype = DType::Float16, .name = "x"});
    const Tensor y = sqrt(x) + 1e-7;  // a denominator of Adam, for a gradient of 0
    const auto results = function({x}, {y, x / y})({Array{0.f, 4.f}.astype(DType::Float16)});
    CHECK(results[0].astype(DType::Float32) == Array{0x1p-23f, 2.f});
    CHECK(results[1].astype(DType::Float32) == Array{0.f, 2.f});
  }
}

TEST_CASE("steps: gradients of slices and windows with steps longer than an axis") {
  constexpr std::int64_t kLong = std::int64_t{1} << 40;
  for (const char* name : kBackends) {
    INFO(name);
    const Using chosen(name);
    for (const ShapeEntry& rows : {ShapeEntry(2), ShapeEntry(None)}) {
      const Tensor x = placeholder({.shape = {rows, 3}});
      const ir::Value taken = ir::slice(value_of(x, "x"), {1, 0}, {2, 3}, {kLong, kLong});
      const Array slope = function({x}, gradients(wrap(taken), {x}))({Array::zeros({2, 3})})[0];
      CHECK(slope == Array{{0.f, 0.f, 0.f}, {1.f, 0.f, 0.f}});
    }
    const Tensor image = placeholder({.shape = {1, 2, 3, 1}});
    const Tensor pooled =
        pool2d(image, {2, 2},
               {.strides = {1 << 30, 1 << 30}, .data_format = "channels_last", .pool_mode = "avg"});
    const Array slope =
        function({image}, gradients(pooled, {image}))({Array::zeros({1, 2, 3, 1})})[0];
    CHECK(slope.reshape({2, 3}) == Array{{.25f, .25f, 0.f}, {.25f, .25f, 0.f}});
  }
}

TEMPLATE_TEST_CASE("division: by one number, at all magnitudes", "", float, double) {
  using Bits = std::conditional_t<sizeof(TestType) == 4, std::uint32_t, std::uint64_t>;
  std::mt19937_64 generator(1);
  const auto flushed = [](TestType x) {
    const bool is_tiny = std::fabs(x) < std::numeric_limits<TestType>::min();
    return is_tiny ? std::copysign(TestType{0}, x) : x;
  };
  const auto any = [&] { return flushed(std::bit_cast<TestType>(static_cast<Bits>(generator()))); };
  const std::string dtype = sizeof(TestType) == 4 ? "float32" : "float64";
  const Tensor x = placeholder({.shape = {None}, .dtype = dtype}),
               y = placeholder({.shape = {}, .dtype = dtype});
  Array dividends = Array::zeros({4001}, sizeof(TestType) == 4 ? DType::Float32 : DType::Float64);
  for (TestType& one : dividends.as<TestType>()) one = any();
  const Function divide = function({x, y}, {x / y}, {.backend = "cpu"});
  for (int i = 0; i < 300; ++i) {
    const TestType divisor = i == 0 ? TestType{0} : i == 1 ? TestType(0.001) : any();
    const Array found = divide({dividends, Array(divisor)})[0];
    std::string problem;
    for (std::size_t k = 0; k < 4001; ++k) {
      const TestType a = dividends.as<TestType>()[k], got = found.as<TestType>()[k];
      const TestType wanted = flushed(a / divisor);
      const bool is_tiny = std::fabs(a) < (sizeof(TestType) == 4 ? 0x1p-100 : 0x1p-800);
      const Bits last = std::bit_cast<Bits>(got) - std::bit_cast<Bits>(wanted) + (is_tiny ? 1 : 0);
      if (std::isnan(wanted) ? !std::isnan(got) : last > (is_tiny ? 2 : 0))
        problem = text(a, " / ", divisor, " is ", got, ", not ", wanted);
    }
    CHECK(problem == "");
  }
}
