// What a backend offers while it compiles: the program is compiled once more, with a receiver of
// dumps on this thread.
#include "runtime/dump_backend.h"

#include "core/module/module.h"
#include "core/module/write.h"
#include "core/ops/make.h"
#include "runtime/host_services.h"

#include <mutex>

namespace kiln::runtime {
namespace {

/// The receiver of the process asks the thread, so that two threads can dump at once.
thread_local std::vector<BackendText>* collector = nullptr;

bool wanted(std::string_view) { return collector != nullptr; }

void take(const BackendDump& dump) {
  if (collector == nullptr) return;
  BackendText text;
  text.stage = dump.stage;
  text.name = dump.name;
  text.bytes.assign(reinterpret_cast<const char*>(dump.bytes.data()), dump.bytes.size());
  collector->push_back(std::move(text));
}

class Collecting {
 public:
  explicit Collecting(std::vector<BackendText>& texts) {
    static std::once_flag once;
    std::call_once(once, [] { set_dump_receiver({wanted, take}); });
    collector = &texts;
  }
  ~Collecting() { collector = nullptr; }
  Collecting(const Collecting&) = delete;
  Collecting& operator=(const Collecting&) = delete;
};

}  // namespace

std::vector<BackendText> backend_texts(const Program& program) {
  std::vector<ir::Guard> guards = ir::collect_guards(program.user_graph.roots());
  const module::Encoded encoded = module::write_module(
      module::make_module(program.graph, std::move(guards), program.name));
  CompileRequest request;
  request.module = encoded.bytes;
  for (const module::SideConstant& constant : encoded.constants) {
    request.constants.push_back({constant.data, constant.size});
  }
  request.label = program.name;
  request.function = "dump";
  std::vector<BackendText> texts;
  const Collecting collecting(texts);
  program.instance->compile(request);
  return texts;
}

}  // namespace kiln::runtime
