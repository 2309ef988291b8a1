// Completes a plugin's table once, so that no null entry is ever called: an optional entry that is
// null gets the fallback that kiln_backend.h documents for it.
#include "runtime/plugin/plugin.h"

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/text.h"

namespace kiln::runtime {
namespace {

kiln_error* probe_usable(const kiln_probe_args*, kiln_probe_result* result) noexcept {
  result->score = 1;
  return nullptr;
}
kiln_error* shutdown_nothing(kiln_instance*) noexcept { return nullptr; }
kiln_error* list_no_ops(kiln_instance*, kiln_array* ops) noexcept {
  *ops = {};
  return nullptr;
}
kiln_error* check_nothing(kiln_instance*, const kiln_check_args*) noexcept { return nullptr; }
kiln_proc find_no_proc(kiln_string) noexcept { return nullptr; }
kiln_error* make_no_frame(const kiln_executable*, const kiln_frame_io*,
                          kiln_frame** frame) noexcept {
  *frame = nullptr;
  return nullptr;
}

}  // namespace

std::vector<std::string> absent_entries(const kiln_backend_api* given) {
  const kiln_backend_api table = abi::read_report(given, "kiln_backend_api");
  std::vector<std::string> names;
  const auto add = [&](const char* name, bool is_present) {
    if (!is_present) names.emplace_back(name);
  };
  add("probe", table.probe != nullptr);
  add("instance_shutdown", table.instance_shutdown != nullptr);
  add("op_table", table.op_table != nullptr);
  add("check", table.check != nullptr);
  add("get_proc", table.get_proc != nullptr);
  add("frame_create", table.frame_create != nullptr);
  add("frame_run", table.frame_run != nullptr);
  add("frame_destroy", table.frame_destroy != nullptr);
  return names;
}

kiln_backend_api complete_table(const kiln_backend_api* given, std::string& reason) {
  kiln_backend_api table = abi::read_report(given, "kiln_backend_api");
  const struct {
    const char* name;
    bool present;
  } required[] = {
      {"error_read", table.error_read != nullptr},
      {"error_destroy", table.error_destroy != nullptr},
      {"instance_create", table.instance_create != nullptr},
      {"instance_destroy", table.instance_destroy != nullptr},
      {"compile", table.compile != nullptr},
      {"executable_info", table.executable_info != nullptr},
      {"executable_destroy", table.executable_destroy != nullptr},
      {"buffer_allocate", table.buffer_allocate != nullptr},
      {"buffer_import_host", table.buffer_import_host != nullptr},
      {"buffer_copy_to_host", table.buffer_copy_to_host != nullptr},
      {"buffer_info", table.buffer_info != nullptr},
      {"buffer_destroy", table.buffer_destroy != nullptr},
      {"execute", table.execute != nullptr},
      {"event_wait", table.event_wait != nullptr},
      {"event_destroy", table.event_destroy != nullptr},
  };
  std::string missing;
  for (const auto& entry : required) {
    if (!entry.present) missing += text(missing.empty() ? "" : ", ", entry.name);
  }
  if (!missing.empty()) reason = text("lacks required functions: ", missing);
  if (table.probe == nullptr) table.probe = probe_usable;
  if (table.instance_shutdown == nullptr) table.instance_shutdown = shutdown_nothing;
  if (table.op_table == nullptr) table.op_table = list_no_ops;
  if (table.check == nullptr) table.check = check_nothing;
  if (table.get_proc == nullptr) table.get_proc = find_no_proc;
  const bool frames = table.frame_create && table.frame_run && table.frame_destroy;
  if (!frames) table.frame_create = make_no_frame;
  return table;
}

}  // namespace kiln::runtime
