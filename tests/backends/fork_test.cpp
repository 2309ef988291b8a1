// After fork: the reference backend, which has no threads, goes on in the child; cpu refuses there
// with a clear error. The parent's functions and variables stay as they were in either case.
#include "tests/catch.h"

#include "core/types/text.h"

#include <kiln/k.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>

using namespace kiln;

namespace {

/// What `run` gives or throws in a forked child, which ends without destructors.
std::string said_by_child(const std::function<std::string()>& run) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(60);  // a child that hangs ends by a signal
    std::string said;
    try {
      said = run();
    } catch (const std::exception& error) {
      said = error.what();
    }
    const bool written = ::write(ends[1], said.data(), said.size()) ==
                         static_cast<ssize_t>(said.size());
    ::_exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  std::string said;
  std::array<char, 4096> buffer;
  for (ssize_t n; (n = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
    said.append(buffer.data(), static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  return said;
}

/// Adds the sum of what it is fed to a total.
struct Counter {
  explicit Counter(const char* backend)
      : total(variable(Array(1.f), {.name = "total"})),
        add([&] {
          const Tensor x = placeholder({.shape = {None}, .name = "x"});
          return function({x}, {total + sum(x)},
                          {.updates = {update_add(total, sum(x))}, .backend = backend});
        }()) {}

  float step() { return add({Array{2.f, 3.f}})[0].item<float>(); }

  Variable total;
  Function add;
};

}  // namespace

TEST_CASE("a function of the reference backend is called, and another made, in a forked child") {
  Counter counter("reference");
  REQUIRE(counter.step() == 6.f);
  CHECK(said_by_child([&] {
          const float called = counter.step();
          Counter made("reference");
          return text(called, " ", get_value(counter.total).item<float>(), " ", made.step());
        }) == "11 11 6");
  CHECK(get_value(counter.total).item<float>() == 6.f);
  CHECK(counter.step() == 11.f);
}

TEST_CASE("cpu refuses in a forked child, and the parent goes on") {
  Counter counter("cpu");
  REQUIRE(counter.step() == 6.f);
  const std::string said = said_by_child([&] { return text(counter.step()); });
  INFO(said);
  CHECK(said.find("backend cpu was initialised in process " + std::to_string(::getpid()) +
                  " before it forked and cannot be used in its child ") != std::string::npos);
  CHECK(said.find("; start a new program instead of forking") != std::string::npos);
  CHECK(said_by_child([&] { return text(get_value(counter.total).item<float>()); }) == "6");
  CHECK(counter.step() == 11.f);
}
