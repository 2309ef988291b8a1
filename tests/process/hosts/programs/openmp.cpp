// A host that computes with OpenMP around calls, calls from inside a parallel region, and sets its
// own numbers of threads, which calls must not change.
#include "tests/process/hosts/programs/program.h"
#include "tests/process/hosts/sample.h"

#include <omp.h>

#include <vector>

namespace {

/// The number of threads of a parallel region of the host.
int threads_of_region() {
  int count = 0;
#pragma omp parallel
  {
#pragma omp single
    count = omp_get_num_threads();
  }
  return count;
}

double sum_of_host() {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < 100'000; ++i) sum += i;
  return sum;
}

/// A matmul that is large enough to be divided among threads.
struct Large {
  Large() {
    const kiln::Tensor x = kiln::placeholder({.shape = {kiln::None, 256}, .name = "x"});
    const kiln::Variable w = kiln::variable(kiln::Array::full({256, 256}, 0.5));
    f = kiln::function({x}, {kiln::relu(kiln::dot(x, w))}, {.backend = "cpu"});
  }
  bool right() const {
    const kiln::Array y = f({kiln::Array::full({300, 256}, 1)})[0];
    for (const float value : y.as<float>()) {
      if (value != 128) return false;
    }
    return true;
  }
  kiln::Function f;
};

}  // namespace

int main() {
  omp_set_dynamic(0);
  omp_set_num_threads(3);
  expect(threads_of_region() == 3, "the host's threads before");
  const Large large;
  expect(large.right(), "a large product");
  expect(hosts_test::works_on("cpu"), "a small program");
  expect(omp_get_max_threads() == 3, "the host's setting after calls");
  expect(threads_of_region() == 3, "the host's threads after calls");
  expect(sum_of_host() == 4999950000.0, "the host's sum");

  int wrong = 0;
  std::vector<int> settings(4, 0);
#pragma omp parallel num_threads(4) reduction(+ : wrong)
  {
    const int own = omp_get_thread_num();
    omp_set_num_threads(2 + own);
    for (int i = 0; i < 5; ++i) wrong += !large.right();
    wrong += !hosts_test::works_on("cpu");
    settings[static_cast<std::size_t>(own)] = omp_get_max_threads();
  }
  expect(wrong == 0, "calls from inside a parallel region");
  for (int i = 0; i < 4; ++i) {
    expect(settings[static_cast<std::size_t>(i)] == 2 + i, "a thread's own setting");
  }
  for (int i = 0; i < 50; ++i) {
    expect(sum_of_host() == 4999950000.0, "the host's sum between");
    expect(large.right(), "a large product between");
  }
  return finished();
}
