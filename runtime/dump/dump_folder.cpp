// One table each for the names of stages as users and as backends write them.
#include "runtime/dump/dump_folder.h"

#include "backends/abi/kiln_backend_profile.h"
#include "core/types/text.h"
#include "runtime/host/log.h"

#include <kiln/error.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <mutex>
#include <sstream>
#include <utility>

namespace kiln::runtime {
namespace {

namespace fs = std::filesystem;

struct NamedStage {
  std::string_view name;
  Stage stage;
};
constexpr NamedStage kStages[] = {
    {"graph", Stage::Graph},     {"passes", Stage::Passes},
    {"module", Stage::Module},   {"collectives", Stage::Collectives},
    {"claims", Stage::Claims},   {"kernels", Stage::Kernels},
    {"plan", Stage::Plan},       {"memory_plan", Stage::MemoryPlan},
    {"llvm_ir", Stage::LlvmIr},  {"assembly", Stage::Assembly},
    {"timings", Stage::Timings}, {"backend", Stage::Backend},
    {"all", Stage::All},
};

/// Stage, file number and extension of a backend's dump items, which may arrive in any order.
struct BackendStage {
  std::string_view name;
  Stage stage;
  std::size_t number;
  std::string_view extension;
};
constexpr BackendStage kBackendStages[] = {
    {"lowering", Stage::Passes, 45, ".txt"},
    {"claims", Stage::Claims, 50, ".txt"},
    {"kernels", Stage::Kernels, 51, ".txt"},
    {"plan", Stage::Plan, 52, ".txt"},
    {"memory_plan", Stage::MemoryPlan, 53, ".txt"},
    {"schedule", Stage::Kernels, 54, ".txt"},
    {"llvm_ir", Stage::LlvmIr, 55, ".ll"},
    {"llvm_ir_optimized", Stage::LlvmIr, 56, ".ll"},
    {"assembly", Stage::Assembly, 57, ".s"},
    {"timings", Stage::Timings, kTimingsNumber, ".txt"},
    {"cuda_c", Stage::Other, 55, ".cu"},
    {"ptx", Stage::Assembly, 56, ".ptx"},
    {"sass", Stage::Assembly, 57, ".sass"},
    // Only `kiln graph` wants these, which draws them of any module.
    {"kernels_picture", Stage{}, 58, ".dot"},
    {"plan_picture", Stage{}, 58, ".dot"},
};
constexpr BackendStage kOther = {"other", Stage::Other, 60, ".txt"};

const BackendStage& stage_of_backend(std::string_view given) {
  const std::string name = file_name_of(given);
  for (const BackendStage& one : kBackendStages) {
    if (one.name == name) return one;
  }
  return kOther;
}

Stage stage_named(const std::string& name, const StageSetting& setting) {
  std::string known;
  for (const NamedStage& one : kStages) {
    if (one.name == name) return one.stage;
    known += text(known.empty() ? "" : ", ", one.name);
  }
  throw ConfigError(std::string(setting.function), std::string(setting.name),
                    text(setting.name, " has the unknown stage '", name, "'; stages are ", known));
}

}  // namespace

std::string file_name_of(std::string_view name) {
  std::string safe;
  for (const char c : name) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    safe += is_letter || (c >= '0' && c <= '9') ? c : '_';
  }
  return safe;
}

Stage stages_named(const std::string& list, const StageSetting& setting) {
  auto bits = std::uint32_t{0};
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');) {
    bits |= static_cast<std::uint32_t>(stage_named(name, setting));
  }
  return bits == 0 ? stage_named("", setting) : static_cast<Stage>(bits);
}

DumpFolder::DumpFolder(const std::string& directory, Stage stages, DumpRequest request)
    : path_(directory), stages_(stages), request_(std::move(request)) {
  create(directory);
}

void DumpFolder::create(const std::string& directory) const {
  if (directory.empty()) return fail("the name of the directory is empty");
  if (directory.find('\0') != directory.npos) {
    return fail(text("the name of the directory, '", directory, "', contains a zero byte"));
  }
  std::error_code error;
  fs::create_directories(path_, error);
  if (error == std::errc::not_enough_memory) throw std::bad_alloc();
  if (error) fail(text("cannot create the directory ", directory, ": ", error.message()));
}

void DumpFolder::fail(const std::string& message) const {
  const bool by_call = request_.setting.empty();
  const std::string whole =
      by_call ? message : text(message, " (requested by: ", request_.setting, ")");
  if (!request_.only_warns) {
    throw IoError(request_.function, by_call ? "directory" : request_.setting, whole);
  }
  if (!has_ended_.exchange(true)) log_line(LogLevel::Warning, "dump", whole);
}

bool DumpFolder::wants(Stage stage) const {
  if (has_ended_) return false;
  return (static_cast<std::uint32_t>(stages_) & static_cast<std::uint32_t>(stage)) != 0;
}

/// Never a profile's stages, which begin and end measuring.
bool DumpFolder::wants_stage(std::string_view stage) const {
  return !stage.starts_with(sdk::ProfileText::kStage) && wants(stage_of_backend(stage).stage);
}

void DumpFolder::write(std::size_t number, std::string_view name, std::string_view contents) const {
  TextStream file_name;
  file_name << std::setw(2) << std::setfill('0') << number << '-' << name;
  const fs::path path = path_ / file_name.str();
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  file.close();
  if (!file && errno == ENOMEM) throw std::bad_alloc();
  if (!file) fail(text("cannot write ", path.string(), ": ", std::strerror(errno)));
}

void DumpFolder::receive(const BackendDump& dump) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    const BackendStage& stage = stage_of_backend(dump.stage);
    std::string name = file_name_of(dump.stage);
    if (!dump.name.empty()) name += "-" + file_name_of(dump.name);
    if (dump.ordinal != 0) name += text("-", dump.ordinal);
    write(stage.number, name + std::string(stage.extension),
          {reinterpret_cast<const char*>(dump.bytes.data()), dump.bytes.size()});
  } catch (const std::exception&) {
    if (!failure_) failure_ = std::current_exception();
  }
}

void DumpFolder::rethrow_failure() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace kiln::runtime
