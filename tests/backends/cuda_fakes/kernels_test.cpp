// Tests libraries of kernels and their launches.
#include "tests/backends/cuda_fakes/gpu_test.h"
#include "tests/backends/cuda_fakes/kernel_text.h"

using namespace kiln;
using namespace kiln::fake_cuda;
using codegen::CallBlock;
using test::KernelMaker;

namespace {

/// y[0] = i at each of 600 points: the last thread wins.
codegen::Kernel last_point() {
  KernelMaker k("last_point", {600}, 1);
  const codegen::ExpressionId i = k.convert(DType::Int32, k.axis(0));
  k.map({{k.access(k.output(DType::Int32), {0}), i}});
  return k.kernel;
}

/// y[i] = table[at[i]] for a table of two.
codegen::Kernel gather() {
  KernelMaker k("gather", {3}, 1);
  const codegen::OperandId table = k.input(DType::Int32);
  const codegen::ExpressionId at = k.load(k.access(k.input(DType::Int32), {1}));
  const codegen::ExpressionId value = k.load(k.access_at(table, {0}, at, 1, 2));
  k.map({{k.access(k.output(DType::Int32), {1}), value}});
  return k.kernel;
}

/// y[j, i] = x[i, j] of rows x columns.
codegen::Kernel transpose(int rows, int columns) {
  KernelMaker k("transpose", {columns, rows}, 2);
  const codegen::ExpressionId x = k.load(k.access(k.input(DType::Int32), {1, columns}));
  k.map({{k.access(k.output(DType::Int32), {rows, 1}), x}});
  return k.kernel;
}

/// A loaded library, a stream, and a call block without an index out of range.
class Launcher {
 public:
  Launcher(const Gpu& gpu, const std::vector<codegen::Kernel>& kernels)
      : gpu(gpu),
        stream(make_stream(gpu)),
        library(load(gpu, compile(kFolder, kernels, 90).cubin)),
        call(gpu, stream, sizeof(CallBlock)),
        block(gpu, sizeof(CallBlock) / sizeof(int)) {
    const CallBlock fresh;
    std::memcpy(block.data(), &fresh, sizeof(fresh));
    require_success(upload(gpu, call, block, stream));
    require_success(gpu->stream_synchronize(stream));
  }

  FunctionHandle function(const char* name) const {
    KernelHandle kernel = nullptr;
    FunctionHandle function = nullptr;
    require_success(gpu->library_get_kernel(&kernel, library, name));
    require_success(gpu->kernel_get_function(&function, kernel));
    return function;
  }

  /// One block of 256 threads unless a test says otherwise.
  Status launch(const char* name, std::vector<DeviceAddress> operands,
                std::vector<std::int64_t> sizes, std::int64_t points) const {
    std::vector<void*> parameters;
    for (DeviceAddress& operand : operands) parameters.push_back(&operand);
    for (std::int64_t& size : sizes) parameters.push_back(&size);
    DeviceAddress call_address = call;
    std::int32_t number = step;
    parameters.insert(parameters.end(), {&points, &number, &call_address});
    const Status status = gpu->launch_kernel(function(name), blocks, 1, 1, threads, 1, 1, 0, stream,
                                             parameters.data(), nullptr);
    // Values are copied at the call.
    for (DeviceAddress& operand : operands) operand = 0;
    points = -1;
    return status;
  }

  CallBlock call_block() const {
    require_success(download(gpu, block, call, stream));
    require_success(gpu->stream_synchronize(stream));
    CallBlock read;
    std::memcpy(static_cast<void*>(&read), block.data(), sizeof(read));
    return read;
  }

  const Gpu& gpu;
  Owned<StreamHandle> stream;
  Owned<LibraryHandle> library;
  DeviceMemory call;
  HostNumbers block;
  unsigned blocks = 1, threads = 256;
  std::int32_t step = 0;

 private:
  static Owned<LibraryHandle> load(const Gpu& gpu, const std::string& cubin) {
    LibraryHandle library = nullptr;
    require_success(
        gpu->library_load_data(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    return {library, gpu->library_unload};
  }
};

}  // namespace

TEST_CASE("fake driver: a kernel from its text to its values") {
  const Gpu gpu(kFolder);
  Launcher one(gpu, {addition(), last_point()});
  CHECK(gpu.control.usage().libraries == 1);
  std::vector<int> x(1000), y(1000), expected(1000);
  for (int i = 0; i < 1000; ++i) {
    const auto at = static_cast<std::size_t>(i);
    x[at] = i;
    y[at] = 3 * i;
    expected[at] = 4 * i;
  }
  const HostNumbers in_x(gpu, x), in_y(gpu, y), out(gpu, 1000);
  const DeviceMemory memory_x(gpu, one.stream, in_x.bytes());
  const DeviceMemory memory_y(gpu, one.stream, in_y.bytes());
  const DeviceMemory memory_z(gpu, one.stream, out.bytes());
  require_success(upload(gpu, memory_x, in_x, one.stream));
  require_success(upload(gpu, memory_y, in_y, one.stream));
  one.blocks = 4;
  require_success(one.launch("addition", {memory_x, memory_y, memory_z}, {1000}, 1000));
  require_success(download(gpu, out, memory_z, one.stream));
  require_success(gpu->stream_synchronize(one.stream));
  CHECK(out.all() == expected);

  // As part of a graph.
  require_success(gpu->stream_begin_capture(one.stream, CaptureMode::ThreadLocal));
  require_success(one.launch("addition", {memory_x, memory_z, memory_y}, {1000}, 1000));
  require_success(download(gpu, out, memory_y, one.stream));
  GraphHandle handle = nullptr;
  require_success(gpu->stream_end_capture(one.stream, &handle));
  const Owned<GraphHandle> graph(handle, gpu->graph_destroy);
  GraphExecHandle executable = nullptr;
  require_success(gpu->graph_instantiate(&executable, graph, 0));
  const Owned<GraphExecHandle> owned(executable, gpu->graph_exec_destroy);
  require_success(gpu->graph_launch(executable, one.stream));
  require_success(gpu->stream_synchronize(one.stream));
  CHECK(out[999] == 5 * 999);
}

TEST_CASE("fake driver: tiles are computed by their blocks") {
  constexpr int kRows = 40, kColumns = 70;
  const codegen::Kernel kernel = transpose(kRows, kColumns);
  REQUIRE(schedule_grid(kernel, kDevice).form == codegen::GridForm::Tile);
  const Gpu gpu(kFolder);
  Launcher one(gpu, {kernel});
  std::vector<int> x(kRows * kColumns), expected(x.size());
  for (int i = 0; i < kRows * kColumns; ++i) {
    x[static_cast<std::size_t>(i)] = i;
    expected[static_cast<std::size_t>(i % kColumns * kRows + i / kColumns)] = i;
  }
  const HostNumbers in(gpu, x), out(gpu, x.size());
  const DeviceMemory from(gpu, one.stream, in.bytes()), to(gpu, one.stream, out.bytes());
  require_success(upload(gpu, from, in, one.stream));
  one.blocks = 4;  // of six tiles
  require_success(one.launch("transpose", {from, to}, {}, kRows * kColumns));
  require_success(download(gpu, out, to, one.stream));
  require_success(gpu->stream_synchronize(one.stream));
  CHECK(out.all() == expected);
}

TEST_CASE("fake driver: launches by configuration") {
  const Gpu gpu(kFolder);
  const Launcher one(gpu, {last_point()});
  const HostNumbers out(gpu, 1);
  const DeviceMemory memory(gpu, one.stream, out.bytes());
  DeviceAddress operand = memory, call = one.call;
  std::int64_t points = 600;
  std::int32_t step = 0;
  void* parameters[] = {&operand, &points, &step, &call};
  LaunchAttribute attribute;
  attribute.id = LaunchAttributeId::Cooperative;
  LaunchConfiguration configuration{.grid = {2, 1, 1},
                                    .block = {256, 1, 1},
                                    .dynamic_shared_bytes = 0,
                                    .stream = one.stream,
                                    .attributes = &attribute,
                                    .attribute_count = 1};
  const FunctionHandle function = one.function("last_point");
  require_success(gpu->launch_kernel_ex(&configuration, function, parameters, nullptr));
  require_success(download(gpu, out, memory, one.stream));
  require_success(gpu->stream_synchronize(one.stream));
  CHECK(out[0] >= 0);
  attribute.id = static_cast<LaunchAttributeId>(4);
  CHECK(gpu->launch_kernel_ex(&configuration, function, parameters, nullptr) ==
        Status::InvalidValue);
}

TEST_CASE("fake driver: threads run in both orders by turns") {
  const Gpu gpu(kFolder);
  const Launcher one(gpu, {last_point()});
  const HostNumbers out(gpu, 1);
  const DeviceMemory memory(gpu, one.stream, out.bytes());
  std::vector<int> found;
  for (int i = 0; i < 2; ++i) {
    require_success(one.launch("last_point", {memory}, {}, 600));
    require_success(download(gpu, out, memory, one.stream));
    require_success(gpu->stream_synchronize(one.stream));
    found.push_back(out[0]);
  }
  // Thread 0 computes points 0, 256 and 512; thread 255 computes points 255 and 511.
  const bool is_ascending_first = found == std::vector<int>{511, 512};
  const bool is_descending_first = found == std::vector<int>{512, 511};
  CHECK((is_ascending_first || is_descending_first));
}

TEST_CASE("fake driver: a launch that does not fit the kernel or the device") {
  const Gpu gpu(kFolder);
  Launcher one(gpu, {last_point()});
  const DeviceMemory memory(gpu, one.stream, 4);
  SECTION("other threads than the schedule's") { one.threads = 128; }
  SECTION("no blocks") { one.blocks = 0; }
  SECTION("too many blocks") { one.blocks = 1u << 31; }
  CHECK(one.launch("last_point", {memory}, {}, 600) == Status::InvalidValue);
}

TEST_CASE("fake driver: operands that are not in live memory") {
  const Gpu gpu(kFolder);
  Launcher one(gpu, {addition()});
  const HostNumbers in(gpu, {1, 2, 3, 4});
  const DeviceMemory x(gpu, one.stream, in.bytes()), z(gpu, one.stream, in.bytes());
  require_success(upload(gpu, x, in, one.stream));
  std::vector<DeviceAddress> operands{x, x, z};
  std::int64_t size = 4, points = 4;
  Status expected = Status::IllegalAddress;
  SECTION("null") { operands[1] = 0; }
  SECTION("null without points") {
    operands[1] = 0;
    size = points = 0;
    expected = Status::Success;
  }
  SECTION("all of them live") { expected = Status::Success; }
  SECTION("one element too many") { size = points = 5; }
  SECTION("another thing's end") { operands[2] = z + 4; }
  SECTION("misaligned") {
    operands[2] = z + 2;
    expected = Status::MisalignedAddress;
  }
  SECTION("freed") {
    DeviceAddress freed = 0;
    require_success(gpu->mem_alloc_async(&freed, 16, one.stream));
    require_success(gpu->mem_free_async(freed, one.stream));
    operands[0] = freed;
  }
  require_success(one.launch("addition", operands, {size}, points));
  CHECK(gpu->stream_synchronize(one.stream) == expected);
}

TEST_CASE("fake driver: the call block has to be live, too") {
  const Gpu gpu(kFolder);
  Launcher one(gpu, {last_point()});
  const DeviceMemory memory(gpu, one.stream, 4);
  require_success(one.call.free());
  require_success(one.launch("last_point", {memory}, {}, 600));
  CHECK(gpu->stream_synchronize(one.stream) == Status::IllegalAddress);
}

TEST_CASE("fake driver: a bad index is recorded, and later steps write nothing") {
  const Gpu gpu(kFolder);
  Launcher one(gpu, {gather(), last_point()});
  const HostNumbers table(gpu, {10, 20}), at(gpu, {1, 7, 0}), out(gpu, 3), last(gpu, 1);
  const DeviceMemory table_memory(gpu, one.stream, table.bytes());
  const DeviceMemory at_memory(gpu, one.stream, at.bytes());
  const DeviceMemory out_memory(gpu, one.stream, out.bytes());
  const DeviceMemory last_memory(gpu, one.stream, last.bytes());
  require_success(upload(gpu, table_memory, table, one.stream));
  require_success(upload(gpu, at_memory, at, one.stream));
  one.step = 4;
  require_success(one.launch("gather", {table_memory, at_memory, out_memory}, {}, 3));
  one.step = 5;
  require_success(one.launch("last_point", {last_memory}, {}, 600));
  require_success(download(gpu, out, out_memory, one.stream));
  require_success(download(gpu, last, last_memory, one.stream));
  const CallBlock block = one.call_block();
  CHECK(out.all() == std::vector<int>{20, 0, 10});
  CHECK(last[0] == kPoisoned);
  CHECK(block.step == 4);
  CHECK(block.point == 1);
  CHECK(block.index == 7);
  CHECK(block.limit == 2);
}

TEST_CASE("fake driver: kernels of a library that is gone") {
  const Gpu gpu(kFolder);
  Launcher one(gpu, {last_point()});
  const DeviceMemory memory(gpu, one.stream, 4);
  KernelHandle kernel = nullptr;
  CHECK(gpu->library_get_kernel(&kernel, one.library, "other") == Status::NotFound);
  const FunctionHandle function = one.function("last_point");
  require_success(one.launch("last_point", {memory}, {}, 600));
  require_success(one.library.reset());
  int value = 0;
  CHECK(gpu->func_get_attribute(&value, FunctionAttribute::Registers, function) ==
        Status::InvalidHandle);
  CHECK(gpu->stream_synchronize(one.stream) == Status::IllegalInstruction);
}

TEST_CASE("fake driver: attributes of functions") {
  const Gpu gpu(kFolder);
  const Launcher one(gpu, {last_point()});
  const FunctionHandle function = one.function("last_point");
  const auto value_of = [&](FunctionAttribute attribute) {
    int value = -1;
    require_success(gpu->func_get_attribute(&value, attribute, function));
    return value;
  };
  CHECK(value_of(FunctionAttribute::MaxThreadsPerBlock) == 256);
  CHECK(value_of(FunctionAttribute::BinaryVersion) == 90);
  CHECK(value_of(FunctionAttribute::LocalBytes) == 0);
  const auto shared = FunctionAttribute::MaxDynamicSharedBytes;
  require_success(gpu->func_set_attribute(function, shared, 100000));
  CHECK(value_of(shared) == 100000);
  CHECK(gpu->func_set_attribute(function, shared, 300000) == Status::InvalidValue);
  CHECK(gpu->func_set_attribute(function, FunctionAttribute::Registers, 8) == Status::InvalidValue);
  int blocks = 0;
  require_success(gpu->max_active_blocks(&blocks, function, 256, 0));
  CHECK(blocks == 8);
  require_success(gpu->max_active_blocks(&blocks, function, 256, 100000));
  CHECK(blocks == 2);
  require_success(gpu->max_active_blocks(&blocks, function, 512, 0));
  CHECK(blocks == 0);
}
