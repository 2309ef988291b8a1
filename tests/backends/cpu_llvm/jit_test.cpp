// Tests linking: functions are found by name, only listed ones can be called, mistakes are errors.
#include "tests/support/catch.h"
#include "tests/backends/cpu_llvm/compiled_math.h"

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cpu/llvm/jit/code_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <new>
#include <sstream>
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

/// The number of mappings of this process; under a sanitizer, whose allocator maps memory at any
/// time, the number of executable ones.
std::ptrdiff_t mappings() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr const char* kCounted = " r-xp";
#else
  constexpr const char* kCounted = "";
#endif
  std::ifstream maps("/proc/self/maps");
  std::ptrdiff_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += line.find(kCounted) != std::string::npos;
  }
  return count;
}

/// The protection of an address as /proc/self/maps shows it: "r-xp".
std::string protection_of(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0, end = 0;
    std::string protection;
    words >> std::hex >> begin;
    words.ignore();
    words >> end >> protection;
    if (begin <= wanted && wanted < end) return protection;
  }
  return "";
}

}  // namespace

TEST_CASE("JIT: a function is found and runs") {
  const auto code = compile_adder("add5", 5);
  CHECK(find(*code, "add5")(37) == 42);
  CHECK(code->address("add5") == code->address("add5"));
}

TEST_CASE("JIT: a missing function is named") {
  const auto code = compile_adder("add5", 5);
  const std::string text = failure_of([&] { code->address("add6"); });
  CHECK(text.find("add6") != std::string::npos);
}

TEST_CASE("JIT: code calls listed functions only") {
  const auto code =
      compile_caller("twice", "times", {{"times", reinterpret_cast<void*>(seven_times)}});
  CHECK(find(*code, "twice")(6) == 42);
  // `toupper` is in this process, but not in the list.
  const std::string text = failure_of([] { compile_caller("f", "toupper", {})->address("f"); });
  CHECK(text.find("toupper") != std::string::npos);
}

TEST_CASE("JIT: an invalid module is an error") {
  CHECK(failure_of([] { compile_invalid(); }).find("compiling kernels") == 0);
}

TEST_CASE("JIT: modules of equal names coexist") {
  const auto one = compile_adder("f", 1), two = compile_adder("f", 2);
  CHECK(find(*one, "f")(0) == 1);
  CHECK(find(*two, "f")(0) == 2);
}

TEST_CASE("JIT: memory of code is never writable and executable") {
  const int before = writable_code_mappings();  // other libraries may have some
  const auto code = compile_adder("f", 1);
  code->address("f");
  CHECK(writable_code_mappings() == before);
}

TEST_CASE("JIT: hundreds of modules share a few mappings, and release their memory") {
  constexpr int kModules = 500;
  const std::string name = "f";
  std::vector<std::ptrdiff_t> before, alive, after;
  for (int round = 0; round < 3; ++round) {
    before.push_back(mappings());
    std::vector<std::unique_ptr<kiln::cpu::MachineCode>> modules;
    for (int i = 0; i < kModules; ++i) modules.push_back(compile_constant(name, i + 0.5));
    int right = 0;
    for (int i = 0; i < kModules; ++i) {
      right += reinterpret_cast<double (*)()>(modules[i]->address(name))() == i + 0.5;
    }
    CHECK(right == kModules);
    alive.push_back(mappings());
    // Holes first: every third module is freed, and others take its memory.
    for (int i = 0; i < kModules; i += 3) modules[i].reset();
    for (int i = 0; i < kModules; i += 3) {
      modules[i] = compile_constant(name, -i);
      REQUIRE(reinterpret_cast<double (*)()>(modules[i]->address(name))() == -i);
    }
    alive.push_back(mappings());
    modules.clear();
    after.push_back(mappings());
  }
  INFO("mappings before: " << before[0] << ", " << before[1] << ", " << before[2]
                           << "; alive: " << alive[0] << ", " << alive[2] << ", " << alive[4]
                           << "; after: " << after[0] << ", " << after[1] << ", " << after[2]);
  for (const std::ptrdiff_t count : alive) CHECK(count - before[0] < 50);
  CHECK(after[2] <= after[0] + 4);
}

TEST_CASE("code pages: code and constants are protected, and released pages are cleared") {
  using kiln::cpu::CodePages;
  using kiln::cpu::PageUse;
  const std::size_t page = CodePages::page_bytes();
  for (int round = 0; round < 3; ++round) {
    CodePages pages({2 * page + 1, 1, 0});
    CHECK(pages.address(PageUse::Data) == nullptr);
    std::byte* const code = pages.address(PageUse::Code);
    std::byte* const constants = pages.address(PageUse::Constants);
    CHECK(std::all_of(code, code + 3 * page, [](std::byte byte) { return byte == std::byte(0); }));
    CHECK(constants[page - 1] == std::byte(0));
    code[2 * page] = constants[page - 1] = std::byte(7);
    pages.protect();
    CHECK(protection_of(code) == "r-xp");
    CHECK(protection_of(code + 2 * page) == "r-xp");
    CHECK(protection_of(constants) == "r--p");
    CHECK(constants[page - 1] == std::byte(7));
  }
}

TEST_CASE("code pages: a module larger than a slab has one of its own") {
  const std::ptrdiff_t before = mappings();
  {
    kiln::cpu::CodePages pages({std::size_t{40} << 20, std::size_t{20} << 20, 0});
    pages.protect();
    CHECK(mappings() > before);
  }
  CHECK_THROWS_AS(kiln::cpu::CodePages({SIZE_MAX, 0, 0}), std::bad_alloc);
  CHECK_THROWS_AS(kiln::cpu::CodePages({std::size_t{1} << 50, 0, 0}), std::bad_alloc);
}

TEST_CASE("JIT: eight threads compile concurrently", "[concurrency]") {
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

TEST_CASE("code pages: pages that are locked in memory are zeroed before they are used again") {
  using kiln::cpu::CodePages;
  const std::size_t bytes = CodePages::page_bytes();
  const std::byte* before = nullptr;
  {
    CodePages pages({bytes, 0, 0});
    std::byte* const memory = pages.address(kiln::cpu::PageUse::Code);
    if (::mlock(memory, bytes) != 0) {
      WARN("this process may not lock memory");
      return;
    }
    std::fill_n(memory, bytes, std::byte{0xcc});
    pages.protect();
    before = memory;
  }
  const CodePages again({bytes, 0, 0});
  const std::byte* const memory = again.address(kiln::cpu::PageUse::Code);
  REQUIRE(memory == before);
  CHECK(std::all_of(memory, memory + bytes, [](std::byte one) { return one == std::byte{}; }));
  ::munlock(memory, bytes);
}
