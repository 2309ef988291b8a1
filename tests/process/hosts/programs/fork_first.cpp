// A host that forks before it uses Kiln: both processes work. It forks again afterwards: the child
// gets an error, and every process ends through exit.
#include "tests/support/child.h"
#include "tests/support/error_text.h"
#include "tests/process/hosts/programs/program.h"
#include "tests/process/hosts/sample.h"

int main() {
  // Building graphs starts no thread that a child would lack.
  const kiln::Tensor x = kiln::placeholder({.shape = {3}});
  const kiln::Tensor y = kiln::tanh(x) + 1.0;
  const pid_t first = ::fork();
  expect(hosts_test::works_on("cpu"), "both processes");
  const kiln::Function f = kiln::function({x}, {y}, {.backend = "cpu"});
  expect(f({kiln::Array{0.f, 0.f, 0.f}})[0].as<float>()[1] == 1, "what was built before");
  if (first == 0) return 0;
  expect(kiln::testing::status_of(first) == 0, "the first child");
  const pid_t second = ::fork();
  if (second == 0) {
    const std::string text =
        kiln::testing::error_of<kiln::BackendError>([&] { f({kiln::Array{0.f, 0.f, 0.f}}); });
    expect(text.find("before it forked") != std::string::npos, "the error of the second child");
    return 0;
  }
  expect(kiln::testing::status_of(second) == 0, "the second child");
  expect(hosts_test::works_on("cpu"), "the parent after its children");
  return finished();
}
