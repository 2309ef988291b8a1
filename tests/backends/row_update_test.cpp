// Tests updates of an embedding by the gradient of gather: a CPU writes only the rows that have an
// index. The dense form of the same function is compiled without update_rows.
#include "tests/support/catch.h"
#include "tests/support/environment.h"
#include "tests/support/error_text.h"
#include "tests/support/scratch.h"
#include "tests/core/ops/special_values.h"

#include "core/k/base/tensor_impl.h"
#include "runtime/plugin/backend_instance.h"
#include "runtime/variable/variable_state.h"

#include <kiln/k.h>

#include <limits>
#include <optional>
#include <set>

using namespace kiln;

namespace {

using Rows = std::vector<std::int64_t>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// How the new value of the table e follows from the gradient g and the rate.
enum class Form { Subtracts, Adds, SubtractsAll };

struct Training {
  Tensor table, indices, weights, rate;
  Function function;
};

/// The loss is the sum of the chosen rows times weights; its gradient at a row is the sum of the
/// weights of that row's indices.
Training training(const Array& table, DType index_dtype, Form form, double rate,
                  bool rate_is_fed = false) {
  const std::string dtype(dtype_name(table.dtype()));
  Training t;
  t.table = variable(table, {.dtype = dtype});
  const std::int64_t columns = table.dims().back();
  t.indices = placeholder({.shape = {None}, .dtype = std::string(dtype_name(index_dtype))});
  t.weights = placeholder({.shape = {None, columns}, .dtype = dtype});
  t.rate = placeholder({.shape = Shape({}), .dtype = dtype});
  const Tensor loss = sum(gather(t.table, t.indices) * t.weights);
  const Tensor g = gradients(loss, {t.table})[0];
  const Tensor scaled = rate_is_fed ? t.rate * g : rate * g;
  const UpdateOp update = form == Form::Subtracts ? update_sub(t.table, scaled)
                          : form == Form::Adds    ? update_add(t.table, scaled)
                                                  : update_sub(t.table, g);
  std::vector<Tensor> inputs{t.indices, t.weights};
  if (rate_is_fed) inputs.push_back(t.rate);
  t.function = kiln::function(inputs, {}, {.updates = {update}});
  return t;
}

std::vector<Array> fed(const Rows& indices, const Array& weights, DType index_dtype) {
  return {Array(indices).astype(index_dtype), weights};
}

/// The table after two calls.
Array trained(const Training& t, std::vector<Array> inputs) {
  for (int i = 0; i < 2; ++i) t.function(inputs);
  return get_value(t.table);
}

Array drawn(const Rows& dims, DType dtype, bool special, unsigned seed) {
  std::mt19937_64 generator(seed);
  ir::Dims sizes(dims.begin(), dims.end());
  const ir::Type type{dtype, sizes};
  return special ? test::repeated_specials(type, generator)
                 : test::random_array(generator, type, -2, 2);
}

Rows drawn_rows(std::int64_t count, std::int64_t rows) {
  std::mt19937_64 generator(11);
  Rows all;
  for (std::int64_t i = 0; i < count; ++i) {
    all.push_back(static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(rows)));
  }
  return all;
}

/// The value of KILN_DISABLE for the dense form; `reference` has no other.
std::optional<std::string> dense() {
  if (backend() == "reference") return std::nullopt;
  return "update_rows";
}

void check_as_dense(const Array& table, DType index_dtype, const Rows& indices,
                    const Array& weights, Form form, double rate, bool rate_is_fed) {
  const auto run = [&] {
    const Training t = training(table, index_dtype, form, rate, rate_is_fed);
    std::vector<Array> inputs = fed(indices, weights, index_dtype);
    if (rate_is_fed) inputs.push_back(Array::full({}, rate, table.dtype()));
    return trained(t, inputs);
  };
  const Array rows = run();
  const testing::EnvironmentVariable disable("KILN_DISABLE", dense());
  CHECK(test::bit_difference(rows, run()) == "");
}

/// The address of the variable's elements on the backend in use.
const void* address_of(const Tensor& variable) {
  runtime::VariableStorage* storage = &runtime::storage_of(value_of(variable, "x"));
  runtime::VersionRef version;
  runtime::VariableStorage::snapshot({&storage, 1}, {&version, 1});
  return version->at(runtime::current_instance()).host_data();
}

}  // namespace

TEST_CASE("row update: the bits of the update of the whole table") {
  const Rows indices = drawn_rows(40, 17);
  for (const DType dtype : {DType::Float32, DType::Float64}) {
    for (const std::int64_t columns : {1, 32, 37}) {
      const Array weights = drawn({40, columns}, dtype, false, 3);
      for (const bool special : {false, true}) {
        INFO(dtype_name(dtype) << ", columns " << columns << ", special values " << special);
        const Array table = drawn({17, columns}, dtype, special, 4);
        for (const Form form : {Form::Subtracts, Form::Adds, Form::SubtractsAll}) {
          check_as_dense(table, DType::Int32, indices, weights, form, 0.1, false);
        }
        check_as_dense(table, DType::Int64, indices, weights, Form::Subtracts, 0.1, false);
      }
    }
  }
}

TEST_CASE("row update: a table that is looked up several times") {
  // Slopes are small integers, whose sums are exact in any order.
  const auto trained_twice = [](const std::optional<std::string>& dump) {
    const Tensor table = variable(drawn({50, 6}, DType::Float32, false, 4));
    const Tensor words = placeholder({.shape = {None}, .dtype = "int32"});
    const Tensor others = placeholder({.shape = {None, 3}, .dtype = "int32"});
    const Tensor rows = gather(table, words), more = gather(table, others);
    const Tensor loss = sum(rows * 2.0) + sum(more * 3.0) - sum(gather(table, words + 1));
    const Tensor slope = gradients(loss, {table})[0];
    FunctionOptions options{.updates = {update_sub(table, 0.25 * slope)}};
    if (dump) options.dump = *dump;
    const Function f = function({words, others}, {}, options);
    const Array pairs = Array(drawn_rows(30, 50)).astype(DType::Int32).reshape({10, 3});
    for (int i = 0; i < 2; ++i) f({Array(Rows{1, 7, 7, 30}).astype(DType::Int32), pairs});
    return get_value(table);
  };
  const testing::Scratch scratch;
  const Array rows = trained_twice(scratch.path("dump"));
  if (backend() == "cpu") {
    const std::string plan = testing::contents_of(scratch.path("dump/52-plan.txt"));
    INFO(plan);
    CHECK(plan.find("\nrows %") != std::string::npos);
    CHECK(plan.find("[50,6]", plan.find("temporary")) == std::string::npos);
  }
  const testing::EnvironmentVariable disable("KILN_DISABLE", dense());
  CHECK(test::bit_difference(rows, trained_twice(std::nullopt)) == "");
}

TEST_CASE("row update: any rate gives the bits of the dense form") {
  const Rows indices{3, 0, 3, 6};
  const Array weights = drawn({4, 5}, DType::Float32, false, 3);
  const Array table = drawn({8, 5}, DType::Float32, true, 4);
  for (const double rate : {0.0, -0.0, 0.5, -0.5, kInf, -kInf, kNan, 1e-42, -1e-42}) {
    for (const bool is_fed : {false, true}) {
      INFO("rate " << rate << ", an input: " << is_fed);
      check_as_dense(table, DType::Int32, indices, weights, Form::Subtracts, rate, is_fed);
      check_as_dense(table, DType::Int32, indices, weights, Form::Adds, rate, is_fed);
    }
  }
}

TEST_CASE("row update: no indices, equal indices and special values") {
  const Array table = drawn({8, 5}, DType::Float32, true, 4);
  check_as_dense(table, DType::Int32, {}, Array::zeros({0, 5}), Form::Subtracts, 0.5, false);
  check_as_dense(table, DType::Int32, {}, Array::zeros({0, 5}), Form::Subtracts, kInf, false);
  check_as_dense(table, DType::Int32, {7, 7, 7}, drawn({3, 5}, DType::Float32, true, 6),
                 Form::Subtracts, 0.5, false);
  // Rows have no elements, so that no index is read.
  check_as_dense(Array::zeros({8, 0}), DType::Int32, {100}, Array::zeros({1, 0}), Form::Subtracts,
                 0.5, false);
}

TEST_CASE("row update: large updates run in parts") {
  const Array table = drawn({3000, 64}, DType::Float32, false, 4);
  const Array weights = drawn({5000, 64}, DType::Float32, false, 5);
  Rows indices = drawn_rows(5000, 3000);
  check_as_dense(table, DType::Int32, indices, weights, Form::Subtracts, 0.1, false);
  check_as_dense(table, DType::Int32, indices, weights, Form::Adds, 0.1, false);
  // Most indices name one row, in several parts.
  for (std::size_t i = 0; i < 4000; ++i) indices[i] = 1500;
  check_as_dense(table, DType::Int32, indices, weights, Form::Subtracts, 0.1, false);
  check_as_dense(drawn({70000, 2}, DType::Float32, false, 4), DType::Int32, drawn_rows(5000, 70000),
                 drawn({5000, 2}, DType::Float32, false, 5), Form::Subtracts, 0.1, false);
}

TEST_CASE("row update: the plan of a CPU writes rows of several tables in one step") {
  if (backend() != "cpu") return;
  const testing::Scratch scratch;
  const Tensor x = placeholder({.shape = {3}, .dtype = "int32"});
  const Tensor tables[] = {zeros({10, 4}), zeros({20, 4})};
  const std::vector<Tensor> slopes =
      gradients(sum(gather(tables[0], x)) + sum(gather(tables[1], x)), {tables[0], tables[1]});
  const Function f = function(
      {x}, {},
      {.updates = {update_sub(tables[0], 0.1 * slopes[0]), update_add(tables[1], slopes[1] * 0.1)},
       .dump = scratch.path("dump")});
  const std::string plan = testing::contents_of(scratch.path("dump/52-plan.txt"));
  INFO(plan);
  const auto step = plan.find("\nrows %");
  REQUIRE(step != std::string::npos);
  const std::string line = plan.substr(step + 1, plan.find('\n', step + 1) - step);
  CHECK(line.find("; rows %") != std::string::npos);
  CHECK(plan.find("10,4]", plan.find("temporary")) == std::string::npos);
}

TEST_CASE("row update: overwrites the value in place, unless the user holds the old value") {
  if (backend() != "cpu") return;
  const Array ones = Array::full({100, 8}, 1.f);
  Training t = training(ones, DType::Int32, Form::Subtracts, 0.5);
  const std::vector<Array> inputs = fed({3, 99, 3}, Array::full({3, 8}, 1.f), DType::Int32);
  std::set<const void*> addresses;
  for (int i = 0; i < 4; ++i) {
    t.function(inputs);
    addresses.insert(address_of(t.table));
  }
  CHECK(addresses.size() == 1);
  const Array held = get_value(t.table);
  CHECK(held.as<float>()[3 * 8] == -3);
  CHECK(held.as<float>()[4 * 8] == 1);
  t.function(inputs);
  CHECK(held.as<float>()[3 * 8] == -3);
  CHECK(get_value(t.table).as<float>()[3 * 8] == -4);
  CHECK(get_value(t.table).as<float>()[4 * 8] == 1);
}

TEST_CASE("row update: a bad index is the error of the dense form and changes no variable") {
  const Array table = drawn({10, 4}, DType::Float32, false, 4);
  const auto run = [&](std::int64_t last, DType dtype) {
    const Tensor first = variable(table), second = variable(table), other = ones({4});
    const Tensor good = placeholder({.shape = {2}, .dtype = "int32"});
    const Tensor bad = placeholder({.shape = {3}, .dtype = std::string(dtype_name(dtype))});
    const std::vector<Tensor> slopes =
        gradients(sum(gather(first, good)) + sum(gather(second, bad)), {first, second});
    const Function f =
        function({good, bad}, {},
                 {.updates = {update_sub(first, 0.1 * slopes[0]),
                              update_sub(second, 0.1 * slopes[1]), update_add(other, 1.0)}});
    const auto call = [&](std::int64_t index) {
      f({Array(Rows{1, 2}).astype(DType::Int32), Array(Rows{1, 2, index}).astype(dtype)});
    };
    const std::string message = testing::error_text<Error>([&] { call(last); });
    CHECK(get_value(first) == table);
    CHECK(get_value(second) == table);
    CHECK(get_value(other) == Array::full({4}, 1.f));
    call(9);
    CHECK(get_value(first) != table);
    CHECK(get_value(other) == Array::full({4}, 2.f));
    return message;
  };
  struct Bad {
    std::int64_t index;
    DType dtype;
    const char* text;
  };
  for (const Bad& bad : {Bad{10, DType::Int32, "index 10"},
                         {-1, DType::Int32, "index -1"},
                         {-1, DType::UInt64, "index 18446744073709551615"}}) {
    const std::string message = run(bad.index, bad.dtype);
    CHECK(message.find(bad.text + std::string(" is outside of an axis of size 10")) !=
          std::string::npos);
    const testing::EnvironmentVariable disable("KILN_DISABLE", dense());
    CHECK(message == run(bad.index, bad.dtype));
  }
}

TEST_CASE("row update: an embedding whose value is read elsewhere is updated as a whole") {
  const Array table = drawn({10, 4}, DType::Float32, false, 4);
  const Tensor e = variable(table);
  const Tensor x = placeholder({.shape = {2}, .dtype = "int32"});
  const Tensor g = gradients(sum(gather(e, x)), {e})[0];
  const Tensor next = e - 0.5 * g;
  const Function f =
      function({x}, {sum(next) - sum(e), g, e + 0.0}, {.updates = {update(e, next)}});
  const std::vector<Array> results = f({Array(Rows{1, 1}).astype(DType::Int32)});
  CHECK(results[0].item<float>() == Approx(-4).margin(1e-4));
  CHECK(results[1].as<float>()[4] == 2);
  CHECK(results[2] == table);
  CHECK(get_value(e).as<float>()[4] == table.as<float>()[4] - 1);
}
