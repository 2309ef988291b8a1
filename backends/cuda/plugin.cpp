// The plugin `cuda`: creates instances, and probes without initializing the driver.
#include "backends/cuda/api/api_failure.h"
#include "backends/cuda/cuda_options.h"
#include "backends/cuda/cuda_target.h"
#include "backends/cuda/execute/compile_kernels.h"
#include "backends/cuda/offline_target.h"

namespace kiln::cuda {
namespace {

void set_driver_version(CudaOptions& options, int version) {
  options.compiler.driver_version = version;
  options.cublaslt.driver_version = version;
  options.cudnn.driver_version = version;
}

/// In a group that of the rank on this machine, modulo the devices, so that each rank has one of
/// its own where there are enough.
int default_device(const api::Driver& driver, const sdk::Host& host) {
  std::int64_t local_rank = 0;
  try {
    local_rank = HostGroups(host, nullptr).place(0).local_rank;
  } catch (const sdk::Failure& failure) {
    if (failure.code() != KILN_CODE_UNIMPLEMENTED) throw;  // else a host without groups
  }
  if (local_rank == 0) return 0;
  int count = 0;
  api::check(driver, driver.init(0), "initialize the driver");
  api::check(driver, driver.device_get_count(&count), "count devices");
  return count < 1 ? 0 : static_cast<int>(local_rank % count);
}

std::unique_ptr<sdk::Instance> create(const sdk::Options& given, const sdk::Host& host) {
  CudaOptions options = read_options(given);
  api::Messages messages;
  if (options.architecture != 0) {
    return std::make_unique<OfflineInstance>(open_offline_compiler(options, messages),
                                             options.architecture, host);
  }
  const std::shared_ptr<const api::Driver> driver = api::open_driver(options.driver, messages);
  const int ordinal = options.device ? *options.device : default_device(*driver, host);
  const api::DeviceIdentity identity = api::open_device(*driver, ordinal, options.driver, messages);
  set_driver_version(options, driver->version);
  InstanceLibraries libraries;
  libraries.compiler = api::open_compiler(options.compiler, messages);
  code_architecture(*libraries.compiler, identity.compute_capability);
  DeviceResources resources;
  resources.device = std::make_shared<const Device>(driver, identity);
  const ScopedContext context(*resources.device);
  resources.memory = std::make_shared<MemoryPool>(resources.device, options.memory_limit);
  resources.streams = std::make_shared<StreamPool>(resources.memory);
  resources.uses_graphs = options.uses_graphs;
  libraries.matmuls =
      open_matmuls(options.cublaslt, resources.device, options.tf32, host, messages);
  libraries.cudnn = std::make_shared<const DeviceCudnn>(
      options.cudnn, resources.device, EngineOptions{options.tf32, options.deterministic}, host);
  libraries.attention_kernels =
      std::make_shared<const AttentionKernels>(resources.device, libraries.compiler);
  const KernelCompiler compiler{resources.device, libraries.compiler, host};
  libraries.rank_kernels = std::make_shared<const RankKernels>(compiler);
  if (!options.collectives_through_host) {
    libraries.communicators = std::make_shared<Communicators>(options.nccl, resources.device, host);
  }
  for (const std::string& message : messages) host.log(KILN_LOG_INFO, "cuda", message);
  return std::make_unique<CudaInstance>(resources, std::move(libraries), host);
}

/// Runs one stage. The first failure becomes the report's reason, later ones become details.
template <class Stage>
void run_stage(sdk::ProbeReport& report, const Stage& stage) {
  try {
    stage();
  } catch (const sdk::Failure& failure) {
    if (report.score != 0) {
      report.reason = failure.what();
    } else {
      report.details.emplace_back(failure.what());
    }
    report.score = 0;
  }
}

/// Adds a detail, not a reason: without the library, matmuls are only slower.
void find_matmuls(const api::CublasLtSettings& settings, api::Messages& details) {
  try {
    api::open_cublaslt(settings, details);
  } catch (const sdk::Failure& failure) {
    details.push_back(std::string("matmuls: kernels; ") + failure.what());
  }
}

/// As find_matmuls(). Opens only the main library and its graph part; the first claimed node
/// opens the other parts.
void find_convolutions(const api::CudnnSettings& settings, api::Messages& details) {
  try {
    api::find_cudnn(settings, details);
  } catch (const sdk::Failure& failure) {
    details.push_back(std::string("convolutions, attention of halves: kernels; ") + failure.what());
  }
}

/// A detail, not a reason: only programs with collectives need the library.
void find_collectives(const CudaOptions& options, api::Messages& details) {
  if (options.collectives_through_host) return details.push_back("collectives: by the host");
  try {
    api::open_nccl(options.nccl, details);
  } catch (const sdk::Failure& failure) {
    details.push_back(std::string("collectives: none; ") + failure.what());
  }
}

/// Runs the device's stages only if the process has already initialized the driver, such as for an
/// instance: after cuInit, CUDA does not work in children of a later fork().
void probe_device(const CudaOptions& options, const api::Driver& driver,
                  const api::Compiler* compiler, sdk::ProbeReport& report) {
  if (!api::is_initialized(driver)) return;
  run_stage(report, [&] {
    const api::DeviceIdentity identity =
        api::open_device(driver, options.device.value_or(0), options.driver, report.details);
    if (compiler != nullptr) code_architecture(*compiler, identity.compute_capability);
  });
}

/// Runs the libraries' stages. The stages of NVRTC need no driver.
void probe_libraries(CudaOptions options, sdk::ProbeReport& report) {
  std::shared_ptr<const api::Driver> driver;
  std::shared_ptr<const api::Compiler> compiler;
  run_stage(report, [&] { driver = api::open_driver(options.driver, report.details); });
  if (driver) set_driver_version(options, driver->version);
  run_stage(report, [&] { compiler = api::open_compiler(options.compiler, report.details); });
  if (driver) probe_device(options, *driver, compiler.get(), report);
  find_matmuls(options.cublaslt, report.details);
  find_convolutions(options.cudnn, report.details);
  find_collectives(options, report.details);
}

/// Probes for an instance of the option `arch`, which runs no programs: the score is always 0.
/// Throws sdk::Failure if no such instance can be created.
void probe_offline(const CudaOptions& options, sdk::ProbeReport& report) {
  open_offline_compiler(options, report.details);
  const std::string& source = options.architecture_source;
  report.score = 0;
  report.reason = "compiles for sm_" + std::to_string(options.architecture) + " only (dumps), as " +
                  source + " is set; calls need " + source + " unset";
  try {
    api::open_driver(options.driver, report.details);
  } catch (const sdk::Failure& failure) {
    report.reason += std::string(" and a device: ") + failure.what();
  }
}

sdk::ProbeReport probe(const sdk::Options& given) {
  sdk::ProbeReport report{.score = 100, .reason = {}, .details = {}};
  run_stage(report, [&] {
    const CudaOptions options = read_options(given);
    if (options.architecture != 0) return probe_offline(options, report);
    probe_libraries(options, report);
  });
  return report;
}

}  // namespace

extern constexpr sdk::Plugin kPlugin{
    .name = "cuda",
    .version = KILN_VERSION,
    .build_id = "nvrtc",
    .features = KILN_FEATURE_CONCURRENT_COMPILE,
    .create = create,
    .probe = probe,
    .option_names = option_names,
};

}  // namespace kiln::cuda

KILN_BACKEND_ENTRY(kiln::cuda::kPlugin)
