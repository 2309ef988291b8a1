// Tests convolutions in loops, graphs, gradients and failing programs, and without the library.
#include "tests/support/catch.h"
#include "tests/support/child.h"
#include "tests/backends/cuda/fake_convolutions.h"
#include "tests/backends/cuda/fresh_backend.h"
#include "tests/backends/cuda_fakes/cudnn/problem.h"
#include "tests/support/error_text.h"
#include "tests/core/ops/evaluate.h"
#include "tests/backends/cuda/library_operands.h"
#include "test_folders.h"

#include <kiln/k.h>

#include <atomic>
#include <thread>

using namespace kiln;
using namespace cuda_test;

namespace {

using cuda_test::convolutions;

/// The number of library calls of one call, whose results must be those of `reference`.
int check_program(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                  const std::vector<Array>& feeds) {
  const Function f = function(inputs, outputs, {.backend = "cuda"});
  const int before = convolutions().convolutions();
  const std::vector<Array> found = f(feeds);
  const int after = convolutions().convolutions();
  const std::vector<Array> wanted = function(inputs, outputs, {.backend = "reference"})(feeds);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    CHECK(test::difference(found[i], wanted[i], 1e-5, 1e-5) == "");
  }
  return after - before;
}

struct Layer {
  explicit Layer(const std::string& backend = "cuda")
      : f(function({x, w}, {y}, {.backend = backend})) {}

  Tensor x = input({2, 6, 6, 4}), w = input({3, 3, 4, 2});
  Tensor y = relu(conv2d(x, w, {.padding = "same"}));  // two steps: a call of one has no graph
  Function f;
  std::vector<Array> feeds{drawn({2, 6, 6, 4}, 1), drawn({3, 3, 4, 2}, 2)};

  Array wanted() const { return function({x, w}, {y}, {.backend = "reference"})(feeds)[0]; }
};

}  // namespace

TEST_CASE("convolution: inside loops, at addresses of any alignment") {
  convolutions();
  // An iteration reads 5 x 3 elements: most of the addresses are no multiples of 16 bytes.
  const Tensor x = input({6, 1, 5, 3}), w = input({3, 3, 3});
  const auto step = [&](const Tensor& state, const Tensor& row) {
    return state + conv1d(row, w, {.padding = "same"});
  };
  const Tensor last = foldl(step, x, {.initializer = zeros({1, 5, 3})});
  const int calls = check_program({x, w}, {last}, {drawn({6, 1, 5, 3}, 1), drawn({3, 3, 3}, 2)});
  CHECK((calls == 6 || calls == 1));  // one call where the loop's inputs become a batch
  const auto recurrent = [&](const Tensor& state, const Tensor& row) {
    return tanh(conv1d(state, w, {.padding = "same"}) + row);
  };
  const Tensor end = foldl(recurrent, x, {.initializer = zeros({1, 5, 3})});
  CHECK(check_program({x, w}, {end}, {drawn({6, 1, 5, 3}, 1), drawn({3, 3, 3}, 2)}) == 6);
}

TEST_CASE("convolution: tensors that are less aligned have an engine of their own") {
  convolutions();
  const Tensor x = input({6, 1, 5, 3}), w = input({3, 3, 3});
  const auto step = [&](const Tensor& state, const Tensor& row) {
    return conv1d(tanh(state) * conv1d(row, w, {.padding = "same"}), w, {.padding = "same"});
  };
  const Tensor end = foldl(step, x, {.initializer = ones({1, 5, 3})});
  const StepFunction states = [&](const Tensor& now, const std::vector<Tensor>& before) {
    const Tensor next = conv1d(tanh(before[0]) + now, w, {.padding = "same"});
    return StepResult{next, {next}};
  };
  const Tensor stacked =
      rnn(states, permute_dimensions(x, {1, 0, 2, 3}), {zeros({1, 5, 3})}).outputs;
  CHECK(check_program({x, w}, {end}, {drawn({6, 1, 5, 3}, 1), drawn({3, 3, 3}, 2)}) >= 6);
  CHECK(check_program({x, w}, {stacked}, {drawn({6, 1, 5, 3}, 1), drawn({3, 3, 3}, 2)}) == 6);
  CHECK(convolutions().engine() == fake_cudnn::kGeneral);
}

TEST_CASE("convolution: gradients are convolutions of the other roles") {
  convolutions();
  const Tensor x = input({2, 6, 6, 3}), w = input({3, 3, 3, 4}), b = input({4});
  const Tensor loss = sum(square(relu(bias_add(conv2d(x, w, {.strides = 2}), b))));
  CHECK(check_program({x, w, b}, gradients(loss, {x, w, b}),
                      {drawn({2, 6, 6, 3}, 1), drawn({3, 3, 3, 4}, 2), drawn({4}, 3)}) == 3);
}

TEST_CASE("convolution: repeated calls replay graphs, workspaces hold nothing that is read") {
  const int workspaces = convolutions().workspaces();
  const Layer layer;
  const Array wanted = layer.wanted();
  const int before = convolutions().convolutions();
  for (int call = 0; call < 5; ++call) {
    CHECK(test::difference(layer.f(layer.feeds)[0], wanted, 1e-5, 1e-6) == "");
  }
  CHECK(convolutions().convolutions() == before + 2);  // the first call, and the capture
  CHECK(convolutions().workspaces() == workspaces + 2);
}

TEST_CASE("convolution: a call that cannot be captured runs step by step") {
  convolutions();
  const Layer layer;
  const Array wanted = layer.wanted();
  layer.f(layer.feeds);
  REQUIRE(convolutions().fail("cudnnBackendExecute", 1, 5000) == 1);
  const int before = convolutions().convolutions();
  CHECK(test::difference(layer.f(layer.feeds)[0], wanted, 1e-5, 1e-6) == "");
  convolutions().reset();
  CHECK(convolutions().convolutions() == before + 2);
}

TEST_CASE("convolution: prepared ones are shared, and go with the functions that use them") {
  convolutions();
  Layer().f(Layer().feeds);  // opens the library
  const std::size_t before = convolutions().objects();
  {
    const Layer one, two;
    one.f(one.feeds);
    const std::size_t with_one = convolutions().objects();
    CHECK(with_one == before + 18);  // of two plans
    two.f(two.feeds);
    CHECK(convolutions().objects() == with_one);
  }
  CHECK(convolutions().objects() == before);
}

TEST_CASE("convolution: threads share a handle", "[concurrency]") {
  convolutions();
  const Layer layer;
  const Array wanted = layer.wanted();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&] {
      for (int call = 0; call < 20; ++call) {
        wrong += test::difference(layer.f(layer.feeds)[0], wanted, 1e-5, 1e-6).empty() ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("convolution: any failing function of the library is an error, and the next call works") {
  convolutions();
  Layer().f(Layer().feeds);  // opens the library
  const std::size_t before = convolutions().objects();
  int failed = 0;
  for (const char* function :
       {"cudnnBackendCreateDescriptor", "cudnnBackendSetAttribute", "cudnnBackendFinalize",
        "cudnnBackendGetAttribute", "cudnnSetStream", "cudnnBackendExecute"}) {
    const int counted = convolutions().calls(function);
    Layer().f(Layer().feeds);
    const int calls = convolutions().calls(function) - counted;
    REQUIRE(calls > 0);
    for (int nth = 1; nth <= calls; ++nth) {
      const Layer layer;
      REQUIRE(convolutions().fail(function, nth, 4003) == 1);
      const std::string text = testing::error_of<Error>([&] { layer.f(layer.feeds); });
      convolutions().reset();
      INFO(function << " " << nth << " of " << calls << ": " << text);
      CHECK(text.find("CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED (4003): as the test") !=
            text.npos);
      CHECK(text.find(" convolution") != text.npos);
      CHECK(test::difference(layer.f(layer.feeds)[0], layer.wanted(), 1e-5, 1e-6) == "");
      ++failed;
    }
  }
  CHECK(failed > 100);
  CHECK(convolutions().objects() == before);
}

TEST_CASE("convolution: a library that cannot use the device is an error, and is tried again") {
  convolutions();
  const FreshBackend backend(KILN_BINARY_DIR);
  constexpr int kEveryCall = 0;
  REQUIRE(convolutions().fail("cudnnCreate", kEveryCall, 1001) == 1);
  const std::string text = testing::error_of<Error>([&] {
    const Layer layer(backend.path());
    layer.f(layer.feeds);
  });
  convolutions().reset();
  INFO(text);
  CHECK(text.find("cannot use cuDNN on device 0") != text.npos);
  const Layer layer(backend.path());
  CHECK(test::difference(layer.f(layer.feeds)[0], layer.wanted(), 1e-5, 1e-6) == "");
}

TEST_CASE("convolution: without the library kernels compute, and the claims say why") {
  const testing::Scratch scratch;
  const std::string folder = fake_cuda::library_folder(KILN_BINARY_DIR);
  const std::string fakes = std::string(KILN_BINARY_DIR) + "/lib/cuda_fakes/";
  std::filesystem::create_symlink(folder + "/libnvrtc.so.12", scratch.path("libnvrtc.so.12"));
  // Libraries that are too old, so that the search does not reach those of the machine.
  std::filesystem::create_symlink(fakes + "cublaslt_11.so", scratch.path("libcublasLt.so.12"));
  std::filesystem::copy_file(fakes + "cudnn_8.so", scratch.path("libcudnn.so.9"));
  for (const char* part :
       {"graph", "ops", "cnn", "heuristic", "engines_precompiled", "engines_runtime_compiled"}) {
    const std::string name = "libcudnn_" + std::string(part) + ".so.9";
    std::filesystem::copy_file(fakes + "cudnn_8.so", scratch.path(name));
  }
  fake_device(KILN_BINARY_DIR);
  CHECK(testing::in_new_process("[.no_cudnn]", "KILN_CUDA_LIBRARIES", scratch.folder().c_str()) ==
        0);
}

TEST_CASE("child: the claims say that cuDNN is too old", "[.no_cudnn]") {
  const testing::Scratch scratch;
  const Layer layer;
  layer.f.dump(scratch.path("f"), Stage::Claims);
  const std::string claims = testing::contents_of(scratch.path("f/50-claims.txt"));
  INFO(claims);
  CHECK(claims.find("convolution: rejected: missing library: cuDNN ") != claims.npos);
  CHECK(claims.find("has version 8.9.7, but Kiln needs major version 9") != claims.npos);
  CHECK(test::difference(layer.f(layer.feeds)[0], layer.wanted(), 1e-5, 1e-6) == "");
}
