// Adds 1 to its input. Every destructor of its objects throws. The label of the program chooses how
// it runs: "frame", "host_frame" (the SDK's frame), "execute" (no frames), "fail" (execute throws
// when it has allocated its result).
#include "tests/runtime/plugin/no_compiler.h"

namespace {

using namespace kiln::sdk;

/// The base of an object that throws when it is destroyed.
template <class Base>
class Loose : public Base {
 public:
  using Base::Base;
  ~Loose() override { throw std::runtime_error("destroyed"); }  // NOLINT(*-exception-escape)
};

class Values final : public Loose<Buffer> {
 public:
  Values(Dims dims, const void* from) : Loose(KILN_DTYPE_FLOAT32, dims), values_(elements()) {
    if (from != nullptr) std::memcpy(values_.data(), from, bytes());
  }
  float* data() { return values_.data(); }
  const void* host_data() const override { return values_.data(); }
  void copy_to_host(void* to) const override { std::memcpy(to, values_.data(), bytes()); }

 private:
  std::vector<float> values_;
};

class Done final : public Loose<Event> {
 public:
  bool wait(std::uint64_t) override { return true; }
};

void add_one(const void* from, void* to, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    static_cast<float*>(to)[i] = static_cast<const float*>(from)[i] + 1;
  }
}

class Run final : public Loose<Frame> {
 public:
  explicit Run(const FrameIo& io) : io_(io) {}
  void run() override {
    const kiln_view& from = io_.input(0);
    std::uint64_t count = 1;
    for (const std::int64_t dim : kiln::abi::view_of(from.dims)) {
      count *= static_cast<std::uint64_t>(dim);
    }
    add_one(from.data, io_.output(0).data, count);
  }

 private:
  FrameIo io_;
};

class AddOne final : public Loose<Executable> {
 public:
  explicit AddOne(std::string_view label) : label_(label) { inputs = outputs = 1; }

  std::unique_ptr<Event> execute(const Call& call) const override {
    const Buffer& from = *call.inputs[0];
    Result& result = call.outputs[0];
    if (result.given != nullptr) {
      add_one(from.host_data(), static_cast<HostBuffer*>(result.given)->data(), from.elements());
      return std::make_unique<Done>();
    }
    auto to = std::make_unique<Values>(from.dims(), nullptr);
    add_one(from.host_data(), to->data(), from.elements());
    result.allocated = std::move(to);
    if (label_ == "fail") throw Failure(KILN_CODE_INTERNAL, "no luck");
    return std::make_unique<Done>();
  }

  std::unique_ptr<Frame> make_frame(const FrameIo& io) const override {
    if (label_ == "frame") return std::make_unique<Run>(io);
    if (label_ == "host_frame") return std::make_unique<HostFrame>(*this, io);
    return nullptr;
  }

 private:
  std::string label_;
};

class Maker final : public Loose<NoCompiler> {
 public:
  std::unique_ptr<Executable> compile(const CompileRequest& request) override {
    return std::make_unique<AddOne>(request.label);
  }
  std::unique_ptr<Buffer> import_host(const void* data, std::uint32_t dtype, Dims dims,
                                      std::uint32_t) override {
    if (dtype != KILN_DTYPE_FLOAT32) throw Failure(KILN_CODE_UNIMPLEMENTED, "only float32");
    return std::make_unique<Values>(dims, data);
  }
};

constexpr Plugin kLoose = {.name = "loose",
                           .version = "1",
                           .build_id = "",
                           .features = 0,
                           .create = [](const Options&, const Host&) -> std::unique_ptr<Instance> {
                             return std::make_unique<Maker>();
                           },
                           .probe = nullptr};

}  // namespace

KILN_BACKEND_ENTRY(kLoose)
