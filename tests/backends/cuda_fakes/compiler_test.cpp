// Tests the NVRTC of this folder, opened by the plugin's loader.
#include "backends/abi/kiln_backend_sdk.h"
#include "tests/backends/cuda_fakes/fake_cubin.h"
#include "tests/backends/cuda_fakes/gpu_test.h"
#include "tests/backends/cuda_fakes/kernel_text.h"

using namespace kiln;
using namespace kiln::fake_cuda;

TEST_CASE("fake NVRTC: the loader opens it") {
  Messages messages;
  const auto compiler = open_compiler(compiler_settings(kFolder), messages);
  CHECK(compiler->version_text() == "12.4");
  CHECK(compiler->architectures() == std::vector<int>{80, 90, 100});
}

TEST_CASE("fake NVRTC: kernels become machine code and PTX") {
  const CompiledText compiled = compile(kFolder, {addition()}, 80);
  CHECK(compiled.log.empty());
  CHECK_THAT(compiled.ptx, Catch::Matchers::ContainsSubstring(".visible .entry addition()"));
  const auto cubin = read_cubin(compiled.cubin.data());
  REQUIRE(cubin.has_value());
  CHECK(cubin->architecture == 80);
  CHECK_THAT(cubin->text, Catch::Matchers::ContainsSubstring("void __launch_bounds__"));
}

TEST_CASE("fake NVRTC: errors have a log") {
  Messages messages;
  const auto compiler = open_compiler(compiler_settings(kFolder), messages);
  for (const std::string text : {"#error first", "nothing"}) {
    INFO(text);
    try {
      compiler->compile(text, 90, "kernels.cu");
      FAIL("it was compiled");
    } catch (const sdk::Failure& failure) {
      CHECK(failure.native_code == 6);
      REQUIRE(failure.details.size() == 1);
      CHECK_THAT(failure.details.begin()->second,
                 Catch::Matchers::ContainsSubstring("kernels.cu(1): error: "));
    }
  }
  CHECK_THROWS_AS(compiler->compile("", 75, "kernels.cu"), sdk::Failure);
}

TEST_CASE("fake driver: machine code that it cannot load") {
  const Gpu gpu(kFolder);
  const auto load = [&](const std::string& image) {
    LibraryHandle library = nullptr;
    return gpu->library_load_data(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  };
  CHECK(load(compile(kFolder, {addition()}, 80).cubin) == Status::NoBinaryForGpu);
  std::string image = compile(kFolder, {addition()}, 90).cubin;
  image.back() ^= 1;
  CHECK(load(image) == Status::InvalidImage);
  CHECK(load(std::string(100, 'x')) == Status::InvalidImage);
  CHECK(load(write_cubin(90, "extern \"C\" __global__ void k() {}")) == Status::InvalidImage);
  CHECK(gpu.control.usage().libraries == 0);
}
