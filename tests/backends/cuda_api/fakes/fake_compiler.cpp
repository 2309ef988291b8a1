// An NVRTC that compiles any text to "cubin of " and its options. A text that begins with "#error"
// fails. Each compilation changes the thread's locale, and before version 12.3 fails when another
// one is running.
#include "backends/cuda/api/nvrtc_api.h"

#include <locale.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#ifndef FAKE_MAJOR
#define FAKE_MAJOR 12
#endif
#ifndef FAKE_MINOR
#define FAKE_MINOR 4
#endif

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace kiln::cuda::api;

struct kiln::cuda::api::NvrtcProgramTarget {
  std::string text, name, log, cubin, ptx;
};

namespace {

std::atomic<int> running{0};

NvrtcStatus give_size(const std::string& text, std::size_t* size, std::size_t zeros) {
  *size = text.size() + zeros;
  return NvrtcStatus::Success;
}

NvrtcStatus give(const std::string& text, char* destination, std::size_t zeros) {
  std::memcpy(destination, text.c_str(), text.size() + zeros);
  return NvrtcStatus::Success;
}

}  // namespace

FAKE_EXPORT const char* nvrtcGetErrorString(NvrtcStatus status) {
  return status == NvrtcStatus::Compilation ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR";
}

FAKE_EXPORT NvrtcStatus nvrtcVersion(int* major, int* minor) {
  *major = FAKE_MAJOR;
  *minor = FAKE_MINOR;
  return NvrtcStatus::Success;
}

FAKE_EXPORT NvrtcStatus nvrtcGetNumSupportedArchs(int* count) {
  *count = 2;
  return NvrtcStatus::Success;
}

FAKE_EXPORT NvrtcStatus nvrtcGetSupportedArchs(int* architectures) {
  architectures[0] = 90;
  architectures[1] = 80;
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
  constexpr bool kIsConcurrent = FAKE_MAJOR > 12 || FAKE_MINOR >= 3;
  if (++running != 1 && !kIsConcurrent) return NvrtcStatus::Internal;
  static const locale_t locale = ::newlocale(LC_ALL_MASK, "C", nullptr);
  ::uselocale(locale);
  std::string all;
  for (int i = 0; i < count; ++i) all += std::string(" ") + options[i];
  std::this_thread::yield();
  --running;
  if (program->text.starts_with("#error")) {
    program->log = "a warning\n" + program->name + "(1): error: " + program->text + "\nthe end";
    return NvrtcStatus::Compilation;
  }
  program->cubin = "cubin of" + all;
  program->ptx = "ptx";
  return NvrtcStatus::Success;
}

FAKE_EXPORT NvrtcStatus nvrtcGetProgramLogSize(NvrtcProgram program, std::size_t* size) {
  return give_size(program->log, size, 1);
}
FAKE_EXPORT NvrtcStatus nvrtcGetProgramLog(NvrtcProgram program, char* log) {
  return give(program->log, log, 1);
}
FAKE_EXPORT NvrtcStatus nvrtcGetPTXSize(NvrtcProgram program, std::size_t* size) {
  return give_size(program->ptx, size, 1);
}
FAKE_EXPORT NvrtcStatus nvrtcGetPTX(NvrtcProgram program, char* ptx) {
  return give(program->ptx, ptx, 1);
}
#ifndef FAKE_NO_CUBIN
FAKE_EXPORT NvrtcStatus nvrtcGetCUBINSize(NvrtcProgram program, std::size_t* size) {
  return give_size(program->cubin, size, 0);
}
FAKE_EXPORT NvrtcStatus nvrtcGetCUBIN(NvrtcProgram program, char* cubin) {
  return give(program->cubin, cubin, 0);
}
#endif
