// Entry of the plugin `cpu`: LLVM compiles kernels, CpuLibrary computes matmuls and convolutions;
// here are the options of an instance and the floating-point mode of its threads.
#include "backends/codegen/compile.h"
#include "backends/codegen/host/host_target.h"
#include "backends/cpu/cpu_library.h"
#include "backends/cpu/gemm/amx.h"
#include "backends/cpu/llvm/code/kernel_compiler.h"
#include "backends/cpu/onednn/status.h"
#include "backends/cpu/perf_map.h"
#include "backends/cpu/schedule/cpu_schedule.h"
#include "core/types/text.h"

#include <xmmintrin.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace kiln::cpu {
namespace {

/// MXCSR of threads that run kernels and library calls: round to nearest, all exceptions masked, no
/// flags, subnormal results and operands are zero.
constexpr unsigned kControl = 0x1f80 | 0x8040;

std::uint64_t enter_thread() {
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(kControl);
  return saved;
}
void leave_thread(std::uint64_t saved) { _mm_setcsr(static_cast<unsigned>(saved)); }

/// An ISA by its name in the option "isa": that of generated kernels and that of matmuls.
struct NamedIsa {
  std::string_view name;
  Isa kernels;
  GemmIsa matmuls;
};

/// In ascending order: each includes those before it.
constexpr NamedIsa kIsas[] = {{"baseline", Isa::Baseline, GemmIsa::Baseline},
                              {"avx2", Isa::Avx2, GemmIsa::Avx2},
                              {"avx512", Isa::Avx512, GemmIsa::Avx512},
                              {"amx", Isa::Avx512, GemmIsa::Amx}};

/// Whether the processor has the ISA; Linux may still deny AMX.
bool is_supported(const NamedIsa& isa) {
  return isa.kernels <= native_isa() && (isa.matmuls != GemmIsa::Amx || processor_has_amx());
}

/// Whether Linux permits what a supported ISA needs. Asks for AMX.
bool is_permitted(const NamedIsa& isa) { return isa.matmuls != GemmIsa::Amx || request_amx(); }

/// The highest ISA that is accepted. REQUIRES: baseline is.
template <class Accepts>
const NamedIsa& highest_isa(const Accepts& accepts) {
  return *std::find_if(std::rbegin(kIsas), std::rend(kIsas), accepts);
}

class CpuTarget final : public codegen::HostTarget {
 public:
  CpuTarget(const NamedIsa& isa, bool writes_perf_map, const sdk::Host& host)
      : host_(host),
        isa_(isa.name),
        target_(target_of(isa.kernels)),
        library_(isa.matmuls),
        writes_perf_map_(writes_perf_map) {}

  std::string machine() const override { return std::string(isa_) + " and " + onednn_machine(); }
  codegen::KernelFunctions compile(const codegen::BuiltKernels& kernels,
                                   std::shared_ptr<const void>& keep_alive,
                                   const codegen::Dumps& dumps,
                                   codegen::CompileTimes& times) override {
    CompileTexts texts;
    texts.times = &times;
    texts.wanted = wants_code_dumped(dumps);
    texts.lists_functions = writes_perf_map_;
    codegen::KernelFunctions functions =
        compile_kernels(kernels, {target_, host_.thread_count()}, keep_alive, texts);
    if (!texts.perf_map.empty()) append_to_perf_map(texts.perf_map, host_);
    dumps.hand_over("llvm-ir", "", [&] { return texts.ir; });
    dumps.hand_over("llvm-ir-optimized", "", [&] { return texts.optimized_ir; });
    dumps.hand_over("assembly", "", [&] { return texts.assembly; });
    return functions;
  }
  bool wants_code_dumped(const codegen::Dumps& dumps) const override {
    return dumps.wanted("llvm-ir") || dumps.wanted("llvm-ir-optimized") || dumps.wanted("assembly");
  }

  void dump_schedules(const codegen::BuiltKernels& kernels,
                      const codegen::Dumps& dumps) const override {
    dumps.hand_over("schedule", "", [&] {
      const CpuDescription cpu = description_of(target_);
      std::string out;
      for (const codegen::BuiltKernel& built : kernels) {
        const CpuSchedule schedule = schedule_cpu(built.kernel, cpu);
        out += text(built.kernel.name, ": ", print(built.kernel, schedule), "\n");
      }
      return out;
    });
  }

  codegen::HostLibrary* library() override { return &library_; }
  codegen::ThreadMode thread_mode() const override { return {enter_thread, leave_thread}; }

 private:
  const sdk::Host host_;
  std::string_view isa_;
  IsaTarget target_;
  CpuLibrary library_;
  const bool writes_perf_map_;
};

/// An option's text, empty if it is not set, and the name under which the user gave it.
struct Setting {
  std::string name, value;
};

constexpr std::string_view kIsaOption = "isa", kPerfMapOption = "perf_map";

/// Returns the option, else the environment variable. Empty values count as not set.
Setting setting_of(const sdk::Options& options, std::string_view option, const char* variable) {
  const char* const environment = ::secure_getenv(variable);
  Setting setting{variable, environment == nullptr ? "" : environment};
  for (const auto& [key, value] : options) {
    if (key == option && !value.empty()) setting = {key, value};
  }
  return setting;
}

void check_options(const sdk::Options& options) {
  for (const auto& [key, value] : options) {
    if (key == kIsaOption || key == kPerfMapOption) continue;
    throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT, "the cpu backend has no option " + key);
  }
}

/// The value of the option "perf_map", else of KILN_CPU_PERF_MAP; false by default.
bool writes_perf_map(const sdk::Options& options) {
  const Setting setting = setting_of(options, kPerfMapOption, "KILN_CPU_PERF_MAP");
  const std::string& value = setting.value;
  if (value.empty() || value == "false" || value == "0") return false;
  if (value == "true" || value == "1") return true;
  throw sdk::Failure(KILN_CODE_FAILED_PRECONDITION,
                     setting.name + " is '" + value + "' but must be true or false");
}

/// Returns the ISA of the option "isa", else of KILN_CPU_ISA, else the highest one that the
/// processor has and Linux permits. Asks for the permission to use AMX.
const NamedIsa& isa_from(const sdk::Options& options) {
  const Setting setting = setting_of(options, kIsaOption, "KILN_CPU_ISA");
  const std::string &name = setting.name, &wanted = setting.value;
  if (wanted.empty()) {
    return highest_isa(
        [](const NamedIsa& each) { return is_supported(each) && is_permitted(each); });
  }
  const auto* isa = std::find_if(std::begin(kIsas), std::end(kIsas),
                                 [&](const NamedIsa& each) { return each.name == wanted; });
  if (isa == std::end(kIsas)) {
    throw sdk::Failure(KILN_CODE_FAILED_PRECONDITION,
                       name + " is '" + wanted + "' but must be baseline, avx2, avx512 or amx");
  }
  const auto reject = [&](const std::string& reason) {
    throw sdk::Failure(KILN_CODE_FAILED_PRECONDITION, name + " is " + wanted + " but " + reason);
  };
  if (!is_supported(*isa)) {
    reject("this processor has at most " + std::string(highest_isa(is_supported).name));
  }
  if (!is_permitted(*isa)) reject("Linux does not permit this process to use AMX");
  return *isa;
}

std::unique_ptr<sdk::Instance> create(const sdk::Options& options, const sdk::Host& host) {
  check_options(options);
  return std::make_unique<codegen::CompiledInstance>(
      std::make_unique<CpuTarget>(isa_from(options), writes_perf_map(options), host), host);
}

sdk::ProbeReport probe(const sdk::Options& options) {
  sdk::ProbeReport report;
  report.score = 10;
  check_options(options);
  const NamedIsa& isa = isa_from(options);
  report.details.push_back("kernels for " + std::string(name_of(isa.kernels)));
  if (isa.matmuls == GemmIsa::Amx) report.details.push_back("bfloat16 matmuls by AMX");
  report.details.push_back("oneDNN " + onednn_version());
  if (writes_perf_map(options)) report.details.push_back("names kernels in /tmp/perf-PID.map");
  return report;
}

}  // namespace

extern constexpr sdk::Plugin kPlugin{
    .name = "cpu",
    .version = KILN_VERSION,
    .build_id = "llvm",
    .features = KILN_FEATURE_CONCURRENT_COMPILE,
    .create = create,
    .probe = probe,
    .option_names = [] { return std::vector<std::string_view>{kIsaOption, kPerfMapOption}; },
};

}  // namespace kiln::cpu

KILN_BACKEND_ENTRY(kiln::cpu::kPlugin)
