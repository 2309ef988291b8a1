// Tests the cuDNN of this folder: values, and every misuse that it rejects.
#include "backends/cuda/api/api_failure.h"
#include "backends/cuda/libraries/backend_descriptor.h"
#include "tests/backends/cuda_fakes/gpu_test.h"

#include <optional>

using namespace kiln::fake_cuda;
using kiln::cuda::BackendDescriptor;
using A = CudnnAttribute;
using Ints = std::vector<std::int64_t>;

namespace {

constexpr const char* kAction = "test";

std::shared_ptr<const Cudnn> open_fake() {
  Messages messages;
  return open_cudnn({.search_path = search_path_of(kFolder), .driver_version = 12040}, messages);
}

void* pointer(DeviceAddress address) { return reinterpret_cast<void*>(address); }

/// The library's text of the error that `action` causes; empty: none.
template <class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const kiln::sdk::Failure& failure) {
    const std::string text = failure.what();
    return text.substr(text.rfind(": ") + 2);
  }
  return "";
}

/// A convolution of a 1x1x1x4 image by a filter of 2, of floats. Tests change one number.
struct Case {
  explicit Case(const Gpu& gpu)
      : gpu_(gpu),
        stream(make_stream(gpu)),
        x_memory(gpu, stream, 64),
        w_memory(gpu, stream, 64),
        y_memory(gpu, stream, 64),
        scratch_memory(gpu, stream, 4096),
        addresses{x_memory, w_memory, y_memory},
        scratch(scratch_memory) {
    REQUIRE(library->create(&handle) == CudnnStatus::Success);
    REQUIRE(library->set_stream(handle, stream) == CudnnStatus::Success);
  }
  ~Case() { library->destroy(handle); }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  BackendDescriptor make(DescriptorType type) const { return {*library, nullptr, type, kAction}; }

  BackendDescriptor tensor(const Ints& dims, std::int64_t id) const {
    BackendDescriptor descriptor = make(DescriptorType::Tensor);
    descriptor.set(A::TensorType, CudnnDataType::Float32);
    descriptor.set_list(A::TensorDims, dims);
    descriptor.set_list(A::TensorStrides, Ints{dims[3], dims[3], dims[3], 1});
    descriptor.set(A::TensorId, id);
    descriptor.set(A::TensorAlignment, std::int64_t{16});
    descriptor.finalize();
    return descriptor;
  }
  BackendDescriptor window() const {
    BackendDescriptor descriptor = make(DescriptorType::Convolution);
    descriptor.set(A::ConvolutionComputeType, CudnnDataType::Float32);
    descriptor.set(A::ConvolutionModeOf, ConvolutionMode::CrossCorrelation);
    descriptor.set(A::ConvolutionAxes, std::int64_t{2});
    for (const A list : {A::ConvolutionStrides, A::ConvolutionDilations}) {
      descriptor.set_list(list, Ints{1, 1});
    }
    for (const A list : {A::ConvolutionLow, A::ConvolutionHigh}) {
      descriptor.set_list(list, Ints{0, 0});
    }
    descriptor.finalize();
    return descriptor;
  }
  /// The plan of the heuristics' last engine, and the call.
  void queue() {
    const BackendDescriptor x = tensor({1, 1, 1, 4}, 1), w = tensor({1, 1, 1, filter_size}, 2),
                            y = tensor({1, 1, 1, output_size}, 3), c = window();
    const BackendDescriptor operation = make(DescriptorType::Forward);
    operation.set(A::ForwardConvolution, c);
    operation.set(A::ForwardInput, x);
    operation.set(A::ForwardFilter, w);
    operation.set(A::ForwardOutput, y);
    operation.set(A::ForwardAlpha, alpha);
    operation.set(A::ForwardBeta, beta);
    operation.finalize();
    const BackendDescriptor graph = make(DescriptorType::Graph);
    graph.set(A::GraphHandle, handle);
    graph.set(A::GraphOperations, operation);
    graph.finalize();
    const BackendDescriptor heuristic = make(DescriptorType::Heuristic);
    heuristic.set(A::HeuristicGraph, graph);
    heuristic.set(A::HeuristicModeOf, HeuristicMode::A);
    heuristic.finalize();
    std::vector<BackendDescriptor> configs;
    std::vector<DescriptorHandle> handles;
    const auto count = heuristic.count<DescriptorHandle>(A::HeuristicResults, 100);
    for (std::size_t i = 0; i < count; ++i) {
      configs.push_back(make(DescriptorType::EngineConfig));
      handles.push_back(configs.back().handle());
    }
    heuristic.get(A::HeuristicResults, std::span(handles));
    const BackendDescriptor plan = make(DescriptorType::Plan);
    plan.set(A::PlanHandle, handle);
    plan.set(A::PlanConfig, configs.back());
    plan.finalize();
    scratch_bytes = plan.get<std::int64_t>(A::PlanWorkspace);
    const BackendDescriptor pack = make(DescriptorType::VariantPack);
    pack.set_list(A::PackIds, ids);
    pack.set_list(A::PackPointers, std::vector<void*>{pointer(addresses[0]), pointer(addresses[1]),
                                                      pointer(addresses[2])});
    pack.set(A::PackWorkspace, pointer(scratch));
    pack.finalize();
    const CudnnStatus status = library->execute(handle, plan.handle(), pack.handle());
    if (status != CudnnStatus::Success) throw failure(*library, status, kAction);
  }
  Status run() {
    queue();
    return gpu_->stream_synchronize(stream);
  }

  const Gpu& gpu_;
  std::shared_ptr<const Cudnn> library = open_fake();
  Owned<StreamHandle> stream;
  DeviceMemory x_memory, w_memory, y_memory, scratch_memory;
  std::vector<DeviceAddress> addresses;
  DeviceAddress scratch = 0;
  CudnnHandle handle = nullptr;
  std::int64_t filter_size = 2, output_size = 3, scratch_bytes = 0;
  float alpha = 1, beta = 0;
  Ints ids{1, 2, 3};
};

std::vector<int> bits_of(const std::vector<float>& values) {
  std::vector<int> bits(values.size());
  std::memcpy(bits.data(), values.data(), values.size() * sizeof(float));
  return bits;
}

}  // namespace

TEST_CASE("fake cuDNN: a convolution, when the stream runs") {
  const Gpu gpu(kFolder);
  Case one(gpu);
  const HostNumbers x(gpu, bits_of({1, 2, 3, 4})), w(gpu, bits_of({10, 1}));
  const HostNumbers y(gpu, 3), scratch(gpu, 1);
  require_success(upload(gpu, one.x_memory, x, one.stream));
  require_success(upload(gpu, one.w_memory, w, one.stream));
  one.queue();
  REQUIRE(one.scratch_bytes > 0);
  require_success(download(gpu, y, one.y_memory, one.stream));
  require_success(download(gpu, scratch, one.scratch, one.stream));
  CHECK(y[0] != bits_of({12})[0]);
  require_success(gpu->stream_synchronize(one.stream));
  CHECK(y.all() == bits_of({12, 23, 34}));
  CHECK(scratch[0] == kPoisoned);
}

TEST_CASE("fake cuDNN: a convolution or a call that is not allowed is rejected") {
  const Gpu gpu(kFolder);
  const auto error = [&](const auto& change) {
    Case one(gpu);
    change(one);
    return error_of([&] { one.queue(); });
  };
  CHECK(error([](Case&) {}) == "");
  CHECK(error([](Case& one) { one.output_size = 2; }) == "another size of the output");
  CHECK(error([](Case& one) { one.filter_size = 5; }) == "a filter larger than the padded input");
  CHECK(error([](Case& one) { one.alpha = 2; }) == "scales other than 1 and 0");
  CHECK(error([](Case& one) { one.beta = 1; }) == "scales other than 1 and 0");
  CHECK(error([](Case& one) { one.ids = {1, 3, 2}; }) == "other tensors than those of the plan");
  CHECK(error([](Case& one) { one.ids = {1, 2}; }) == "other tensors than those of the plan");
  CHECK(error([](Case& one) { one.addresses[1] += 4; }) ==
        "an address is less aligned than its descriptor says");
  CHECK(error([](Case& one) { one.scratch = 0; }) == "no workspace");
  CHECK(error([](Case& one) { one.scratch += 16; }) == "the workspace is not aligned to 256 bytes");
  CHECK(error([](Case& one) { one.library->set_stream(one.handle, nullptr); }) ==
        "the handle has no stream");
}

TEST_CASE("fake cuDNN: descriptors take their own attributes, once, and are then read") {
  const Gpu gpu(kFolder);
  const Case one(gpu);
  const BackendDescriptor tensor = one.make(DescriptorType::Tensor);
  CHECK(error_of([&] { tensor.set(A::TensorId, 1.0f); }) == "a value of another type or count");
  CHECK(error_of([&] { tensor.set_list(A::TensorId, Ints{1, 2}); }) ==
        "a value of another type or count");
  CHECK(error_of([&] { tensor.set(A::PlanWorkspace, std::int64_t{1}); }) ==
        "an attribute that the descriptor does not have");
  CHECK(error_of([&] { tensor.finalize(); }) == "an attribute is missing");
  const BackendDescriptor done = one.tensor({1, 1, 1, 4}, 1);
  CHECK(error_of([&] { done.set(A::TensorId, std::int64_t{2}); }) ==
        "an attribute of a finalized descriptor");
  CHECK(error_of([&] { done.finalize(); }) == "a descriptor is finalized twice");
  const BackendDescriptor operation = one.make(DescriptorType::Forward);
  CHECK(error_of([&] { operation.set(A::ForwardInput, tensor); }) == "no finalized descriptor");
  CHECK(error_of([&] { operation.set(A::ForwardInput, one.window()); }) ==
        "no finalized descriptor");
  std::optional<BackendDescriptor> dead = one.tensor({1, 1, 1, 4}, 1);
  const DescriptorHandle handle = dead->handle();
  dead.reset();
  CHECK(error_of([&] { operation.set(A::ForwardInput, handle); }) == "no finalized descriptor");
  CHECK(one.library->descriptor_finalize(handle) == CudnnStatus::BadParam);
  const BackendDescriptor plan = one.make(DescriptorType::Plan);
  CHECK(error_of([&] { plan.get<std::int64_t>(A::PlanWorkspace); }) == "not finalized");
}

TEST_CASE("fake cuDNN: memory that is not live, and results over operands, end the context") {
  const auto ends = [](const auto& change) {
    const Gpu gpu(kFolder);
    Case one(gpu);
    change(one);
    CHECK(one.run() == Status::IllegalAddress);
  };
  ends([](Case& one) { one.addresses[0] = 4096; });
  ends([](Case& one) { require_success(one.w_memory.free()); });
  ends([](Case& one) { one.addresses[2] = one.addresses[0]; });
  ends([](Case& one) { one.scratch = 1 << 20; });
  ends([](Case& one) { one.addresses[2] = one.scratch; });
}
