// Runs misuses, compares class and text of the error, then checks the bystanders.
#include "tests/support/misuse.h"

#include "tests/support/catch.h"

#include <cstring>

namespace kiln::testing {
namespace {

bool same_bits(const Array& a, const Array& b) {
  return a.dtype() == b.dtype() && a == b && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

Array flags_after(int calls) {
  const bool first = calls % 2 != 0;
  return Array{first, !first};
}

}  // namespace

struct MisusedCall::Owner {
  Owner(void* new_lambda, CallOrDelete function) : lambda(new_lambda), call_or_delete(function) {}
  ~Owner() { call_or_delete(lambda, false); }
  void* const lambda;
  const CallOrDelete call_or_delete;
};

MisusedCall::MisusedCall(void* lambda, CallOrDelete call_or_delete)
    : owner_(std::make_shared<const Owner>(lambda, call_or_delete)) {}

void MisusedCall::operator()() const { owner_->call_or_delete(owner_->lambda, true); }

Bystanders& Bystanders::here() {
  static NoDestructor<Bystanders> instance;
  return *instance;
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

void run(const Misuse& row) {
  Bystanders& bystanders = Bystanders::here();
  const Where& where = row.error.where;
  INFO("line " << where.line << ": " << row.message);
  try {
    row.call();
    CHECK("nothing was thrown" == row.message);
  } catch (const Error& error) {
    CHECK(std::string(typeid(error).name()) == row.error.type);
    std::string text = row.message;
    if (where.known()) text += " [" + (where.file + (":" + std::to_string(where.line))) + "]";
    CHECK(error.what() == text);
    CHECK(error.where().line == where.line);
  }
  bystanders.check_unharmed();
}

void run(const std::vector<Misuse>& rows) {
  Bystanders::here();
  for (const Misuse& row : rows) run(row);
}

}  // namespace kiln::testing
