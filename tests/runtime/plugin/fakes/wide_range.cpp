// A later build of the same major version that still supports this minor: it works at this minor,
// although its table is longer than the host's.
#include "tests/runtime/plugin/no_compiler.h"

namespace {

using namespace kiln::sdk;

std::unique_ptr<Instance> create(const Options&, const Host&) {
  return std::make_unique<NoCompiler>();
}

constexpr Plugin kWide = {.name = "wide_range",
                          .version = "2",
                          .build_id = "",
                          .features = 0,
                          .create = create,
                          .probe = nullptr};

struct LongTable {
  kiln_backend_api known;
  void (*added_later)();
};
void added_later() {}
constexpr LongTable make_table() {
  LongTable table{detail::make_api<kWide>(), added_later};
  table.known.struct_size = sizeof(table);
  return table;
}
constexpr LongTable kTable = make_table();

constexpr kiln_backend_header make_header() {
  kiln_backend_header header = detail::make_header<kWide>();
  header.abi_minor_highest = KILN_ABI_MINOR + 4;
  header.required_api_size = sizeof(LongTable);
  header.api = &kTable.known;
  return header;
}
constexpr kiln_backend_header kHeader = make_header();

}  // namespace

extern "C" uint32_t kiln_backend_query(const kiln_host_info*, const kiln_backend_header** header) {
  *header = &kHeader;
  return KILN_CODE_OK;
}
