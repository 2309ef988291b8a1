// A host whose functions are alive when it ends by exit(), with KILN_PROFILE set: each is recorded
// once, and not again by a child. A relative path is that of the folder in which the functions were
// made.
#include "tests/support/child.h"
#include "tests/process/hosts/programs/program.h"
#include "tests/support/has.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace {

using kiln::testing::has, kiln::testing::status_of;

/// Ends the process while its functions are alive.
[[noreturn]] void call_and_exit(const std::string& folder) {
  if (::chdir(folder.c_str()) != 0) std::exit(2);
  ::setenv("KILN_PROFILE", "calls.jsonl", 1);
  const kiln::Tensor x = kiln::placeholder({.shape = {3}});
  const kiln::Function kept = kiln::function({x}, {kiln::tanh(x)}, {.name = "kept"});
  static const kiln::Function also = kiln::function({x}, {x + 1.0}, {.name = "static"});
  const kiln::Function unused = kiln::function({x}, {x * 3.0}, {.name = "unused"});
  kiln::function({x}, {x * 2.0}, {.name = "gone"})({kiln::Array{0.f, 1.f, 2.f}});
  if (::chdir("/") != 0) std::exit(2);
  for (int i = 0; i < 3; ++i) kept({kiln::Array{0.f, 1.f, 2.f}});
  also({kiln::Array{0.f, 1.f, 2.f}});
  const pid_t child = ::fork();
  if (child == 0) std::exit(0);
  std::exit(status_of(child));
}

}  // namespace

int main() {
  const kiln::testing::Scratch scratch;
  const std::string path = scratch.path("calls.jsonl");
  const pid_t child = ::fork();
  if (child == 0) call_and_exit(scratch.folder());
  expect(status_of(child) == 0, "the status of the child");
  const std::string lines = kiln::testing::contents_of(path);
  expect(std::count(lines.begin(), lines.end(), '\n') == 3, "a line for each called function");
  expect(has(lines, R"({"function":"kept","backend":"cpu","without_times":"","calls":3,)"),
         "a function on the stack");
  expect(has(lines, R"("function":"static")"), "a static function");
  expect(lines.find(R"("function":"gone")") == 1, "a function that was destroyed comes first");
  return finished();
}
