// Tests that fatal errors of LLVM become failures, after which compiling works again.
#include "tests/support/catch.h"
#include "tests/backends/cpu_llvm/compiled_math.h"

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cpu/llvm/jit/compile_thread.h"
#include "backends/cpu/llvm/jit/llvm_setup.h"

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <new>
#include <stdexcept>
#include <thread>

using namespace cpu_llvm_test;
using kiln::cpu::on_compile_thread;

namespace {

std::string failure_of(const std::function<void()>& work) {
  try {
    on_compile_thread(work);
  } catch (const kiln::sdk::Failure& failure) {
    CHECK(failure.code() == KILN_CODE_INTERNAL);
    return failure.what();
  }
  return "";
}

bool still_compiles() {
  int result = 0;
  on_compile_thread([&] {
    const auto code = compile_adder("add", 3);
    result = reinterpret_cast<int (*)(int)>(code->address("add"))(4);
  });
  return result == 7;
}

std::size_t stack_bytes() {
  pthread_attr_t attributes;
  std::size_t bytes = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstacksize(&attributes, &bytes);
  pthread_attr_destroy(&attributes);
  return bytes;
}

}  // namespace

TEST_CASE("compile thread: a fatal error of LLVM is a failure, again and again") {
  for (int i = 0; i < 3; ++i) {
    const std::string text = failure_of([] { compile_lacking(); });
    INFO(text);
    CHECK(text.find("compiling kernels: LLVM: Cannot select: intrinsic %llvm.x86.sha1msg1") == 0);
    CHECK(still_compiles());
  }
}

TEST_CASE("compile thread: errors that LLVM reports to its context are failures") {
  const std::string text = failure_of([] { compile_without_registers(); });
  INFO(text);
  CHECK(text.find("compiling kernels: ") == 0);
  CHECK(text.find("SSE") != std::string::npos);
  CHECK(still_compiles());
}

TEST_CASE("compile thread: fatal errors of several threads at once", "[concurrency]") {
  std::atomic<int> failed{0}, compiled{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 3; ++i) {
        if (t % 2 == 0) {
          compiled += still_compiles();
          continue;
        }
        try {
          on_compile_thread([] { compile_lacking(); });
        } catch (const kiln::sdk::Failure&) {
          ++failed;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failed == 12);
  CHECK(compiled == 12);
}

TEST_CASE("compile thread: its exceptions reach the waiting thread") {
  CHECK_THROWS_AS(on_compile_thread([] { throw std::bad_alloc(); }), std::bad_alloc);
  CHECK_THROWS_AS(on_compile_thread([] { throw std::out_of_range("far"); }), std::out_of_range);
  CHECK_THROWS_AS(on_compile_thread([] { compile_invalid(); }), kiln::sdk::Failure);
}

TEST_CASE("compile thread: it has a stack of its own size and blocks all signals") {
  std::size_t bytes = 0;
  bool all_blocked = false;
  on_compile_thread([&] {
    bytes = stack_bytes();
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    all_blocked = sigismember(&blocked, SIGINT) == 1 && sigismember(&blocked, SIGALRM) == 1;
  });
  CHECK(bytes >= 16u << 20);
  CHECK(all_blocked);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they end the process
TEST_CASE("compile thread: an allocation failure is a failure, and unwinds nothing") {
  const std::new_handler before = std::get_new_handler();
  bool is_unwound = false, other_threw = false;
  struct Guard {
    bool& flag;
    ~Guard() { flag = true; }
  };
  const auto allocate_absurdly = [] { ::operator delete(::operator new(std::size_t{1} << 62)); };
  for (int i = 0; i < 3; ++i) {
    std::uint32_t code = 0;
    try {
      on_compile_thread([&] {
        const Guard guard{is_unwound};
        std::thread([&] {
          try {
            allocate_absurdly();
          } catch (const std::bad_alloc&) {
            other_threw = true;
          }
        }).join();
        allocate_absurdly();
      });
    } catch (const kiln::sdk::Failure& failure) {
      code = failure.code();
    }
    CHECK(code == KILN_CODE_RESOURCE_EXHAUSTED);
    CHECK(other_threw);
    CHECK_FALSE(is_unwound);
    CHECK(still_compiles());
  }
  CHECK(std::get_new_handler() == before);
}
#endif

TEST_CASE("LLVM: set up once, from any thread", "[concurrency]") {
  const kiln::cpu::IsaTarget target = kiln::cpu::target_of(kiln::cpu::native_isa());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([&] { kiln::cpu::set_up_llvm(target); });
  for (std::thread& thread : threads) thread.join();
  CHECK(still_compiles());
}
