// Compiler::compile: creates, compiles and destroys one program of NVRTC.
#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cuda/api/api_failure.h"
#include "backends/cuda/api/open_compiler.h"
#include "backends/cuda/api/reported.h"

#include <locale.h>

#include <algorithm>
#include <array>
#include <mutex>

namespace kiln::cuda::api {
namespace {

/// Of calls of versions that are not concurrent. Trivially destructible, so that threads may
/// compile during static destruction.
constinit std::mutex compile_lock;

/// NVRTC reads numbers by the locale, and versions before 12.6.2 change that of the thread.
class ScopedCLocale {
 public:
  ScopedCLocale() : locale_(::newlocale(LC_ALL_MASK, "C", nullptr)), before_(::uselocale(nullptr)) {
    if (locale_ != nullptr) ::uselocale(locale_);
  }
  ~ScopedCLocale() {
    ::uselocale(before_);
    if (locale_ != nullptr) ::freelocale(locale_);
  }
  ScopedCLocale(const ScopedCLocale&) = delete;
  ScopedCLocale& operator=(const ScopedCLocale&) = delete;

 private:
  locale_t locale_, before_;
};

class ScopedProgram {
 public:
  ScopedProgram(const NvrtcFunctions& functions, const std::string& text, const std::string& name)
      : functions_(functions) {
    const NvrtcStatus status =
        functions.create_program(&program_, text.c_str(), name.c_str(), 0, nullptr, nullptr);
    if (status != NvrtcStatus::Success) throw failure(functions, status, "create " + name);
  }
  ~ScopedProgram() { functions_.destroy_program(&program_); }
  ScopedProgram(const ScopedProgram&) = delete;
  ScopedProgram& operator=(const ScopedProgram&) = delete;

  NvrtcStatus compile(int architecture) const {
    const std::string arch = "-arch=sm_" + std::to_string(architecture);
    // Flushes subnormals to zero and contracts no multiply-add, as kernels do on every backend.
    const std::array<const char*, 5> options{arch.c_str(), "-std=c++20", "-default-device",
                                             "-ftz=true", "-fmad=false"};
    return functions_.compile_program(program_, static_cast<int>(options.size()), options.data());
  }

  /// The machine code, never empty.
  std::string cubin() const {
    return bytes(functions_.get_cubin_size, functions_.get_cubin, "read a cubin of NVRTC",
                 {"NVRTC", "nvrtcGetCUBINSize", "the bytes of a cubin"}, 1);
  }
  std::string ptx() const {
    return text(functions_.get_ptx_size, functions_.get_ptx, "read PTX of NVRTC",
                {"NVRTC", "nvrtcGetPTXSize", "the bytes of PTX"});
  }
  std::string log() const {
    return text(functions_.get_log_size, functions_.get_log, "read the log of NVRTC",
                {"NVRTC", "nvrtcGetProgramLogSize", "the bytes of a log"});
  }

 private:
  using GetSize = NvrtcStatus (*)(NvrtcProgram, std::size_t*);
  using GetBytes = NvrtcStatus (*)(NvrtcProgram, char*);

  std::string bytes(GetSize get_size, GetBytes get_bytes, const char* action,
                    const ReportedNumber& number, std::int64_t min) const {
    constexpr std::int64_t kMaxBytes = std::int64_t{1} << 30;
    std::size_t size = 0;
    check(get_size(program_, &size), action);
    std::string result(checked_number(size, number, min, kMaxBytes), '\0');
    if (size != 0) check(get_bytes(program_, result.data()), action);
    return result;
  }

  /// As bytes(), without the terminating zero that NVRTC's sizes include.
  std::string text(GetSize get_size, GetBytes get_bytes, const char* action,
                   const ReportedNumber& number) const {
    std::string result = bytes(get_size, get_bytes, action, number, 0);
    while (!result.empty() && result.back() == '\0') result.pop_back();
    return result;
  }

  void check(NvrtcStatus status, const char* action) const {
    if (status != NvrtcStatus::Success) throw failure(functions_, status, action);
  }

  const NvrtcFunctions& functions_;
  NvrtcProgram program_ = nullptr;
};

/// The first line of the log that reports an error.
std::string first_error(const std::string& log) {
  for (std::size_t begin = 0; begin < log.size();) {
    const std::size_t end = std::min(log.find('\n', begin), log.size());
    const std::string line = log.substr(begin, end - begin);
    if (line.find("error") != line.npos) return ": " + line;
    begin = end + 1;
  }
  return "";
}

std::vector<int> read_architectures(const NvrtcFunctions& functions) {
  int count = 0;
  NvrtcStatus status = functions.get_supported_arch_count(&count);
  std::vector<int> architectures;
  if (status == NvrtcStatus::Success) {
    checked_number(count, {"NVRTC", "nvrtcGetNumSupportedArchs", "the number of architectures"}, 1,
                   4096);
    architectures.resize(static_cast<std::size_t>(count));
    status = functions.get_supported_archs(architectures.data());
  }
  if (status != NvrtcStatus::Success) {
    throw failure(functions, status, "read the architectures of NVRTC");
  }
  for (const int one : architectures) {
    checked_number(one, {"NVRTC", "nvrtcGetSupportedArchs", "an architecture"}, 1, 9999);
  }
  std::sort(architectures.begin(), architectures.end());
  return architectures;
}

}  // namespace

Compiler::Compiler(const NvrtcFunctions& functions, std::string path,
                   std::vector<std::string> configured_folders)
    : functions_(functions),
      path_(std::move(path)),
      configured_folders_(std::move(configured_folders)) {
  const NvrtcStatus status = functions.version(&major_, &minor_);
  if (status != NvrtcStatus::Success) throw failure(functions, status, "read NVRTC's version");
  architectures_ = read_architectures(functions);
}

std::string Compiler::version_text() const {
  return std::to_string(major_) + "." + std::to_string(minor_);
}

CompiledText Compiler::compile(const std::string& text, int architecture,
                               const std::string& name) const {
  const std::string target = "sm_" + std::to_string(architecture);
  const auto& supported = architectures_;
  if (!std::binary_search(supported.begin(), supported.end(), architecture)) {
    throw sdk::Failure(KILN_CODE_UNIMPLEMENTED,
                       "NVRTC " + version_text() + " cannot compile for " + target);
  }
  std::unique_lock lock(compile_lock, std::defer_lock);
  if (!is_concurrent()) lock.lock();
  const ScopedCLocale locale;
  const ScopedProgram program(functions_, text, name);
  const NvrtcStatus status = program.compile(architecture);
  CompiledText result;
  result.log = program.log();
  if (status != NvrtcStatus::Success) {
    const std::string action = "compile " + name + " by NVRTC " + version_text() + " for " + target;
    const sdk::Failure error = failure(functions_, status, action);
    throw sdk::Failure(error.code(), error.what() + first_error(result.log))
        .native(error.native_library, error.native_code)
        .detail("log", result.log);
  }
  result.cubin = program.cubin();
  result.ptx = program.ptx();
  return result;
}

}  // namespace kiln::cuda::api
