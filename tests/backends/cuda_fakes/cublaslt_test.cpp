// Tests the cuBLASLt of this folder: values, and every misuse that it rejects.
#include "backends/cuda/api/open_cublaslt.h"
#include "tests/backends/cuda_fakes/gpu_test.h"

#include <cmath>
#include <limits>

using namespace kiln::fake_cuda;

namespace {

constexpr int kM = 2, kN = 3, kK = 4;

std::shared_ptr<const CublasLt> open_fake() {
  Messages messages;
  return open_cublaslt({.search_path = search_path_of(kFolder), .driver_version = 12040}, messages);
}

void require(CublasStatus status) { REQUIRE(status == CublasStatus::Success); }

std::vector<int> bits_of(const std::vector<float>& values) {
  std::vector<int> bits(values.size());
  std::memcpy(bits.data(), values.data(), values.size() * sizeof(float));
  return bits;
}

/// A 2 x 3 matmul with K = 4, of floats; a test changes one thing before it runs.
class Case {
 public:
  explicit Case(const Gpu& gpu)
      : gpu_(gpu),
        stream(make_stream(gpu)),
        a_memory(gpu, stream, 64),
        b_memory(gpu, stream, 64),
        d_memory(gpu, stream, 64),
        scratch_memory(gpu, stream, 4096) {
    require(library->create(&handle));
    require(library->matmul_create(&matmul, CublasComputeType::Float32, CublasDataType::Float32));
    require(library->layout_create(&a, CublasDataType::Float32, kM, kK, kM));
    require(library->layout_create(&b, CublasDataType::Float32, kK, kN, kK));
    require(library->layout_create(&d, CublasDataType::Float32, kM, kN, kM));
    require(library->preference_create(&preference));
    set(PreferenceAttribute::MaxWorkspaceBytes, std::uint64_t{4096});
    set(PreferenceAttribute::ReductionSchemes,
        static_cast<std::uint32_t>(ReductionScheme::ComputeType));
    for (const PreferenceAttribute one :
         {PreferenceAttribute::AlignmentA, PreferenceAttribute::AlignmentB,
          PreferenceAttribute::AlignmentC, PreferenceAttribute::AlignmentD}) {
      set(one, std::uint32_t{16});
    }
    a_address = a_memory;
    b_address = b_memory;
    d_address = d_memory;
    scratch = scratch_memory;
  }
  ~Case() {
    library->layout_destroy(a);
    library->layout_destroy(b);
    library->layout_destroy(d);
    library->matmul_destroy(matmul);
    library->preference_destroy(preference);
    library->destroy(handle);
  }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  template <class Value>
  void set(PreferenceAttribute attribute, Value value) {
    require(library->preference_set_attribute(preference, attribute, &value, sizeof(value)));
  }

  CublasStatus choose() {
    int count = 0;
    const CublasStatus status =
        library->get_heuristic(handle, matmul, a, b, d, d, preference, 1, &chosen, &count);
    if (status == CublasStatus::Success) scratch_bytes = chosen.workspace_bytes;
    return status;
  }
  CublasStatus queue() {
    return library->matmul(handle, matmul, &alpha, pointer(a_address), a, pointer(b_address), b,
                           &beta, pointer(d_address), d, pointer(d_address), d, &chosen.algorithm,
                           pointer(scratch), scratch_bytes, stream);
  }
  /// Chooses an algorithm, queues the matmul and runs the stream.
  Status run() {
    require(choose());
    require(queue());
    return gpu_->stream_synchronize(stream);
  }

  static void* pointer(DeviceAddress address) { return reinterpret_cast<void*>(address); }

  const Gpu& gpu_;
  std::shared_ptr<const CublasLt> library = open_fake();
  Owned<StreamHandle> stream;
  DeviceMemory a_memory, b_memory, d_memory, scratch_memory;
  CublasHandle handle = nullptr;
  MatmulHandle matmul = nullptr;
  LayoutHandle a = nullptr, b = nullptr, d = nullptr;
  PreferenceHandle preference = nullptr;
  MatmulHeuristic chosen{};
  DeviceAddress a_address = 0, b_address = 0, d_address = 0, scratch = 0;
  std::size_t scratch_bytes = 0;
  float alpha = 1, beta = 0;
};

}  // namespace

TEST_CASE("fake cuBLASLt: a matmul, when the stream runs") {
  const Gpu gpu(kFolder);
  Case one(gpu);
  const HostNumbers a(gpu, bits_of({1, 2, 3, 4, 5, 6, 7, 8}));
  const HostNumbers b(gpu, bits_of({1, 0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 1}));
  const HostNumbers d(gpu, 6), scratch(gpu, 1);
  require_success(upload(gpu, one.a_memory, a, one.stream));
  require_success(upload(gpu, one.b_memory, b, one.stream));
  require(one.choose());
  REQUIRE(one.scratch_bytes > 0);
  require(one.queue());
  require_success(download(gpu, d, one.d_memory, one.stream));
  require_success(download(gpu, scratch, one.scratch, one.stream));
  CHECK(d[0] != bits_of({1})[0]);
  require_success(gpu->stream_synchronize(one.stream));
  CHECK(d.all() == bits_of({1, 2, 3, 4, 16, 20}));
  CHECK(scratch[0] == kPoisoned);
}

TEST_CASE("fake cuBLASLt: descriptors of another matmul are rejected") {
  const Gpu gpu(kFolder);
  const auto rejects = [&](const auto& change) {
    Case one(gpu);
    change(one);
    CHECK(one.choose() == CublasStatus::InvalidValue);
  };
  const auto replace = [](Case& one, LayoutHandle& layout, CublasDataType type, int rows,
                          int columns, int leading_dim) {
    one.library->layout_destroy(layout);
    require(one.library->layout_create(&layout, type, static_cast<std::uint64_t>(rows),
                                       static_cast<std::uint64_t>(columns), leading_dim));
  };
  constexpr CublasDataType kType = CublasDataType::Float32;
  rejects([&](Case& one) { replace(one, one.a, kType, kM, kK, kM - 1); });
  rejects([&](Case& one) { replace(one, one.a, kType, kM, kK + 1, kM); });
  rejects([&](Case& one) { replace(one, one.b, kType, kK, kN + 1, kK); });
  rejects([&](Case& one) { replace(one, one.d, kType, kM + 1, kN, kM + 1); });
  rejects([&](Case& one) { replace(one, one.b, CublasDataType::Float64, kK, kN, kK); });
  rejects([&](Case& one) { replace(one, one.a, kType, 0, kK, kM); });
  rejects([&](Case& one) {
    const std::int32_t count = 2;
    require(one.library->layout_set_attribute(one.a, LayoutAttribute::BatchCount, &count,
                                              sizeof(count)));
  });
  rejects([&](Case& one) {
    const std::int32_t count = 65536;
    for (const LayoutHandle layout : {one.a, one.b, one.d}) {
      require(one.library->layout_set_attribute(layout, LayoutAttribute::BatchCount, &count,
                                                sizeof(count)));
    }
  });
  rejects([&](Case& one) {
    const std::int32_t transposes = 1;
    require(one.library->matmul_set_attribute(one.matmul, MatmulAttribute::TransposeA, &transposes,
                                              sizeof(transposes)));
  });
  Case one(gpu);
  const std::int64_t wide = 2;
  CHECK(one.library->layout_set_attribute(one.a, LayoutAttribute::BatchCount, &wide,
                                          sizeof(wide)) == CublasStatus::InvalidValue);
  one.set(PreferenceAttribute::ReductionSchemes, std::uint32_t{7});
  require(one.choose());
  CHECK(one.chosen.status == CublasStatus::NotSupported);
}

TEST_CASE("fake cuBLASLt: arguments that the algorithm does not allow are rejected") {
  const Gpu gpu(kFolder);
  const auto rejects = [&](const auto& change) {
    Case one(gpu);
    require(one.choose());
    change(one);
    CHECK(one.queue() == CublasStatus::InvalidValue);
  };
  rejects([](Case& one) { one.a_address += 4; });
  rejects([](Case& one) { one.scratch += 16; });
  rejects([](Case& one) { one.scratch_bytes -= 1; });
  rejects([](Case& one) { one.alpha = 2; });
  rejects([](Case& one) { one.beta = 1; });
  rejects([](Case& one) { ++one.chosen.algorithm.data[0]; });
  rejects([](Case& one) {
    one.library->layout_destroy(one.a);
    one.a = nullptr;
  });
}

TEST_CASE("fake cuBLASLt: memory that is not live, and results over operands, end the context") {
  const auto ends = [](const auto& change) {
    const Gpu gpu(kFolder);
    Case one(gpu);
    change(one);
    CHECK(one.run() == Status::IllegalAddress);
  };
  ends([](Case& one) { one.a_address = 4096; });
  ends([](Case& one) { one.a_address += 48; });
  ends([](Case& one) { require_success(one.b_memory.free()); });
  ends([](Case& one) { one.d_address = one.a_address; });
  ends([](Case& one) { one.scratch = 0; });
  ends([](Case& one) { one.d_address = one.scratch; });
}

TEST_CASE("fake cuBLASLt: calls need a context") {
  const Gpu gpu(kFolder);
  const std::shared_ptr<const CublasLt> library = open_fake();
  CublasHandle handle = nullptr;
  require_success(gpu->ctx_set_current(nullptr));
  CHECK(library->create(&handle) == CublasStatus::NotInitialized);
  require_success(gpu->ctx_set_current(gpu.context));
  require(library->create(&handle));
  CHECK(library->destroy(handle) == CublasStatus::Success);
  CHECK(library->destroy(handle) == CublasStatus::InvalidValue);
}

TEST_CASE("fake cuBLASLt: a matmul is captured as a kernel") {
  const Gpu gpu(kFolder);
  Case one(gpu);
  require(one.choose());
  require_success(gpu->stream_synchronize(one.stream));
  require_success(gpu->stream_begin_capture(one.stream, CaptureMode::Relaxed));
  require(one.queue());
  GraphHandle graph = nullptr;
  require_success(gpu->stream_end_capture(one.stream, &graph));
  CHECK(gpu.control.usage().pending_operations == 0);
  GraphExecHandle executable = nullptr;
  require_success(gpu->graph_instantiate(&executable, graph, 0));
  for (int launch = 0; launch < 2; ++launch) {
    require_success(gpu->graph_launch(executable, one.stream));
    CHECK(gpu->stream_synchronize(one.stream) == Status::Success);
  }
  require_success(gpu->graph_exec_destroy(executable));
  require_success(gpu->graph_destroy(graph));
}
