// Tests the machine's own NVRTC, where there is one.
#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cuda/api/open_compiler.h"
#include "tests/support/catch.h"
#include "tests/backends/cuda_api/stand_in.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

using namespace cuda_api_test;
using namespace kiln::cuda::api;

namespace {

const char* const kText =
    "extern \"C\" __global__ void add_one(float* x, long long n) {\n"
    "  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n"
    "  if (i < n) x[i] = x[i] * 1.5f + 1.0f;\n"
    "}\n"
    "template <class T> concept Number = requires(T x) { x + x; };\n"
    "float twice(Number auto x) { return x + x; }\n";

/// Null, with a warning that says why, where no NVRTC can be opened.
std::shared_ptr<const Compiler> machines_compiler() {
  Messages messages;
  std::shared_ptr<const Compiler> compiler;
  const Caught caught = failure_of([&] { compiler = open_compiler({}, messages); });
  if (caught.code != KILN_CODE_OK) {
    CHECK(caught.code == KILN_CODE_NOT_FOUND);
    WARN("left out: " << caught.text);
  }
  return compiler;
}

}  // namespace

TEST_CASE("NVRTC compiles kernels to machine code of each architecture") {
  const std::shared_ptr<const Compiler> compiler = machines_compiler();
  if (compiler == nullptr) return;
  int compiled = 0;
  for (const int architecture : {80, 90, 100}) {
    const std::vector<int>& known = compiler->architectures();
    if (std::find(known.begin(), known.end(), architecture) == known.end()) continue;
    const CompiledText result = compiler->compile(kText, architecture, "add_one.cu");
    INFO("sm_" << architecture << "\n" << result.log);
    CHECK(result.cubin.starts_with(ELFMAG));
    CHECK(result.cubin.find("add_one") != std::string::npos);
    CHECK(result.ptx.find(".visible .entry add_one") != std::string::npos);
    CHECK(result.ptx.find("fma") == std::string::npos);
    CHECK(result.ptx.find("mul.rn.ftz.f32") != std::string::npos);
    ++compiled;
  }
  CHECK(compiled >= 1);
}

TEST_CASE("NVRTC's log is in the failure") {
  const std::shared_ptr<const Compiler> compiler = machines_compiler();
  if (compiler == nullptr) return;
  const Caught caught = failure_of([&] {
    compiler->compile("__global__ void k(float* x) { *x = absent; }\n",
                      compiler->architectures().back(), "wrong.cu");
  });
  CHECK(caught.code == KILN_CODE_INTERNAL);
  CHECK(caught.text.find("(6): wrong.cu(1): error: ") != std::string::npos);
  CHECK(caught.details.at("log").find("absent") != std::string::npos);
  CHECK(caught.library == "NVRTC");
  CHECK(caught.native == static_cast<std::int64_t>(NvrtcStatus::Compilation));
}
