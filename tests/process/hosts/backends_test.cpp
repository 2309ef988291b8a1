// Tests several backends in one process on the same variables: values move between backends, and
// threads on different backends never see a partial update of each other.
#include "tests/support/catch.h"
#include "tests/backends/cuda/fake_device.h"
#include "tests/process/hosts/sample.h"
#include "test_folders.h"

#include <atomic>
#include <thread>

using namespace kiln;

namespace {

std::vector<std::string> backends() {
  const std::string folder = KILN_BINARY_DIR "/lib/tests/";
  std::vector<std::string> names{"cpu", "reference", folder + "libkiln_kernel_interpreter.so"};
  for (const BackendDescription& one : list_backends()) {
    if (one.name != "cuda") continue;
    cuda_test::fake_device(KILN_BINARY_DIR);
    names.push_back(one.name);
  }
  return names;
}

}  // namespace

TEST_CASE("several backends: a variable moves between them and keeps its value") {
  const Variable w = variable(Array::full({5, 40}, 1), {.name = "w"});
  const Tensor x = placeholder({.shape = {None, 5}, .name = "x"});
  struct Pair {
    Function product, doubled;
  };
  std::vector<Pair> pairs;
  for (const std::string& name : backends()) {
    pairs.push_back({function({x}, {relu(dot(x, w))}, {.backend = name}),
                     function({}, {}, {.updates = {update(w, w * 2.0)}, .backend = name})});
  }
  const Array fed = Array::full({3, 5}, 1);
  float value = 1;
  for (int round = 0; round < 4; ++round) {
    for (const Pair& writer : pairs) {
      writer.doubled();
      value *= 2;
      for (const Pair& reader : pairs) {
        CHECK(reader.product({fed})[0] == Array::full({3, 40}, 5 * static_cast<double>(value)));
      }
      CHECK(get_value(w).as<float>()[199] == value);
    }
    set_value(w, Array::full({5, 40}, 1));
    value = 1;
  }
}

TEST_CASE("several backends: threads on each update one variable", "[concurrency]") {
  const Variable w = variable(Array::zeros({300}), {.name = "w"});
  std::vector<Function> steps;
  for (const std::string& name : backends()) {
    steps.push_back(function({}, {w + 0.0}, {.updates = {update_add(w, 1.0)}, .backend = name}));
  }
  std::atomic<int> torn{0};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 30; ++i) {
        const Array seen = steps[t % steps.size()]()[0];
        for (const float value : seen.as<float>()) torn += value != seen.as<float>()[0];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(torn == 0);
  CHECK(get_value(w) == Array::full({300}, 180));
}

TEST_CASE("several backends: a sample is right on each, alternately and repeatedly") {
  for (int round = 0; round < 2; ++round) {
    for (const std::string& name : backends()) {
      INFO(name);
      CHECK(hosts_test::works_on(name));
    }
  }
}
