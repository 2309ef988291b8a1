// Updates in place in functions with collectives: the ranks agree before the first of them, so that
// a call which fails on one rank changes no variable on any.
#include "tests/distributed/training/training_ranks.h"
#include "tests/support/catch.h"

#include "core/k/base/tensor_impl.h"
#include "runtime/plugin/backend_instance.h"
#include "runtime/variable/variable_state.h"

#include <kiln/k.h>

#include <set>

namespace kiln::testing {
namespace {

namespace D = distributed;

/// The address of the variable's elements on the backend in use.
const void* address_of(const Tensor& variable) {
  runtime::VariableStorage* storage = &runtime::storage_of(value_of(variable, "x"));
  runtime::VersionRef version;
  runtime::VariableStorage::snapshot({&storage, 1}, {&version, 1});
  return version->at(runtime::current_instance()).host_data();
}

/// Six steps of w, among them one that fails on rank 1 after the collective. Returns the number of
/// addresses that w has had, its bits and the failure.
std::string train_in_place(const D::Session& world) {
  const Tensor w = zeros({100}, {.name = "w"}), x = placeholder({.shape = {100}});
  const Tensor row = placeholder({.shape = {}, .dtype = "int32"});
  const Tensor sum = D::all_reduce(x);
  const Function train = function({x, row}, {gather(sum, row)}, {.updates = {update_add(w, sum)}});
  std::set<const void*> places;
  std::string failure;
  for (int step = 0; step < 6; ++step) {
    const bool fails = step == 3;
    const Array index(fails && world.rank() == 1 ? 100 : step);
    const std::string error = error_of(
        [&] { train({Array::full({100}, static_cast<float>(world.rank() + step)), index}); });
    if (fails) failure = error;
    places.insert(address_of(w));
  }
  return std::to_string(places.size()) + " " + std::to_string(get_value(w).as<float>()[99]) + " " +
         failure;
}

TEST_CASE("training: updates in place follow the agreement of the ranks") {
  const std::vector<std::string> texts = texts_of_ranks(2, "cpu", train_in_place);
  for (const std::string& text : texts) {
    CAPTURE(text);
    CHECK_THAT(text, Catch::Matchers::StartsWith("1 29.000000 "));  // steps 0, 1, 2, 4, 5
    CHECK_THAT(text, Catch::Matchers::ContainsSubstring("index 100 is outside of an axis"));
  }
  CHECK_THAT(texts.at(0), Catch::Matchers::ContainsSubstring("rank 1 failed"));
}

}  // namespace
}  // namespace kiln::testing
