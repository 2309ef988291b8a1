// The smallest backend against an installed Kiln: whatever the program is, its output is twice its
// input.
#include <kiln/backend/kiln_backend_sdk.h>

using namespace kiln::sdk;

namespace {

struct Twice final : Executable {
  Twice() { inputs = outputs = 1; }

  std::unique_ptr<Event> execute(const Call& call) const override {
    const Buffer& from = *call.inputs[0];
    Buffer* to = call.outputs[0].given;
    if (to == nullptr) {
      call.outputs[0].allocated = std::make_unique<HostBuffer>(from.dtype(), from.dims());
      to = call.outputs[0].allocated.get();
    }
    const auto* source = static_cast<const float*>(from.host_data());
    auto* result = static_cast<float*>(static_cast<HostBuffer*>(to)->data());
    for (std::uint64_t i = 0; i < from.elements(); ++i) result[i] = 2 * source[i];
    return nullptr;
  }
  std::unique_ptr<Frame> make_frame(const FrameIo& io) const override {
    return std::make_unique<HostFrame>(*this, io);
  }
};

struct Backend final : Instance {
  std::vector<OpSupport> op_table() const override { return {}; }
  std::vector<Unsupported> check(Bytes) const override { return {}; }
  std::unique_ptr<Executable> compile(const CompileRequest&) override {
    return std::make_unique<Twice>();
  }
};

std::unique_ptr<Instance> create(const Options&, const Host&) {
  return std::make_unique<Backend>();
}

constexpr Plugin kTwice = {.name = "twice", .version = "1", .build_id = "1", .create = create};

}  // namespace

KILN_BACKEND_ENTRY(kTwice)
