// The runner: the error's class and text, then the variables and the next call.
#include "tests/misuse.h"

#include "tests/catch.h"

#include <cstring>
#include <typeinfo>

namespace kiln::testing {
namespace {

const char* class_of(Fault fault) {
  switch (fault) {
    case Fault::Value: return typeid(ValueError).name();
    case Fault::Type: return typeid(TypeError).name();
    case Fault::NotImplemented: return typeid(NotImplementedError).name();
    case Fault::Config: return typeid(ConfigError).name();
    case Fault::Backend: return typeid(BackendError).name();
    case Fault::Io: return typeid(IoError).name();
  }
  return "";
}

bool same_bits(const Array& a, const Array& b) {
  return a.dtype() == b.dtype() && a == b && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

Array flags_after(int calls) {
  const bool first = calls % 2 != 0;
  return Array{first, !first};
}

}  // namespace

Bystanders& Bystanders::here() {
  static Bystanders& all = *new Bystanders;
  return all;
}

Bystanders::Bystanders()
    : weights(variable(Array{0.f, 0.f}, {.dtype = "float32", .name = "weights"})),
      count(variable(Array(0), {.dtype = "int32", .name = "count"})),
      flags(variable(flags_after(0), {.dtype = "bool", .name = "flags"})),
      precise(variable(Array(0.), {.dtype = "float64", .name = "precise"})),
      x(placeholder({.shape = {None, 2}, .dtype = "float32", .name = "x"})),
      advance(function({x}, {sum(x) + weights[0]},
                       {.updates = {update_add(weights, 1), update_add(count, 1),
                                    update(flags, equal(flags, false)), update_add(precise, 1)},
                        .name = "advance",
                        .backend = "reference"})) {}

std::vector<Array> Bystanders::values() const {
  return batch_get_value({weights, count, flags, precise});
}

void Bystanders::check_unharmed() {
  const auto expected = [](int calls) {
    const auto number = static_cast<float>(calls);
    return std::vector<Array>{Array{number, number}, Array(calls), flags_after(calls),
                              Array(static_cast<double>(calls))};
  };
  const auto check_values = [&] {
    const std::vector<Array> actual = values(), wanted = expected(advanced_);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      INFO("variable " << i << ": " << actual[i] << ", expected " << wanted[i]);
      CHECK(same_bits(actual[i], wanted[i]));
    }
  };
  check_values();
  const float sum = static_cast<float>(advanced_) + 6;
  CHECK(advance({Array{{1.f, 1.f}, {2.f, 2.f}}})[0].item<float>() == sum);
  ++advanced_;
  check_values();
}

void run(const Misuse& row, const char* file) {
  Bystanders& bystanders = Bystanders::here();
  INFO("line " << row.line << ": " << row.message);
  try {
    row.call();
    CHECK("nothing was thrown" == row.message);
  } catch (const Error& error) {
    CHECK(std::string(typeid(error).name()) == class_of(row.fault));
    const std::string place = " [" + std::string(file) + ":" + std::to_string(row.line) + "]";
    CHECK(error.what() == row.message + (row.line == 0 ? "" : place));
    CHECK(error.where().line == row.line);
  }
  bystanders.check_unharmed();
}

void run(const std::vector<Misuse>& rows, const char* file) {
  Bystanders::here();
  for (const Misuse& row : rows) run(row, file);
}

}  // namespace kiln::testing
