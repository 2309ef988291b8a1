// Logs failures as warnings, so that a dump never fails a compilation.
#include "backends/cuda/execute/dump_sass.h"

#include "backends/cuda/api/disassembler.h"

#include <atomic>

namespace kiln::cuda {

void dump_sass(const std::vector<CompiledPart>& parts, const api::Compiler& compiler,
               const codegen::Dumps& dumps, const sdk::Host& host, const std::string& name) {
  if (parts.empty() || !dumps.wanted("sass")) return;
  static std::atomic<bool> has_warned{false};
  try {
    const api::Disassembler disassembler(
        {.configured = compiler.configured_folders(), .library = compiler.path()});
    std::string sass;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      sass += title_of_part(i, parts.size(), parts[i].functions) +
              disassembler.disassemble(parts[i].cubin);
    }
    dumps.hand_over("sass", name, [&] { return sass; });
  } catch (const sdk::Failure& failure) {
    const bool is_missing = failure.code() == KILN_CODE_NOT_FOUND;
    if (is_missing && has_warned.exchange(true)) return;
    host.log(KILN_LOG_WARNING, "dump", std::string("no dump of sass: ") + failure.what());
  }
}

}  // namespace kiln::cuda
