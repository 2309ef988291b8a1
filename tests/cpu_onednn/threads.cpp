// One product run by many threads at once, and what a thread's OpenMP setting may not change.
#include "tests/catch.h"
#include "tests/cpu_onednn/naive.h"

#include <cstdlib>
#include <thread>

using namespace products_test;

extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int count);
}

namespace {

std::vector<ProductShape> forms() {
  std::vector<ProductShape> shapes{dense_shape(30, 65, 70), dense_shape(200, 33, 64),
                                   dense_shape(20, 24, 40, false, true),
                                   dense_shape(16, 32, 900, true), dense_shape(256, 256, 256)};
  shapes.back().bias_per_column = true;
  return shapes;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Every thread runs the product `times` times; true where all results have the wanted bits.
bool all_same(const Product& product, const Operands& in, const std::vector<float>& want,
              int threads, int times) {
  std::vector<char> same(static_cast<std::size_t>(threads), 1);
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (int i = 0; i < times; ++i) {
        if (!same_bits(run(product, in), want)) same[static_cast<std::size_t>(t)] = 0;
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  return std::all_of(same.begin(), same.end(), [](char ok) { return ok; });
}

}  // namespace

TEST_CASE("8 threads run one product at once", "[concurrency]") {
  for (const ProductShape& shape : forms()) {
    INFO(kiln::cpu::to_string(shape));
    const auto product = Product::create(shape);
    const Operands in(shape);
    const std::vector<float> alone = run(*product, in);
    CHECK(worst_error(shape, in, alone) < 1);
    CHECK(all_same(*product, in, alone, 8, 20));
  }
}

TEST_CASE("more threads than sets of buffers", "[concurrency]") {
  const ProductShape shape = dense_shape(9, 16, 16);
  const auto product = Product::create(shape);
  const Operands in(shape);
  CHECK(all_same(*product, in, run(*product, in), 40, 50));
}

TEST_CASE("products of one shape are made and run by threads of their own", "[concurrency]") {
  const ProductShape shape = dense_shape(140, 130, 64);
  const Operands in(shape);
  const std::vector<float> want = run(*Product::create(shape), in);
  std::vector<char> same(8, 0);
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < same.size(); ++t) {
    running.emplace_back([&, t] { same[t] = same_bits(run(*Product::create(shape), in), want); });
  }
  for (std::thread& thread : running) thread.join();
  CHECK(std::count(same.begin(), same.end(), 1) == 8);
}

TEST_CASE("equal bits whatever the caller's OpenMP setting, which stays", "[concurrency]") {
  const int before = omp_get_max_threads();
  for (const ProductShape& shape : forms()) {
    INFO(kiln::cpu::to_string(shape));
    const Operands in(shape);
    omp_set_num_threads(1);
    const std::vector<float> one = run(*Product::create(shape), in);
    for (const int threads : {2, 3}) {
      omp_set_num_threads(threads);
      CHECK(same_bits(run(*Product::create(shape), in), one));
      CHECK(omp_get_max_threads() == threads);
    }
    CHECK(all_same(*Product::create(shape), in, one, 2, 5));
  }
  omp_set_num_threads(before);
}

TEST_CASE("the instruction set of the environment holds") {
  const char* isa = std::getenv("ONEDNN_MAX_CPU_ISA");
  if (!isa || (std::string(isa) != "AVX2" && std::string(isa) != "SSE41")) return;
  for (const ProductShape& shape : forms()) {
    CHECK(Product::create(shape)->implementation().find("avx512") == std::string::npos);
  }
}

TEST_CASE("the library says its version") {
  const std::string version = kiln::cpu::onednn_version();
  INFO(version);
  CHECK((version.rfind("2.", 0) == 0 || version.rfind("3.", 0) == 0));
}
