// A build of minor 2, which does not know memory that the host lends for writing.
#include "tests/runtime/plugin/no_compiler.h"

namespace {

using namespace kiln::sdk;

class SecondMinor final : public NoCompiler {
 public:
  std::unique_ptr<Buffer> import_host(const void* data, std::uint32_t dtype, Dims dims,
                                      std::uint32_t semantics) override {
    if (semantics > KILN_IMPORT_IMMUTABLE) {
      throw Failure(KILN_CODE_UNIMPLEMENTED, "import semantics of a later minor");
    }
    return Instance::import_host(data, dtype, dims, semantics);
  }
};

std::unique_ptr<Instance> create(const Options&, const Host&) {
  return std::make_unique<SecondMinor>();
}

constexpr Plugin kSecond = {.name = "second_minor",
                            .version = "1",
                            .build_id = "",
                            .features = 0,
                            .create = create,
                            .probe = nullptr};
constexpr kiln_backend_api kTable = detail::make_api<kSecond>();

constexpr kiln_backend_header make_header() {
  kiln_backend_header header = detail::make_header<kSecond>();
  header.abi_minor_highest = 2;
  header.api = &kTable;
  return header;
}
constexpr kiln_backend_header kHeader = make_header();

}  // namespace

extern "C" uint32_t kiln_backend_query(const kiln_host_info*, const kiln_backend_header** header) {
  *header = &kHeader;
  return KILN_CODE_OK;
}
