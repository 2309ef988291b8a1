// A host with a limit on its memory: a call that needs more is an error that names large tensors,
// variables stay, smaller calls and compiling work under the limit, and everything without it.
#include "tests/support/error_text.h"
#include "tests/process/hosts/programs/program.h"
#include "tests/process/hosts/sample.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <new>
#include <string>

namespace {

/// The address space in use, in bytes.
rlim_t in_use() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

/// Limits the address space to that much more than now, for a scope.
class Limit {
 public:
  explicit Limit(rlim_t more) {
    expect(::getrlimit(RLIMIT_AS, &before_) == 0, "reading the limit");
    const rlimit limit{in_use() + more, before_.rlim_max};
    expect(::setrlimit(RLIMIT_AS, &limit) == 0, "setting the limit");
  }
  ~Limit() { ::setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_;
};

/// Compiles; returns whether that worked or threw.
bool fails_well_or_works() {
  try {
    return hosts_test::works_on("cpu");
  } catch (const kiln::Error&) {
    return true;
  } catch (const std::bad_alloc&) {
    return true;
  }
}

/// Calls that the cpu backend's library computes, with code made in the first call of each size: a
/// long sum of a transposed operand, and a convolution.
class LibraryCalls {
 public:
  LibraryCalls() {
    const kiln::Tensor x = kiln::placeholder({.shape = {kiln::None, 16}, .name = "x"});
    product_ = kiln::function({x}, {kiln::dot(kiln::transpose(x), x)}, {.backend = "cpu"});
    const kiln::Tensor image =
        kiln::placeholder({.shape = {1, kiln::None, 9, 16}, .name = "image"});
    const kiln::Tensor filter = kiln::constant(kiln::Array::full({3, 3, 16, 32}, 1));
    convolution_ = kiln::function({image}, {kiln::conv2d(image, filter)}, {.backend = "cpu"});
  }

  /// Whether each call with that size is right or throws.
  bool fail_well_or_work(std::int64_t size) const {
    const kiln::Array rows = kiln::Array::full({20'000 + size, 16}, 1);
    const kiln::Array image = kiln::Array::full({1, 9 + size, 9, 16}, 1);
    const bool product = call(product_, rows, static_cast<float>(20'000 + size));
    const bool convolution = call(convolution_, image, 9 * 16);
    return product && convolution;
  }

 private:
  static bool call(const kiln::Function& f, const kiln::Array& fed, float wanted) {
    try {
      const kiln::Array result = f({fed})[0];
      return result.as<float>().back() == wanted;
    } catch (const kiln::OutOfMemory&) {
      return true;
    } catch (const std::bad_alloc&) {
      return true;
    }
  }

  kiln::Function product_, convolution_;
};

std::string text_of_call(const kiln::Function& f, std::int64_t rows) {
  const std::vector<float> one(4, 1);
  const kiln::Array fed(one, {1, 4});
  const std::vector<std::int32_t> indices(static_cast<std::size_t>(rows), 0);
  return kiln::testing::error_of<kiln::OutOfMemory>([&] { f({fed, kiln::Array(indices)}); });
}

}  // namespace

int main() {
  const kiln::Tensor x = kiln::placeholder({.shape = {1, 4}, .name = "x"});
  const kiln::Tensor i =
      kiln::placeholder({.shape = {kiln::None}, .dtype = kiln::DType::Int32, .name = "i"});
  const kiln::Variable total = kiln::variable(kiln::Array(0.0f), {.name = "total"});
  // Every row of `wide` is used twice, so that it has to be stored: 4 KiB per index.
  const kiln::Tensor wide = kiln::repeat_elements(kiln::gather(x, i), 256, 1);
  const kiln::Tensor sums = kiln::cumsum(wide, {.axis = 0});
  const kiln::Tensor result = kiln::sum(sums - kiln::mean(sums, {.axis = {0}, .keepdims = true}));
  const kiln::Function f =
      kiln::function({x, i}, {result},
                     {.updates = {kiln::update_add(total, 1.0)}, .name = "wide", .backend = "cpu"});
  const hosts_test::Sample sample("cpu");
  expect(text_of_call(f, 100).empty(), "a small call");
  expect(sample.right(3, 0.125), "the sample");
  {
    const Limit limit(200u << 20);
    const std::string text = text_of_call(f, 200'000);
    expect(text.find("wide: no memory for ") == 0, "an error with the bytes");
    expect(text.find("little_memory.cpp:") != std::string::npos, "the line of the largest tensor");
    expect(kiln::get_value(total).item<float>() == 1, "the variable as before");
    expect(text_of_call(f, 100).empty(), "a small call under the limit");
    expect(sample.right(3, 0.0625), "the sample under the limit");
    expect(hosts_test::works_on("cpu"), "compiling under the limit");
  }
  for (rlim_t kibibytes = 0; kibibytes < (24u << 10); kibibytes += 512) {
    const Limit limit(kibibytes << 10);
    expect(fails_well_or_works(), "compiling without memory");
  }
  const LibraryCalls library;
  for (std::int64_t i = 0; i < 60; ++i) {
    const Limit limit(static_cast<rlim_t>(i * i) << 15);  // up to 113 MiB
    expect(library.fail_well_or_work(i), "calling a library without memory");
  }
  expect(library.fail_well_or_work(60), "calling a library without the limit");
  expect(hosts_test::works_on("cpu"), "compiling without the limit");
  expect(text_of_call(f, 60'000).empty(), "a large call without the limit");
  expect(kiln::get_value(total).item<float>() == 3, "the variable after three calls");
  return finished();
}
