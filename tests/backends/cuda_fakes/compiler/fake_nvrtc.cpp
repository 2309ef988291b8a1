// An NVRTC whose machine code holds the text of the kernels, for the driver of this folder. Each
// compilation changes the thread's locale, and before version 12.3 fails when another one is
// running.
#include "backends/cuda/api/nvrtc_api.h"
#include "tests/backends/codegen/emulated_functions.h"
#include "tests/backends/codegen/kernel_record.h"
#include "tests/backends/cuda_fakes/fake_cubin.h"
#include "tests/backends/cuda_fakes/lies.h"

#include <locale.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace kiln::cuda::api;
using kiln::fake_cuda::reported;

struct kiln::cuda::api::NvrtcProgramTarget {
  std::string text, name, log, cubin, ptx;
};

namespace {

constexpr int kArchitectures[] = {80, 90, 100};

std::atomic<int> running{0};

class ScopedCompilation {
 public:
  ScopedCompilation() : is_alone_(++running == 1) { std::this_thread::yield(); }
  ~ScopedCompilation() { --running; }
  ScopedCompilation(const ScopedCompilation&) = delete;
  ScopedCompilation& operator=(const ScopedCompilation&) = delete;

  bool is_alone() const { return is_alone_; }

 private:
  bool is_alone_;
};

int minor_version() { return reported("nvrtcVersion", 4); }

/// As versions before 12.6.2 do.
void change_locale() {
  static const locale_t locale = ::newlocale(LC_ALL_MASK, "C", nullptr);
  ::uselocale(locale);
}

/// 90 of "-arch=sm_90" among the options; 0 where there is none that is known.
int architecture_of(int count, const char* const* options) {
  for (int i = 0; i < count; ++i) {
    for (const int one : kArchitectures) {
      if (options[i] == "-arch=sm_" + std::to_string(one)) return one;
    }
  }
  return 0;
}

NvrtcStatus fail(NvrtcProgramTarget& program, NvrtcStatus status, const std::string& reason) {
  program.log = program.name + "(1): error: " + reason + "\n1 error detected";
  return status;
}

std::string ptx_of(const std::vector<std::string>& names, int architecture) {
  std::string ptx = ".version 8.4\n.target sm_" + std::to_string(architecture) + "\n";
  for (const std::string& name : names) ptx += ".visible .entry " + name + "()\n";
  return ptx;
}

/// The functions of the text. Records kernels.
std::vector<std::string> names_of(const std::string& text) {
  std::vector<std::string> names;
  for (const auto& one : kiln::test::parse_functions(text)) names.push_back(one.name);
  if (!names.empty()) return names;
  const auto kernels = kiln::test::parse_grid_text(text);
  const auto loops = kiln::test::parse_row_loops(text);
  kiln::test::record_kernels(kernels, loops);
  for (const auto& one : kernels) names.push_back(one.kernel.name);
  for (const auto& one : loops) names.push_back(one.name);
  return names;
}

NvrtcStatus compile(NvrtcProgramTarget& program, int architecture) try {
  if (program.text.starts_with("#error")) {
    return fail(program, NvrtcStatus::Compilation, program.text);
  }
  const std::vector<std::string> names = names_of(program.text);
  if (names.empty()) return fail(program, NvrtcStatus::Compilation, "there are no kernels");
  program.cubin = kiln::fake_cuda::write_cubin(architecture, program.text);
  program.ptx = ptx_of(names, architecture);
  return NvrtcStatus::Success;
} catch (const std::exception& error) {
  return fail(program, NvrtcStatus::Compilation, error.what());
}

/// `function`: the name of the function that reports the size.
NvrtcStatus give_size(const char* function, const std::string& text, std::size_t* size,
                      std::size_t zeros) {
  *size = reported(function, text.size() + zeros);
  return NvrtcStatus::Success;
}

NvrtcStatus give(const std::string& text, char* destination, std::size_t zeros) {
  std::memcpy(destination, text.c_str(), text.size() + zeros);
  return NvrtcStatus::Success;
}

}  // namespace

FAKE_EXPORT const char* nvrtcGetErrorString(NvrtcStatus status) {
  switch (status) {
#define FAKE_NAME(name, symbol, value) \
  case NvrtcStatus::name: return #symbol;
    KILN_NVRTC_STATUS(FAKE_NAME)
#undef FAKE_NAME
  }
  return "NVRTC_ERROR unknown";
}

FAKE_EXPORT NvrtcStatus nvrtcVersion(int* major, int* minor) {
  *major = 12;
  *minor = minor_version();
  return NvrtcStatus::Success;
}

FAKE_EXPORT NvrtcStatus nvrtcGetNumSupportedArchs(int* count) {
  *count = reported("nvrtcGetNumSupportedArchs", static_cast<int>(std::size(kArchitectures)));
  return NvrtcStatus::Success;
}

FAKE_EXPORT NvrtcStatus nvrtcGetSupportedArchs(int* architectures) {
  std::copy(std::begin(kArchitectures), std::end(kArchitectures), architectures);
  architectures[0] = reported("nvrtcGetSupportedArchs", architectures[0]);
  return NvrtcStatus::Success;
}

FAKE_EXPORT NvrtcStatus nvrtcCreateProgram(NvrtcProgram* program, const char* text,
                                           const char* name, int headers, const char* const*,
                                           const char* const*) {
  if (headers != 0) return NvrtcStatus::InvalidInput;
  *program = new NvrtcProgramTarget{text, name, "", "", ""};
  return NvrtcStatus::Success;
}

FAKE_EXPORT NvrtcStatus nvrtcDestroyProgram(NvrtcProgram* program) {
  delete *program;
  *program = nullptr;
  return NvrtcStatus::Success;
}

FAKE_EXPORT NvrtcStatus nvrtcCompileProgram(NvrtcProgram program, int count,
                                            const char* const* options) {
  const ScopedCompilation compilation;
  if (!compilation.is_alone() && minor_version() < 3) {
    return fail(*program, NvrtcStatus::Internal, "two compilations at a time");
  }
  change_locale();
  const int architecture = architecture_of(count, options);
  if (architecture == 0) {
    return fail(*program, NvrtcStatus::InvalidOption, "no known architecture (-arch)");
  }
  return compile(*program, architecture);
}

FAKE_EXPORT NvrtcStatus nvrtcGetProgramLogSize(NvrtcProgram program, std::size_t* size) {
  return give_size("nvrtcGetProgramLogSize", program->log, size, 1);
}
FAKE_EXPORT NvrtcStatus nvrtcGetProgramLog(NvrtcProgram program, char* log) {
  return give(program->log, log, 1);
}
FAKE_EXPORT NvrtcStatus nvrtcGetPTXSize(NvrtcProgram program, std::size_t* size) {
  return give_size("nvrtcGetPTXSize", program->ptx, size, 1);
}
FAKE_EXPORT NvrtcStatus nvrtcGetPTX(NvrtcProgram program, char* ptx) {
  return give(program->ptx, ptx, 1);
}
FAKE_EXPORT NvrtcStatus nvrtcGetCUBINSize(NvrtcProgram program, std::size_t* size) {
  return give_size("nvrtcGetCUBINSize", program->cubin, size, 0);
}
FAKE_EXPORT NvrtcStatus nvrtcGetCUBIN(NvrtcProgram program, char* cubin) {
  return give(program->cubin, cubin, 0);
}
