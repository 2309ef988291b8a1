// A host that ends in the middle of work, as the first argument says: functions and arrays in
// static objects destroyed after main; calls from exit handlers; exit while threads compute.
#include "tests/process/hosts/programs/program.h"
#include "tests/process/hosts/sample.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

namespace {

/// A matmul that oneDNN computes on any machine: long sums of a transposed operand.
struct Large {
  Large(std::int64_t rows, std::int64_t depth, std::int64_t columns)
      : fed(kiln::Array::full({depth, rows}, 1)), sum(static_cast<float>(depth) / 2) {
    const kiln::Tensor x = kiln::placeholder({.shape = {depth, kiln::None}});
    const kiln::Variable w = kiln::variable(kiln::Array::full({depth, columns}, 0.5));
    f = kiln::function({x}, {kiln::dot(kiln::transpose(x), w)}, {.backend = "cpu"});
  }
  bool right() const {
    const kiln::Array y = f({fed})[0];
    for (const float value : y.as<float>()) {
      if (value != sum) return false;
    }
    return true;
  }
  kiln::Array fed;
  float sum;
  kiln::Function f;
};

/// A convolution and both of its gradients.
struct Images {
  Images() {
    const kiln::Tensor x = kiln::placeholder({.shape = {kiln::None, 12, 12, 16}});
    const kiln::Tensor w = kiln::variable(kiln::Array::full({3, 3, 16, 16}, 0.5));
    const kiln::Tensor y = kiln::conv2d(x, w);
    const std::vector<kiln::Tensor> slopes = kiln::gradients(kiln::sum(y), {x, w});
    f = kiln::function({x}, {y, slopes[0], slopes[1]}, {.backend = "cpu"});
  }
  bool right() const {
    const std::vector<kiln::Array> all = f({kiln::Array::full({8, 12, 12, 16}, 1)});
    for (const float value : all[0].as<float>()) {
      if (value != 72) return false;  // 3 x 3 x 16 halves
    }
    for (const float value : all[2].as<float>()) {
      if (value != 800) return false;  // 8 images of 10 x 10
    }
    return all[1].as<float>()[0] == 8;  // under one element of the window
  }
  kiln::Function f;
};

/// Constructed before Kiln is first used, so destroyed after everything that Kiln registers.
struct Held {
  ~Held() {
    if (!sample) return;
    expect(sample->right(2, 0.0625), "a call from a static destructor");
    expect(large->right(), "a large product in a static destructor");
    expect(images->right(), "a convolution in a static destructor");
    expect(Images().right(), "a new convolution in a static destructor");
    expect(Large(25, 20'000, 77).right(), "a new product in a static destructor");
    expect(hosts_test::works_on("cpu"), "compiling in a static destructor");
  }
  std::unique_ptr<hosts_test::Sample> sample;
  std::unique_ptr<Large> large;
  std::unique_ptr<Images> images;
  std::vector<kiln::Array> arrays;
};
Held held;

std::unique_ptr<hosts_test::Sample> late;

void call_at_exit() {
  expect(late->right(3, 0.125), "a call from an exit handler");
  expect(hosts_test::works_on("cpu"), "compiling in an exit handler");
  late.reset();
}

/// The number of threads that have made all kinds of calls: process_exit of the cpu backend cannot
/// hold oneDNN while it generates code for the first time.
std::atomic<int> ready{0};

void compute_for_ever() {
  const hosts_test::Sample sample("cpu", 0);
  const kiln::Tensor x = kiln::placeholder({.shape = {kiln::None}});
  const kiln::Function f = kiln::function({x}, {kiln::tanh(x) + 1.0}, {.backend = "cpu"});
  const Large large(30, 17'000, 80);
  const kiln::Array many = kiln::Array::full({300'000}, 1);
  const Images images;
  bool first = true;
  while (sample.right(5, 0) && large.right() && images.right()) {
    f({many});
    if (first) ++ready;
    first = false;
  }
  if (first) ++ready;
}

void compile_for_ever() {
  while (hosts_test::works_on("cpu")) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  if (std::strcmp(how, "static") == 0) {
    held.sample = std::make_unique<hosts_test::Sample>("cpu");
    expect(held.sample->right(2, 0.125), "a call from main");
    held.large = std::make_unique<Large>(7, 17'000, 80);
    expect(held.large->right(), "a large product in main");
    held.images = std::make_unique<Images>();
    expect(held.images->right(), "a convolution in main");
    held.arrays = held.sample->f({kiln::Array::full({4, 6, 8}, 1)});
    kiln::set_value(held.sample->w, kiln::Array::full({8, 16}, 0.0625));
    return finished();
  }
  if (std::strcmp(how, "handler") == 0) {
    late = std::make_unique<hosts_test::Sample>("cpu");
    std::atexit(call_at_exit);
    return finished();
  }
  if (std::strcmp(how, "threads") == 0) {
    kiln::set_threads(3);
    for (int i = 0; i < 3; ++i) std::thread(compute_for_ever).detach();
    for (int i = 0; i < 2; ++i) std::thread(compile_for_ever).detach();
    while (ready < 3) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    finished();
    std::exit(0);
  }
  expect(false, "the argument static, handler or threads");
}
