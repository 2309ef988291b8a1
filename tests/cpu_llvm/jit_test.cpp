// Linking: functions are found by name, only listed ones can be called, mistakes are errors.
#include "tests/catch.h"
#include "tests/cpu_llvm/compiled_math.h"

#include "backends/abi/kiln_backend_sdk.h"

#include <fstream>
#include <thread>

using namespace cpu_llvm_test;

namespace {

using Function = int (*)(int);

Function find(const kiln::cpu::MachineCode& code, const std::string& name) {
  return reinterpret_cast<Function>(code.address(name));
}
int seven_times(int x) { return 7 * x; }

template <class Action>
std::string failure_of(Action action) {
  try {
    action();
  } catch (const kiln::sdk::Failure& failure) {
    return failure.what();
  }
  return "";
}

/// The lines of this process's mappings that are both writable and executable.
int writable_code_mappings() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += line.find(" rwx") != std::string::npos;
  }
  return count;
}

}  // namespace

TEST_CASE("a function is found and runs") {
  const auto code = compile_adder("add5", 5);
  CHECK(find(*code, "add5")(37) == 42);
  CHECK(code->address("add5") == code->address("add5"));
}

TEST_CASE("a function that is not there is named") {
  const auto code = compile_adder("add5", 5);
  const std::string text = failure_of([&] { code->address("add6"); });
  CHECK(text.find("add6") != std::string::npos);
}

TEST_CASE("code calls what is listed and nothing else") {
  const auto code =
      compile_caller("twice", "times", {{"times", reinterpret_cast<void*>(seven_times)}});
  CHECK(find(*code, "twice")(6) == 42);
  // `toupper` is in this process, but not in the list.
  const std::string text = failure_of([] { compile_caller("f", "toupper", {})->address("f"); });
  CHECK(text.find("toupper") != std::string::npos);
}

TEST_CASE("a module that is not valid is an error") {
  CHECK(failure_of([] { compile_invalid(); }).find("compiling kernels") == 0);
}

TEST_CASE("modules with equal names live side by side") {
  const auto one = compile_adder("f", 1), two = compile_adder("f", 2);
  CHECK(find(*one, "f")(0) == 1);
  CHECK(find(*two, "f")(0) == 2);
}

TEST_CASE("memory of code is never writable and executable") {
  const int before = writable_code_mappings();  // other libraries may have some
  const auto code = compile_adder("f", 1);
  code->address("f");
  CHECK(writable_code_mappings() == before);
}

TEST_CASE("eight threads compile at once", "[concurrency]") {
  std::vector<int> results(8);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([i, &results] {
      for (int k = 0; k < 5; ++k) {
        const std::string name = "add" + std::to_string(i);
        results[static_cast<std::size_t>(i)] += find(*compile_adder(name, i), name)(k);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 8; ++i) CHECK(results[static_cast<std::size_t>(i)] == 10 + 5 * i);
}
