// Tests settings that a host or its user gets wrong: missing instruction sets, thread counts out of
// range. Each is an error of its own, and the earlier setting stays.
#include "tests/support/catch.h"
#include "tests/support/child.h"
#include "tests/support/error_text.h"
#include "tests/process/hosts/sample.h"

#include "runtime/plugin/backend_instance.h"

#include <signal.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <set>
#include <sstream>

using namespace kiln;
using kiln::testing::error_of;

namespace {

const char* const kLevels[] = {"baseline", "avx2", "avx512", "amx"};

/// The best ISA level of the processor, found in another way than by the backend.
int best_level() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && line.rfind("flags", 0) != 0) {
  }
  std::istringstream words(line);
  std::set<std::string> flags;
  for (std::string word; words >> word;) flags.insert(word);
  const auto has = [&](std::initializer_list<const char*> names) {
    return std::all_of(names.begin(), names.end(),
                       [&](const char* name) { return flags.count(name) == 1; });
  };
  if (!has({"avx2", "fma", "f16c", "bmi1", "bmi2", "abm", "movbe"})) return 0;
  if (!has({"avx512f", "avx512cd", "avx512dq", "avx512bw", "avx512vl"})) return 1;
  return has({"avx512_bf16", "amx_tile", "amx_bf16"}) ? 3 : 2;
}

std::string rejection_of(const std::string& level) {
  return error_of<BackendError>([&] {
    const runtime::InstancePtr known = runtime::backend_instance("cpu");
    runtime::Instance::create(known->plugin(), {{"isa", level}});
  });
}

bool contains(const std::string& whole, const std::string& part) {
  return whole.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("ISA setting: one that the machine lacks, or an unknown one, is an error") {
  const int best = best_level();
  for (int level = 0; level < 4; ++level) {
    INFO(kLevels[level]);
    const std::string rejection = rejection_of(kLevels[level]);
    INFO(rejection);
    const std::string lacks = std::string("isa is ") + kLevels[level] +
                              " but this processor has at most " + kLevels[best];
    CHECK((level <= best ? rejection.empty() : contains(rejection, lacks)));
  }
  for (const char* wrong : {"AVX2", "sse4.1", "avx1024", "avx2 "}) {
    INFO(wrong);
    CHECK(contains(rejection_of(wrong), std::string("isa is '") + wrong +
                                            "' but must be baseline, avx2, avx512 or amx"));
  }
}

TEST_CASE("ISA setting: KILN_CPU_ISA is checked when the backend is first needed") {
  const int best = best_level();
  for (int level = 0; level < 4; ++level) {
    INFO(kLevels[level]);
    const char* hidden = level <= best ? "[.isa_accepted]" : "[.isa_rejected]";
    CHECK(kiln::testing::in_new_process(hidden, "KILN_CPU_ISA", kLevels[level]) == 0);
  }
  for (const char* wrong : {"avx1024", "AVX512", "0"}) {
    INFO(wrong);
    CHECK(kiln::testing::in_new_process("[.isa_rejected]", "KILN_CPU_ISA", wrong) == 0);
  }
  CHECK(kiln::testing::in_new_process("[.isa_accepted]", "KILN_CPU_ISA", "") == 0);
}

TEST_CASE("ISA setting: AMX is not used where a signal stack has no room for its tiles") {
  if (best_level() < 3) {
    WARN("left out: the processor has no AMX");
    return;
  }
  CHECK(kiln::testing::in_new_process("[.small_signal_stack]", "KILN_CPU_ISA", "") == 0);
}

TEST_CASE("child: a small signal stack, then the first use of cpu", "[.small_signal_stack]") {
  static char memory[4096];
  stack_t small{}, before{};
  small.ss_sp = memory;
  small.ss_size = sizeof memory;
  REQUIRE(::sigaltstack(&small, &before) == 0);
  CHECK(hosts_test::works_on("cpu"));
  const std::string rejection = rejection_of("amx");
  REQUIRE(::sigaltstack(&before, nullptr) == 0);
  INFO(rejection);
  CHECK(contains(rejection, "isa is amx but Linux does not permit this process to use AMX"));
}

TEST_CASE("child: the ISA is accepted", "[.isa_accepted]") { CHECK(hosts_test::works_on("cpu")); }

TEST_CASE("child: the ISA is rejected, and the reference backend still works", "[.isa_rejected]") {
  const std::string given = std::getenv("KILN_CPU_ISA");
  const std::string text = error_of<BackendError>([] { hosts_test::works_on("cpu"); });
  INFO(text);
  CHECK(contains(text, "KILN_CPU_ISA"));
  CHECK(contains(text, given));
  CHECK(hosts_test::works_on("reference"));
  CHECK(error_of<BackendError>([] { hosts_test::works_on("cpu"); }) == text);
}

TEST_CASE("thread count: out of range it is an error; in range results do not depend on it") {
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  const Function f = function({x}, {tanh(x) * x + 1.0}, {.backend = "cpu"});
  const Array fed = Array::full({100'000}, 0.75);
  set_threads(1);
  const Array one = f({fed})[0];
  for (const int wrong : {0, -1, -10'000, 4'097, 10'000, 2'147'483'647}) {
    CHECK(
        contains(error_of<ValueError>([&] { set_threads(wrong); }),
                 "set_threads: count is " + std::to_string(wrong) + " but must be from 1 to 4096"));
    CHECK(f({fed})[0] == one);
  }
  for (const int count : {2, 7, 300, 1}) {
    INFO(count << " threads");
    set_threads(count);
    CHECK(f({fed})[0] == one);
  }
}

TEST_CASE("thread count: KILN_THREADS out of range is an error of the first function") {
  for (const char* wrong : {"0", "-2", "10000", "many"}) {
    INFO(wrong);
    CHECK(kiln::testing::in_new_process("[.threads_rejected]", "KILN_THREADS", wrong) == 0);
  }
  CHECK(kiln::testing::in_new_process("[.threads_accepted]", "KILN_THREADS", "4096") == 0);
}

TEST_CASE("child: the number of threads is rejected", "[.threads_rejected]") {
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  const auto compile = [&] { return function({x}, {tanh(x) * x + 1.0}, {.backend = "cpu"}); };
  const std::string text = error_of<ConfigError>([&] { compile(); });
  INFO(text);
  CHECK(contains(text, std::string("KILN_THREADS is '") + std::getenv("KILN_THREADS") +
                           "' but must be a number from 1 to 4096"));
  set_threads(2);
  CHECK(compile()({Array::full({1'000'000}, 0.0)})[0].as<float>()[7] == 1.0f);
}

TEST_CASE("child: the number of threads is accepted", "[.threads_accepted]") {
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  const Function f = function({x}, {tanh(x) * x + 1.0}, {.backend = "cpu"});
  CHECK(f({Array::full({1'000'000}, 0.0)})[0].as<float>()[999'999] == 1.0f);
}
