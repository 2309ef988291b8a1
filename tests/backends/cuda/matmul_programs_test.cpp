// Tests matmuls in loops, gradients and failing programs, and without the library.
#include "tests/support/catch.h"
#include "tests/support/child.h"
#include "tests/backends/cuda/fake_matmuls.h"
#include "tests/support/error_text.h"
#include "tests/core/ops/evaluate.h"
#include "tests/support/scratch.h"
#include "tests/backends/cuda/library_operands.h"
#include "test_folders.h"

#include <kiln/k.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <thread>

using namespace kiln;
using namespace cuda_test;

namespace {

using cuda_test::matmuls;

/// The number of library calls of one call, whose results must be those of `reference`.
int check_program(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                  const std::vector<Array>& feeds) {
  const Function f = function(inputs, outputs, {.backend = "cuda"});
  const int before = matmuls().calls("cublasLtMatmul");
  const std::vector<Array> found = f(feeds);
  const int after = matmuls().calls("cublasLtMatmul");
  const std::vector<Array> wanted = function(inputs, outputs, {.backend = "reference"})(feeds);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    CHECK(test::difference(found[i], wanted[i], 1e-5, 1e-6) == "");
  }
  return after - before;
}

/// A layer over the last state at each step. The rows of a step have 3 elements: the addresses of
/// most steps are no multiples of 16 bytes.
Tensor recurrent(const Tensor& x, const Tensor& u) {
  const StepFunction step = [&](const Tensor& now, const std::vector<Tensor>& states) {
    const Tensor next = tanh(now + dot(states[0], u));
    return StepResult{next, {next}};
  };
  return rnn(step, x, {zeros({2, 3})}).last_output;
}

struct DenseLayer {
  Tensor x = input({4, 7}), w = input({7, 5}), b = input({5});
  Function f = function({x, w, b}, {bias_add(dot(x, w), b)}, {.backend = "cuda"});
  std::vector<Array> feeds{drawn({4, 7}, 1), drawn({7, 5}, 2), drawn({5}, 3)};
};

}  // namespace

TEST_CASE("matmul: inside loops, at addresses of any alignment") {
  matmuls();
  const Tensor x = input({2, 6, 3}), u = input({3, 3});
  const std::vector<Array> feeds{drawn({2, 6, 3}, 1), drawn({3, 3}, 2)};
  CHECK(check_program({x, u}, {recurrent(x, u)}, feeds) == 6);
}

TEST_CASE("matmul: a bias at addresses of any alignment") {
  matmuls();
  const Tensor x = input({6, 3}), u = input({3, 3});
  const auto step = [&](const Tensor& state, const Tensor& row) {
    return bias_add(dot(state, u), row);
  };
  const Tensor last = foldl(step, x, {.initializer = zeros({2, 3})});
  CHECK(check_program({x, u}, {last}, {drawn({6, 3}, 1), drawn({3, 3}, 2)}) == 6);
}

TEST_CASE("matmul: gradients of a layer and of a loop") {
  matmuls();
  const Tensor x = input({4, 7}), w = input({7, 5}), b = input({5});
  const Tensor loss = sum(square(tanh(bias_add(dot(x, w), b))));
  CHECK(check_program({x, w, b}, gradients(loss, {x, w, b}),
                      {drawn({4, 7}, 1), drawn({7, 5}, 2), drawn({5}, 3)}) == 3);
  const Tensor s = input({2, 6, 3}), u = input({3, 3});
  CHECK(check_program({s, u}, gradients(sum(square(recurrent(s, u))), {s, u}),
                      {drawn({2, 6, 3}, 1), drawn({3, 3}, 2)}) > 6);
}

TEST_CASE("matmul: workspaces hold nothing that is read") {
  matmuls();
  const Tensor x = input({4, 7}), w = input({7, 4}), v = input({4, 4});
  const int before = matmuls().workspaces();
  const Tensor first = dot(x, w), second = dot(dot(first, v), first);
  check_program({x, w, v}, {first, second + first},
                {drawn({4, 7}, 1), drawn({7, 4}, 2), drawn({4, 4}, 3)});
  CHECK(matmuls().workspaces() > before);
}

TEST_CASE("matmul: prepared ones are shared, and go with the functions that use them") {
  matmuls();
  DenseLayer();  // opens the library
  const std::size_t before = matmuls().objects();
  {
    const DenseLayer one, two;
    one.f(one.feeds);
    const std::size_t with_one = matmuls().objects();
    CHECK(with_one == before + 4);
    two.f(two.feeds);
    CHECK(matmuls().objects() == with_one);
  }
  CHECK(matmuls().objects() == before);
}

TEST_CASE("matmul: threads share a prepared one, each with a bias of its own", "[concurrency]") {
  matmuls();
  const DenseLayer layer;
  const Array sums = function({layer.x, layer.w}, {dot(layer.x, layer.w)},
                              {.backend = "cuda"})({layer.feeds[0], layer.feeds[1]})[0];
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      const auto bias = static_cast<float>(1000 * number);
      for (int call = 0; call < 50; ++call) {
        const Array y = layer.f({layer.feeds[0], layer.feeds[1], Array::full({5}, bias)})[0];
        for (std::size_t i = 0; i < 20; ++i) {
          const float sum = sums.as<float>()[i] + bias;
          wrong += std::abs(y.as<float>()[i] - sum) > 1e-3f ? 1 : 0;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("matmul: any failing function of the library is an error, and the next call works") {
  matmuls();
  const struct {
    const char* function;
    const char* text;
  } rows[] = {
      {"cublasLtMatmulDescCreate", "cannot describe a matmul: CUBLAS_STATUS_ALLOC_FAILED (3)"},
      {"cublasLtMatmulDescSetAttribute", "cannot describe a matmul: "},
      {"cublasLtMatrixLayoutCreate", "cannot describe a matrix: "},
      {"cublasLtMatmulPreferenceCreate", "cannot search an algorithm: "},
      {"cublasLtMatmulPreferenceSetAttribute", "cannot search an algorithm: "},
      {"cublasLtMatmulAlgoGetHeuristic",
       "cannot choose an algorithm for the matmul float32 M=4 N=5 K=7: "},
      {"cublasLtMatmul", "cannot queue the matmul float32 M=4 N=5 K=7: "},
  };
  DenseLayer();  // opens the library
  const std::size_t before = matmuls().objects();
  for (const auto& row : rows) {
    for (const int nth : {1, 2, 3}) {
      const DenseLayer layer;
      // Matmuls are tried again.
      for (const int call : {nth, nth + 1}) REQUIRE(matmuls().fail(row.function, call, 3) == 1);
      std::string text;
      for (int call = 0; call < 3 && text.empty(); ++call) {
        text = testing::error_of<Error>([&] { layer.f(layer.feeds); });
      }
      INFO(row.function << " " << nth << ": " << text);
      matmuls().reset();
      // A call needs some of them once: a second failure would not be reached.
      CHECK(((nth > 1 && text.empty()) || text.find(row.text) != text.npos));
      CHECK(layer.f(layer.feeds)[0] == function({layer.x, layer.w, layer.b},
                                                {bias_add(dot(layer.x, layer.w), layer.b)},
                                                {.backend = "cuda"})(layer.feeds)[0]);
    }
  }
  CHECK(matmuls().objects() == before);
}

TEST_CASE("matmul: without the library kernels compute, and the claims say why") {
  const testing::Scratch scratch;
  const std::string folder = fake_cuda::library_folder(KILN_BINARY_DIR);
  std::filesystem::create_symlink(folder + "/libnvrtc.so.12", scratch.path("libnvrtc.so.12"));
  // An old library, so that the search does not reach that of the machine.
  std::filesystem::create_symlink(std::string(KILN_BINARY_DIR) + "/lib/cuda_fakes/cublaslt_11.so",
                                  scratch.path("libcublasLt.so.12"));
  fake_device(KILN_BINARY_DIR);
  CHECK(testing::in_new_process("[.no_cublaslt]", "KILN_CUDA_LIBRARIES",
                                scratch.folder().c_str()) == 0);
}

TEST_CASE("child: the claims say that cuBLASLt is too old", "[.no_cublaslt]") {
  const testing::Scratch scratch;
  const DenseLayer layer;
  layer.f.dump(scratch.path("f"), Stage::Claims);
  const std::string claims = testing::contents_of(scratch.path("f/50-claims.txt"));
  INFO(claims);
  CHECK(claims.find("matmul: rejected: missing library: cuBLASLt ") != claims.npos);
  CHECK(claims.find("has version 11.11.3, but Kiln needs major version 12 to 12; a driver") !=
        claims.npos);
  const Array wanted =
      function({layer.x, layer.w, layer.b}, {bias_add(dot(layer.x, layer.w), layer.b)},
               {.backend = "reference"})(layer.feeds)[0];
  CHECK(test::difference(layer.f(layer.feeds)[0], wanted, 1e-5, 1e-6) == "");
}
