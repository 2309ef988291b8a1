// Tests one matmul on many threads at once, and that no OpenMP setting of a thread changes bits.
#include "tests/support/catch.h"
#include "tests/backends/cpu_onednn/naive.h"

#include <cstdlib>
#include <thread>

using namespace products_test;

extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int count);
}

namespace {

std::vector<OneDnnMatmulShape> forms() {
  std::vector<OneDnnMatmulShape> shapes{dense_shape(30, 65, 70), dense_shape(200, 33, 64),
                                        dense_shape(20, 24, 40, false, true),
                                        dense_shape(16, 32, 900, true), dense_shape(256, 256, 256)};
  shapes.back().bias_per_column = true;
  return shapes;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Every thread runs the matmul `times` times; true where all results have the wanted bits.
bool all_same(const OneDnnMatmul& matmul, const Operands& in, const std::vector<float>& want,
              int threads, int times) {
  std::vector<char> same(static_cast<std::size_t>(threads), 1);
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (int i = 0; i < times; ++i) {
        if (!same_bits(run(matmul, in), want)) same[static_cast<std::size_t>(t)] = 0;
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  return std::all_of(same.begin(), same.end(), [](char ok) { return ok; });
}

}  // namespace

TEST_CASE("matmul: eight threads run one object at once", "[concurrency]") {
  for (const OneDnnMatmulShape& shape : forms()) {
    INFO(kiln::cpu::to_string(shape));
    const auto matmul = OneDnnMatmul::create(shape);
    const Operands in(shape);
    const std::vector<float> alone = run(*matmul, in);
    CHECK(worst_error(shape, in, alone) < 1);
    CHECK(all_same(*matmul, in, alone, 8, 20));
  }
}

TEST_CASE("matmul: more threads than sets of buffers", "[concurrency]") {
  const OneDnnMatmulShape shape = dense_shape(9, 16, 16);
  const auto matmul = OneDnnMatmul::create(shape);
  const Operands in(shape);
  CHECK(all_same(*matmul, in, run(*matmul, in), 40, 50));
}

TEST_CASE("matmul: threads make and run objects of one shape", "[concurrency]") {
  const OneDnnMatmulShape shape = dense_shape(140, 130, 64);
  const Operands in(shape);
  const std::vector<float> want = run(*OneDnnMatmul::create(shape), in);
  std::vector<char> same(8, 0);
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < same.size(); ++t) {
    running.emplace_back(
        [&, t] { same[t] = same_bits(run(*OneDnnMatmul::create(shape), in), want); });
  }
  for (std::thread& thread : running) thread.join();
  CHECK(std::count(same.begin(), same.end(), 1) == 8);
}

TEST_CASE("matmul: bits do not depend on the caller's OpenMP settings", "[concurrency]") {
  const int before = omp_get_max_threads();
  for (const OneDnnMatmulShape& shape : forms()) {
    INFO(kiln::cpu::to_string(shape));
    const Operands in(shape);
    omp_set_num_threads(1);
    const std::vector<float> one = run(*OneDnnMatmul::create(shape), in);
    for (const int threads : {2, 3}) {
      omp_set_num_threads(threads);
      CHECK(same_bits(run(*OneDnnMatmul::create(shape), in), one));
      CHECK(omp_get_max_threads() == threads);
    }
    CHECK(all_same(*OneDnnMatmul::create(shape), in, one, 2, 5));
  }
  omp_set_num_threads(before);
}

TEST_CASE("oneDNN: ONEDNN_MAX_CPU_ISA is obeyed") {
  const char* isa = std::getenv("ONEDNN_MAX_CPU_ISA");
  if (!isa || (std::string(isa) != "AVX2" && std::string(isa) != "SSE41")) return;
  for (const OneDnnMatmulShape& shape : forms()) {
    CHECK(OneDnnMatmul::create(shape)->implementation().find("avx512") == std::string::npos);
  }
}

TEST_CASE("oneDNN: the version is reported") {
  const std::string version = kiln::cpu::onednn_version();
  INFO(version);
  CHECK((version.rfind("2.", 0) == 0 || version.rfind("3.", 0) == 0));
}
