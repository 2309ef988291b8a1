// Tests FunctionOptions::check_numerics: which values are errors, and that an error names the op,
// the line, the element and the step, and leaves variables unchanged.
#include "backends/abi/kiln_backend_structs.h"
#include "core/types/text.h"
#include "runtime/host/host_functions.h"
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/support/has.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>
#include <kiln/named_call.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

namespace kiln {
namespace {

using testing::error_text;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr const char* kCheckedBackends[] = {"", "cpu",
                                            "reference"};  // the first: of the test's run

/// Compiles a checked function "f".
Function checked(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                 const char* backend, const std::vector<UpdateOp>& updates = {}) {
  return function(inputs, outputs,
                  {.updates = updates, .name = "f", .backend = backend, .check_numerics = true});
}

/// The error of one call, without the line of the call. Lines of this file are those below `first`:
/// "op log at +2" for first + 2.
std::string error_of_call(const Function& f, const std::vector<Array>& inputs, unsigned first) {
  std::string message = error_text<FloatingPointError>([&] { f(inputs); });
  const std::string file = text(__FILE__, ":");
  const std::size_t at = message.find(file);
  if (at == message.npos) return message;
  std::size_t digits = 0;
  const int line = std::stoi(message.substr(at + file.size()), &digits);
  return message.replace(at, file.size() + digits, text("+", line - static_cast<int>(first)));
}

Tensor checked_input(const char* dtype = "float32") {
  return placeholder({.shape = {None}, .dtype = dtype, .name = "x"});
}

struct CheckedRow {
  Tensor x, y;
  Array fed;
  std::string message;  // of the error; "no error" if y is computed
};

void check_rows(unsigned first, const std::vector<CheckedRow>& rows) {
  for (const char* backend : kCheckedBackends) {
    for (const CheckedRow& row : rows) {
      INFO(backend);
      CHECK(error_of_call(checked({row.x}, {row.y}, backend), {row.fed}, first) == row.message);
    }
  }
}

}  // namespace

TEST_CASE("check_numerics: the error names op, line, value, element, shape, dtype and count") {
  const unsigned first = __LINE__;
  const Tensor x = checked_input(), wide = checked_input("float64");
  const Tensor half = checked_input("float16"), brain = checked_input("bfloat16");
  const Tensor logs = log(x), total = sum(exp(x));
  const Tensor quotient = 1 / x;
  const Tensor narrow = cast(x, "float16"), product = half * half;
  const Tensor matrix = placeholder({.shape = {None, 2}, .name = "m"});
  const Tensor brain_logs = log(brain), powers = exp(wide), matrix_logs = log(matrix);
  check_rows(
      first,
      {
          {x, logs, Array{1.f, 0.f, -1.f},
           "f: op log at +3 gives -inf at [1] in float32[3]; 2 of 3 elements are nan or infinite"},
          {x, logs, Array{1.f, 2.f, -1.f},
           "f: op log at +3 gives nan at [2] in float32[3]; 1 of 3 elements is nan or infinite"},
          {x, logs, Array{2.f, 1.f}, "no error"},
          {x, logs, Array::zeros({0}, DType::Float32), "no error"},
          {x, quotient, Array{-0.f},
           "f: op div of operator/ at +4 gives -inf at [0] in float32[1]"},
          {x, total, Array{88.f, 88.f, 88.f}, "f: op sum at +3 gives inf in float32[]"},
          {x, narrow, Array{1.f, 65504.f, 1e5f},
           "f: op cast at +5 gives inf at [2] in float16[3]; 1 of 3 elements is nan or infinite"},
          {half, product, Array({300.f, 2.f, -300.f}).astype(DType::Float16),
           "f: op mul of operator* at +5 gives inf at [0] in float16[3]; "
           "2 of 3 elements are nan or infinite"},
          {brain, brain_logs, Array({1.f, -2.f}).astype(DType::BFloat16),
           "f: op log at +7 gives nan at [1] in bfloat16[2]; 1 of 2 elements is nan or infinite"},
          {wide, powers, Array{1.0, 709.0, 710.0},
           "f: op exp at +7 gives inf at [2] in float64[3]; 1 of 3 elements is nan or infinite"},
          {matrix, matrix_logs, Array{{1.f, 2.f}, {3.f, 0.f}, {0.f, -1.f}},
           "f: op log at +7 gives -inf at [1,1] in float32[3,2]; "
           "3 of 6 elements are nan or infinite"},
          {x, exp(reshape(log(x), {-1, 1})), Array{-1.f},
           "f: op log at +3 gives nan at [0] in float32[1]"},
      });
}

TEST_CASE("check_numerics: inputs and variables must be finite, constants need not") {
  const unsigned first = __LINE__;
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  const Tensor unnamed = placeholder({.shape = {2}});
  const Tensor masked = x + constant(Array{-kInfinity, 0.f, -kInfinity});
  const Tensor nothing = softmax(x + constant(-kInfinity));
  const Tensor scores = placeholder({.shape = {2, 3}, .name = "s"});
  const Tensor loss =
      sparse_categorical_crossentropy(constant(Array{0, 3}), scores, {.from_logits = true});
  check_rows(
      first,
      {
          {x, x + 1, Array{1.f, kNan},
           "f: placeholder x at +1 was fed nan at [1] in float32[2]; "
           "1 of 2 elements is nan or infinite"},
          {x, x + 1, Array{kInfinity, 1.f, kNan},
           "f: placeholder x at +1 was fed inf at [0] in float32[3]; "
           "2 of 3 elements are nan or infinite"},
          {unnamed, unnamed + 1, Array{0.f, -kInfinity},
           "f: unnamed placeholder at +2 was fed -inf at [1] in float32[2]; "
           "1 of 2 elements is nan or infinite"},
          {x, masked, Array{1.f, 2.f, 3.f}, "no error"},
          {x, softmax(masked), Array{1.f, 2.f, 3.f}, "no error"},
          {x, nothing, Array{1.f, 2.f},
           "f: op softmax at +4 gives nan at [0] in float32[2]; 2 of 2 elements are nan; "
           "an operand has infinities"},
          {scores, loss, Array{{1.f, 2.f, 3.f}, {1.f, 2.f, 3.f}},
           "f: op select of sparse_categorical_crossentropy at +7 gives nan at [1] in float32[2]; "
           "1 of 2 elements is nan or infinite"},
      });
  const Variable w = variable(Array{1.f, kNan}, {.name = "w"});
  for (const char* backend : kCheckedBackends) {
    CHECK(error_of_call(checked({}, {w * 2}, backend), {}, __LINE__) ==
          "f: variable w at +-2 holds nan at [1] in float32[2]; "
          "1 of 2 elements is nan or infinite");
  }
}

TEST_CASE(
    "check_numerics: K functions and their gradients compute no infinities that they discard") {
  const Tensor x = placeholder({.shape = {None, 4}, .name = "x"});
  const Tensor image = reshape(x, {1, 4, 4, 1}), steps = softmax(reshape(x, {1, 4, 4}));
  const Tensor uniform = softmax(x * 0);
  const std::vector<Tensor> results = {
      elu(x),
      softplus(x),
      logsumexp(x),
      l2_normalize(x),
      pow(x / 100, 3),
      prod(x / 300),
      kiln::std(x),
      categorical_crossentropy(uniform, x, {.from_logits = true}),
      categorical_crossentropy(uniform, hard_sigmoid(x)),
      binary_crossentropy(uniform, x, {.from_logits = true}),
      binary_crossentropy(uniform, hard_sigmoid(x)),
      pool2d(image, {3, 3}, {.strides = {2, 2}, .padding = "same"}),
      ctc_batch_cost(constant(Array{{0, 1}}), steps, constant(Array{{4}}), constant(Array{{2}})),
  };
  const Array fed{{-200.f, -100.f, -1.f, -1e-30f},
                  {0.f, 1e-30f, 1.f, 100.f},
                  {0.f, 0.f, 0.f, 0.f},
                  {200.f, -3e4f, 3e4f, 1.f}};
  for (const char* backend : kCheckedBackends) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      INFO(backend << " " << i);
      const Tensor slope = gradients(sum(results[i]), {x})[0];
      CHECK(error_of_call(checked({x}, {results[i], slope}, backend), {fed}, 0) == "no error");
    }
  }
}

TEST_CASE("check_numerics: ops of gradients and of named calls have the line of the user's call") {
  const unsigned first = __LINE__;
  const Tensor x = checked_input();
  const Tensor y = pow(x, 0.5);
  const Tensor g = gradients(sum(y), {x})[0];
  const Tensor layer = named_call("Layer", Where::here(), [&] { return log(x + 1); });
  check_rows(first,
             {{x, g, Array{1.f, 0.f},
               "f: op pow at +2 gives inf at [1] in float32[2]; "
               "1 of 2 elements is nan or infinite"},
              {x, layer, Array{-2.f}, "f: op log of Layer at +4 gives nan at [0] in float32[1]"}});
}

TEST_CASE("check_numerics: of independent origins, the one evaluated first is named") {
  const unsigned first = __LINE__;
  const Tensor x = checked_input();
  const Tensor a = log(x), b = pow(x, 0.5), c = 1 / (x + 1);
  for (const char* backend : kCheckedBackends) {
    INFO(backend);
    const Array fed{0.f, -1.f};
    const auto begins = [&](const std::vector<Tensor>& outputs, const char* beginning) {
      return error_of_call(checked({x}, outputs, backend), {fed}, first).starts_with(beginning);
    };
    CHECK(begins({a, b, c}, "f: op log at +2 gives -inf at [0]"));
    CHECK(begins({b, c, a}, "f: op pow at +2 gives nan at [1]"));
    CHECK(begins({c + b, a}, "f: op div of operator/ at +2 gives inf at [1]"));
    CHECK(begins({sum(a), c * b, b}, "f: op log at +2 gives -inf at [0]"));
  }
}

TEST_CASE("check_numerics: within loops and branches the error names the step") {
  const unsigned first = __LINE__;
  const Tensor x = checked_input(), matrix = placeholder({.shape = {None, None}, .name = "m"});
  const Tensor sequence = placeholder({.shape = {1, None, 1}, .name = "s"});
  const auto add_log = [](const Tensor& a, const Tensor& e) { return a + log(e); };
  const Tensor left = foldl(add_log, x, {.initializer = 0});
  const Tensor right = foldr(add_log, x, {.initializer = 0});
  const auto sum_logs = [&](const Tensor& r) { return foldl(add_log, r, {.initializer = 0}); };
  const Tensor nested = map_fn(sum_logs, matrix);
  const auto step = [](const Tensor& e, const std::vector<Tensor>& states) -> StepResult {
    const Tensor next = states[0] + switch_(sum(e) < 1, [&] { return 1 / e; }, [&] { return e; });
    return {next, {next}};
  };
  const Tensor last = rnn(step, sequence, {zeros({1, 1})}).last_output;
  const Tensor slope =
      gradients(sum(map_fn([](const Tensor& e) { return pow(e, 0.5); }, x)), {x})[0];
  check_rows(
      first,
      {
          {x, left, Array{1.f, 2.f, 0.f, 1.f},
           "f: op log at +3 gives -inf in float32[]; in step 2 of a loop"},
          {x, right, Array{1.f, 0.f, 2.f, 1.f},
           "f: op log at +3 gives -inf in float32[]; in step 1 of a loop"},
          {matrix, nested, Array{{1.f, 2.f, 3.f}, {4.f, 0.f, 5.f}},
           "f: op log at +3 gives -inf in float32[]; in step [1,1] of nested loops"},
          {sequence, last, Array{{{1.f}, {2.f}, {0.f}}},
           "f: op div of operator/ at +9 gives inf at [0,0] in float32[1,1]; in step 2 of a loop"},
          {x, slope, Array{1.f, 2.f, 0.f},
           "f: op pow at +14 gives inf in float32[]; in step 2 of a loop"},
      });
}

TEST_CASE("check_numerics: a call that throws changes no variable and no later call") {
  for (const char* backend : kCheckedBackends) {
    INFO(backend);
    const Variable w = variable(Array{1.f, 2.f}), n = variable(0, {.dtype = "int32"});
    const Tensor x = checked_input();
    const auto step = checked({x}, {sum(w)}, backend, {update_add(n, 1), update_sub(w, log(x))});
    step({Array{1.f, 1.f}});
    const std::string failed = error_of_call(step, {Array{1.f, 0.f}}, 0);
    CHECK(testing::has(failed, "op log at"));
    float result = -1;
    const Array bad{1.f, -1.f};
    const ArrayView fed[] = {bad.as_view()};
    const MutableArrayView out[] = {{DType::Float32, &result, {}}};
    CHECK(testing::has(error_text<FloatingPointError>([&] { step.call_into(fed, out); }),
                       "gives nan at [1]"));
    CHECK(get_value(w) == Array{1.f, 2.f});
    CHECK(get_value(n) == Array(1));
    CHECK(step({Array{1.f, 1.f}})[0] == Array(3.f));
    CHECK(get_value(n) == Array(2));
  }
}

TEST_CASE("check_numerics: a checked training step gives the results of the unchecked one") {
  const Tensor x = placeholder({.shape = {None, 4}}), y = placeholder({.shape = {None, 3}});
  const Array start = Array::full({4, 3}, 0.25, DType::Float32);
  const Variable w = variable(start);
  const Tensor scores = dropout(tanh(dot(x, w)), 0.5), loss = mean(square(scores - y));
  const UpdateOp descend = update_sub(w, gradients(loss, {w})[0]);
  const Array images = Array::full({8, 4}, 0.5, DType::Float32),
              targets = Array::full({8, 3}, 1, DType::Float32);
  for (const char* backend : kCheckedBackends) {
    INFO(backend);
    std::vector<Array> trained;
    for (const bool check : {false, true}) {
      const RandomState state(5);
      const auto step = function(
          {x, y}, {loss, scores},
          {.updates = {descend}, .backend = backend, .check_numerics = check, .random = state});
      set_value(w, start);
      for (int i = 0; i < 3; ++i) trained.push_back(step({images, targets})[1]);
      trained.push_back(get_value(w));
      CHECK(state.next_call() == 3);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const auto plain = trained[i].as<float>(), tested = trained[i + 4].as<float>();
      for (std::size_t k = 0; k < plain.size(); ++k) CHECK(tested[k] == Approx(plain[k]));
    }
  }
}

TEST_CASE("check_numerics: functions with data-dependent shapes are checked, too") {
  const Tensor x = checked_input();
  const Tensor count = cast(sum(exp(x)), "int32");
  const Tensor y = log(cast(arange(count), "float32") + x[0]);
  const Array fed{1.f, 0.f};
  for (const char* backend : kCheckedBackends) {
    INFO(backend);
    const Function f = checked({x}, {y}, backend);
    CHECK(f({fed})[0].size() == 3);
    CHECK(testing::has(error_of_call(f, {Array{0.f, 0.f}}, 0), "op log at"));
    CHECK(testing::has(error_of_call(f, {Array{100.f, 0.f}}, 0), "op exp at"));
    CHECK(testing::has(error_of_call(f, {Array{kNan, 0.f}}, 0), "placeholder x at"));
  }
}

TEST_CASE("check_numerics: operands that no compiled function has are rejected") {
  const runtime::HostFunction check = runtime::find_host_function("check_numerics");
  REQUIRE(check != nullptr);
  float elements[] = {1, kNan}, copy[2];
  const std::int64_t two = 2, one = 1;
  const runtime::HostView value{DType::Float32, {&two, 1}, elements};
  const runtime::HostView result{DType::Float32, {&two, 1}, copy};
  const runtime::HostView smaller{DType::Float32, {&one, 1}, copy};
  const auto text_of = [&](const std::vector<runtime::HostView>& inputs,
                           const runtime::HostView& output) -> std::string {
    try {
      check({.payload = {}, .inputs = inputs, .outputs = {&output, 1}});
    } catch (const abi::BrokenStruct& broken) {
      return broken.what();
    }
    return "accepted";
  };
  CHECK(text_of({}, result) == "check_numerics takes a value and gives one but got 0 and 1");
  CHECK(text_of({value}, smaller) == "check_numerics got float32[2] and gives float32[1]");
  std::int32_t step = 3;
  CHECK(text_of({value, {DType::Int32, {}, &step}}, result) ==
        "check_numerics got a step number that is not an int64 scalar");
}

TEST_CASE("check_numerics: without it, no host call is inserted") {
  const testing::Scratch scratch;
  const Tensor x = checked_input();
  const Tensor y = log(x) * 2;
  const auto plan = [&](const FunctionOptions& options) {
    function({x}, {y}, options).dump(scratch.folder());
    std::ostringstream all;
    for (const char* name : {"/00-user.kir", "/40-module.kir"}) {
      all << std::ifstream(scratch.folder() + name).rdbuf();
    }
    return all.str();
  };
  CHECK_FALSE(testing::has(plan({}), "host_call"));
  CHECK(testing::has(plan({.check_numerics = true}), "check_numerics"));
}

}  // namespace kiln
