// Tests the lines of KILN_LOG=info: what was compiled, how long it took, and why.
#include "tests/support/catch.h"
#include "tests/support/child.h"
#include "tests/support/has.h"

#include "runtime/host/log.h"

#include <kiln/k.h>

#include <regex>
#include <string>
#include <vector>

namespace K = kiln;
using K::Array, K::Tensor;
using kiln::testing::has;

namespace {

std::vector<std::string> info_lines;

/// The lines that `action` logs.
template <class Action>
std::vector<std::string> logged_by(const Action& action) {
  info_lines.clear();
  action();
  return info_lines;
}

bool matches(const std::string& line, const std::string& pattern) {
  return std::regex_match(line, std::regex(pattern));
}

}  // namespace

TEST_CASE("KILN_LOG=info: compilations and bindings, with their reasons") {
  CHECK(kiln::testing::in_new_process("[.info]", "KILN_LOG", "info") == 0);
}

TEST_CASE("child: logs compilations", "[.info]") {
  static_cast<void>(K::backend());  // logs that it opens the backend
  kiln::runtime::set_log_sink(
      [](kiln::runtime::LogLevel, std::string_view line) { info_lines.emplace_back(line); });
  const Tensor x = K::placeholder({.shape = {K::None, 2}, .name = "x"});
  const Tensor y = K::tanh(K::dot(x, K::constant(Array(std::vector<float>(4, 1.f), {2, 2}))));
  const auto compile = [&] { return K::function({x}, {y}, {.name = "step"}); };
  const auto reason_of = [&](const auto& action) {
    for (const std::string& line : logged_by(action)) {
      if (has(line, "kiln: info: compile: ")) return line.substr(line.rfind("; ") + 2);
    }
    return std::string("none");
  };
  K::Function f;
  const std::vector<std::string> first = logged_by([&] { f = compile(); });
  REQUIRE_FALSE(first.empty());
  INFO(first.back());
  CHECK(matches(first.back(),
                "kiln: info: compile: step for " + K::backend() +
                    " in [0-9.]+ ms \\(passes [0-9.]+ ms, backend [0-9.]+ ms\\); [0-9]+ nodes, "
                    "[0-9]+ after the passes; new code, as no earlier function is equal"));
  if (K::backend() == "cpu") {
    REQUIRE(first.size() == 2);
    CHECK(first[0] ==
          "kiln: info: backend cpu/compile: step: 1 kernel; steps: 1 of kernels, 1 library matmul, "
          "0 library convolutions, 0 others");
    const std::vector<std::string> call =
        logged_by([&] { f({Array(std::vector<float>(6, 1.f), {3, 2})}); });
    REQUIRE(call.size() == 1);
    CHECK(matches(call[0],
                  "kiln: info: backend cpu/bind: step: bound to inputs \\[3,2\\] in "
                  "[0-9.]+ ms; the first sizes"));
    const std::vector<std::string> other =
        logged_by([&] { f({Array(std::vector<float>(8, 1.f), {4, 2})}); });
    REQUIRE(other.size() == 1);
    CHECK(has(other[0], "bound to inputs [4,2] in "));
    CHECK(has(other[0], "; new sizes, binding 2"));
    CHECK(logged_by([&] { f({Array(std::vector<float>(6, 1.f), {3, 2})}); }).empty());
  }
  CHECK(reason_of([&] { const K::Function g = compile(); }) ==
        "the code of an equal, earlier function");
  f = K::Function();
  CHECK(reason_of([&] { f = compile(); }) ==
        "new code, as that of an equal, earlier function was freed with the function");
  CHECK(reason_of([&] { f = K::function({x}, {K::print_tensor(y)}); }) ==
        "new code, as it calls the host");
}
