// The backend `reference` with planted faults in programs outside of bodies: values of tanh, and
// of loops with tanh in their body, are too large by 1 %; erf crashes the process, floor ends it;
// cumsum is an error of compiling.
#include "backends/abi/kiln_backend.h"
#include "core/ir/traverse.h"
#include "core/module/read.h"
#include "core/module/write.h"
#include "core/ops/build.h"
#include "core/ops/lambda_builder.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

using namespace kiln;

namespace {

decltype(kiln_backend_api::compile) reference_compile = nullptr;

bool is_wrong(const ir::Node& node) {
  if (node.op == ir::Op::Tanh) return true;
  bool has_tanh = false;
  ir::for_each_lambda(node, [&](const ir::Lambda& lambda) {
    has_tanh = has_tanh || ir::reaches(lambda.results, ir::Op::Tanh);
  });
  return has_tanh;
}

kiln_error* compile(kiln_instance* instance, const kiln_compile_args* args,
                    kiln_executable** executable) {
  const auto* bytes = static_cast<const std::byte*>(args->module.data);
  module::Module module = module::read_module({bytes, args->module.size});
  const std::vector<ir::Value> roots = module.graph.roots();
  if (ir::reaches(roots, ir::Op::Erf)) std::abort();
  if (ir::reaches(roots, ir::Op::Floor)) std::_Exit(0);
  ir::Replacements replacements;
  for (const ir::Node* node : ir::topological_order(roots)) {
    if (!is_wrong(*node)) continue;
    for (std::uint32_t i = 0; i < node->types.size(); ++i) {
      const ir::Value value = node->result(i);
      replacements.emplace(value, value * ir::full(value.dtype(), value.dims(), 1.01));
    }
  }
  module.graph = ir::replace_values(module.graph, replacements);
  const module::Encoded encoded = module::write_module(module, {.embed_constants = true});
  kiln_compile_args wrong = *args;
  const bool is_rejected = ir::reaches(roots, ir::Op::CumSum);
  wrong.module = {encoded.bytes.data(), is_rejected ? 0 : encoded.bytes.size()};
  return reference_compile(instance, &wrong, executable);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) std::uint32_t kiln_backend_query(
    const kiln_host_info* host, const kiln_backend_header** header) {
  static void* const library = ::dlopen(KILN_REFERENCE, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::abort();
  const auto query = reinterpret_cast<kiln_backend_query_fn>(::dlsym(library, KILN_ENTRY_SYMBOL));
  const kiln_backend_header* reference = nullptr;
  const std::uint32_t status = query(host, &reference);
  if (reference == nullptr) return status;
  static kiln_backend_api api = *reference->api;
  static kiln_backend_header faulty = *reference;
  reference_compile = reference->api->compile;
  api.compile = compile;
  faulty.api = &api;
  faulty.name = {"faulty", 6};
  *header = &faulty;
  return status;
}
