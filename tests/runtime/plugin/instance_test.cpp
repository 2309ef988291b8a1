// Tests the plugin boundary with a working backend: capabilities, programs, buffers, results and
// errors.
#include "tests/support/catch.h"

#include "backends/abi/kiln_backend_structs.h"
#include "tests/runtime/plugin/fakes.h"

#include <array>
#include <atomic>
#include <thread>

using namespace kiln;
using namespace kiln::runtime;

namespace {

constexpr std::string_view kAdd = "inputs 2\noutputs 1\nnode 1 add\n";
constexpr std::string_view kCount = "inputs 1\nstates 1\noutputs 1\nupdates 1\nnode 1 add\n";

std::string tail() { return text(" (backend adder, ", fake_path("adder"), ")"); }

/// Runs a program without states on those inputs.
std::vector<float> run(const Executable& program, const std::vector<const Buffer*>& inputs,
                       Event* event = nullptr) {
  Buffer output;
  ExecuteCall call;
  call.inputs = inputs;
  call.outputs = std::span(&output, 1);
  call.label = "train";
  Event pending = program.execute(call);
  if (event != nullptr) *event = std::move(pending);
  return values_of(output);
}

}  // namespace

TEST_CASE("instance: one per backend serves the process", "[plugin]") {
  CHECK(adder() == adder());
  CHECK(backend_instance(adder()->plugin().path) == adder());
  CHECK(adder()->name() == "adder");
}

TEST_CASE("instance: lists its ops", "[plugin]") {
  const std::vector<OpSupport> ops = adder()->op_table();
  REQUIRE(ops.size() == 14);
  CHECK(ops[0].name == "add");
  CHECK(ops[0].version_lowest == 1);
  CHECK(ops[0].version_highest == 1);
  CHECK(ops[0].dtypes == 1u << KILN_DTYPE_FLOAT32);
}

TEST_CASE("probe: returns score and details", "[plugin]") {
  const ProbeReport report = probe(adder()->plugin());
  CHECK(report.score == 50);
  CHECK(report.reason.empty());
  CHECK(report.details == std::vector<std::string>{"it can add"});
}

TEST_CASE("instance: ops that it lacks are named before compiling", "[plugin]") {
  const std::string_view module = "inputs 1\noutputs 1\nnode 1 add\nnode 2 fft\nnode 3 conv\n";
  const std::vector<Unsupported> lacking = adder()->check(bytes_of_text(module));
  REQUIRE(lacking.size() == 2);
  CHECK(lacking[0].node == 2);
  CHECK(lacking[0].op == "fft");
  CHECK(lacking[0].reason == "adders only add");
  CHECK(lacking[0].location == "model.cpp:7");
  CHECK(error_text<NotImplementedError>([&] { compile_text(adder(), module); }) ==
        "function: backend adder cannot run fft (adders only add) at model.cpp:7; "
        "conv (adders only add) at model.cpp:7");
  CHECK(compile_text(adder(), kAdd).info().inputs == 2);

  std::string many = "inputs 1\noutputs 1\n";
  for (int i = 0; i < 7; ++i) many += text("node ", i, " fft\n");
  CHECK_THAT(error_text<NotImplementedError>([&] { compile_text(adder(), many); }),
             Catch::Matchers::EndsWith("; and 2 more"));
}

TEST_CASE("executable: returns its counts and messages", "[plugin]") {
  const ExecutableInfo info = compile_text(adder(), kCount).info();
  CHECK(info.inputs == 1);
  CHECK(info.states == 1);
  CHECK(info.outputs == 1);
  CHECK(info.updates == 1);
  REQUIRE(info.messages.size() == 1);
  CHECK(info.messages[0].first == KILN_LOG_INFO);
  CHECK(info.messages[0].second == "compiled program");
}

TEST_CASE("instance: errors of compiling and of options keep their kind", "[plugin]") {
  CHECK(error_text<ValueError>([] { compile_text(adder(), "wheels 4\n"); }) ==
        text("function: module says 'wheels'", tail()));
  CompileRequest request;
  request.module = bytes_of_text(kAdd);
  request.options = {{"speed", "high"}};
  request.function = "function";
  CHECK(error_text<ValueError>([&] { adder()->compile(request); }) ==
        text("function: no option 'speed'", tail()));
  CHECK(error_text<ValueError>([] { Instance::create(adder()->plugin(), {{"oil", "yes"}}); }) ==
        text("no option 'oil'", tail()));
}

TEST_CASE("buffers: they have dtype, dims and bytes", "[plugin]") {
  const std::int64_t dims[] = {2, 3};
  const std::int32_t values[] = {1, 2, 3, 4, 5, 6};
  const Buffer copy = adder()->import_copy(values, DType::Int32, dims);
  CHECK(copy.dtype() == DType::Int32);
  CHECK(copy.dims() == std::vector<std::int64_t>{2, 3});
  CHECK(copy.bytes() == 24);
  CHECK(copy.host_data() != values);
  std::array<std::int32_t, 6> back{};
  copy.copy_to_host(std::as_writable_bytes(std::span(back)));
  CHECK(std::equal(back.begin(), back.end(), values));

  const Buffer borrowed = adder()->import_immutable(values, DType::Int32, dims);
  CHECK(borrowed.host_data() == values);

  std::int32_t lent[] = {1, 2, 3, 4, 5, 6};
  CHECK(adder()->import_mutable(lent, DType::Int32, dims).host_data() == lent);

  const Buffer fresh = adder()->allocate(DType::Float16, dims);
  CHECK(fresh.dtype() == DType::Float16);
  CHECK(fresh.bytes() == 12);

  const Buffer scalar = adder()->import_copy(values, DType::Int32, {});
  CHECK(scalar.dims().empty());
  CHECK(scalar.bytes() == 4);
}

TEST_CASE("buffers: empty ones are ordinary", "[plugin]") {
  const std::int64_t dims[] = {0, 3};
  const Buffer empty = adder()->import_copy(nullptr, DType::Float32, dims);
  CHECK(empty.bytes() == 0);
  CHECK(empty.dims() == std::vector<std::int64_t>{0, 3});
  empty.copy_to_host({});
  CHECK(values_of(empty).empty());
}

TEST_CASE("buffers: an impossible one is rejected", "[plugin]") {
  const std::int64_t negative[] = {2, -1};
  CHECK(error_text<ValueError>([&] { adder()->allocate(DType::Float32, negative); }) ==
        text("dim -1 is negative", tail()));
  const std::int64_t huge[] = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  CHECK(error_text<OutOfMemory>([&] { adder()->allocate(DType::Float32, huge); }) ==
        text("a tensor of more than 2^63 bytes", tail()));
  const std::int64_t large[] = {std::int64_t{1} << 58};
  if (abi::this_sanitizer() == KILN_SANITIZER_NONE) {  // their allocators end the process instead
    CHECK(error_text<OutOfMemory>([&] { adder()->allocate(DType::Float32, large); }) ==
          text("cannot allocate 1152921504606846976 bytes for a tensor", tail()));
  }
  const Buffer three = floats(adder(), {1, 2, 3});
  std::array<std::byte, 8> small{};
  CHECK(error_text<ValueError>([&] { three.copy_to_host(small); }) ==
        text("buffer holds 12 bytes but the destination 8", tail()));
  CHECK(values_of(three) == std::vector<float>{1, 2, 3});
}

TEST_CASE("buffers: they move, and keep their backend alive", "[plugin]") {
  Buffer outlives;
  {
    const InstancePtr own = Instance::create(adder()->plugin());
    Buffer first = floats(own, {4});
    outlives = std::move(first);
    CHECK_FALSE(first);
  }
  CHECK(values_of(outlives) == std::vector<float>{4});
  outlives.reset();
  CHECK_FALSE(outlives);
  CHECK(error_text<InternalError>([&] { outlives.dims(); }) == "an empty buffer was queried");
}

TEST_CASE("executable: runs, with constants outside of the module", "[plugin]") {
  const float bias = 100;
  const Executable program =
      compile_text(adder(), kAdd, {std::as_bytes(std::span<const float>(&bias, 1))});
  const Buffer a = floats(adder(), {1, 2}), b = floats(adder(), {10, 20});
  CHECK(run(program, {&a, &b}) == std::vector<float>{111, 122});
}

TEST_CASE("executable: writes results to the caller's buffers", "[plugin]") {
  const Executable program = compile_text(adder(), kAdd);
  const Buffer a = floats(adder(), {1, 2}), b = floats(adder(), {10, 20});
  Buffer output = floats(adder(), {0, 0});
  const kiln_buffer* handle = output.handle();
  const std::vector<const Buffer*> inputs{&a, &b};
  ExecuteCall call;
  call.inputs = inputs;
  call.outputs = std::span(&output, 1);
  program.execute(call);
  CHECK(output.handle() == handle);
  CHECK(values_of(output) == std::vector<float>{11, 22});
}

TEST_CASE("executable: updates are computed from the state before the call", "[plugin]") {
  const Executable program = compile_text(adder(), kCount);
  const Buffer step = floats(adder(), {1, 2});
  Buffer state = floats(adder(), {5, 5});
  const std::vector<const Buffer*> inputs{&step};
  for (const float expected : {6.0f, 7.0f}) {
    const StateInput given{&state, true};
    Buffer output, next;
    ExecuteCall call;
    call.inputs = inputs;
    call.states = std::span(&given, 1);
    call.outputs = std::span(&output, 1);
    call.updates = std::span(&next, 1);
    program.execute(call);
    CHECK(values_of(output)[0] == expected);
    CHECK(values_of(next)[0] == expected);
    state = std::move(next);
  }
}

TEST_CASE("errors: all fields cross the boundary", "[plugin]") {
  const Executable program = compile_text(adder(), "inputs 1\noutputs 1\nnode 1 fail\n");
  const Buffer input = floats(adder(), {1});
  CHECK(error_text<BackendError>([&] { run(program, {&input}); }) ==
        text("train: the adder is jammed; at model.cpp:12; node 7, 9; GEARS error -3; teeth = 32; "
             "the same call may succeed later; caused by: a tooth is missing",
             tail()));
  CHECK(values_of(input) == std::vector<float>{1});
  const Executable sound = compile_text(adder(), "inputs 1\noutputs 1\nnode 1 add\n");
  CHECK(run(sound, {&input}) == std::vector<float>{1});
}

TEST_CASE("errors: exceptions of any type become errors", "[plugin]") {
  const auto error_of = [](const char* op) {
    const Executable program =
        compile_text(adder(), text("inputs 1\noutputs 1\nnode 1 ", op, "\n"));
    const Buffer input = floats(adder(), {1});
    return error_text<Error>([&] { run(program, {&input}); });
  };
  CHECK(error_of("fail_unknown") == text("train: an exception of unknown type", tail()));
  CHECK(error_of("fail_empty") == text("train: an exception without a text", tail()));
  CHECK(error_of("fail_length") ==
        text("train: out of memory: more elements than a container can hold", tail()));
}

TEST_CASE("executable: a failed call leaves its results empty", "[plugin]") {
  const Executable program =
      compile_text(adder(), "inputs 1\nstates 1\noutputs 1\nupdates 1\nnode 1 forget\n");
  const Buffer input = floats(adder(), {1}), state = floats(adder(), {2});
  const std::vector<const Buffer*> inputs{&input};
  const StateInput given{&state, false};
  Buffer output, next;
  ExecuteCall call;
  call.inputs = inputs;
  call.states = std::span(&given, 1);
  call.outputs = std::span(&output, 1);
  call.updates = std::span(&next, 1);
  CHECK(error_text<BackendError>([&] { program.execute(call); }) ==
        text("output 0 was not computed", tail()));
  CHECK_FALSE(output);
  CHECK_FALSE(next);
  CHECK(values_of(state) == std::vector<float>{2});
  call.inputs = {};
  CHECK(error_text<ValueError>([&] { program.execute(call); }) ==
        "the program has 1 inputs but got 0");
}

TEST_CASE("frames: a backend may have none, and rejects frames of other counts", "[plugin]") {
  const Executable program = compile_text(adder(), "inputs 1\noutputs 1\n");
  const auto view = abi::fresh<kiln_view>();
  auto io = abi::fresh<kiln_frame_io>();
  CHECK(error_text<ValueError>([&] { program.make_frame(io); }) ==
        text("the program has 1 inputs but got 0", tail()));
  io.inputs = io.outputs = abi::array_of(std::span(&view, 1));
  CHECK_FALSE(program.make_frame(io));
  io.struct_size -= sizeof(kiln_string);
  CHECK(error_text<ValueError>([&] { program.make_frame(io); }) ==
        text("kiln_frame_io is shorter than in this version of the ABI", tail()));
}

TEST_CASE("executable: buffers of another instance are rejected", "[plugin]") {
  const Executable program = compile_text(adder(), "inputs 1\noutputs 1\n");
  const Buffer elsewhere = floats(Instance::create(adder()->plugin()), {1});
  CHECK(error_text<InternalError>([&] { run(program, {&elsewhere}); }) ==
        "an input belongs to another backend than adder");
}

TEST_CASE("events: unfinished work is waited for, and may fail later", "[plugin]") {
  const Buffer input = floats(adder(), {3});
  Event event;
  run(compile_text(adder(), "inputs 1\noutputs 1\nnode 1 add\n"), {&input}, &event);
  CHECK_FALSE(event.pending());
  event.wait();

  run(compile_text(adder(), "inputs 1\noutputs 1\nnode 1 later\n"), {&input}, &event);
  CHECK(event.pending());
  CHECK_FALSE(event.wait_for(1));
  CHECK(event.wait_for(1));
  event.wait();

  run(compile_text(adder(), "inputs 1\noutputs 1\nnode 1 later_fail\n"), {&input}, &event);
  CHECK(error_text<BackendError>([&] { event.wait(); }) == text("the device went away", tail()));
}

TEST_CASE("instance: threads share instances, executables and buffers", "[plugin][concurrency]") {
  const std::string path = fake_path("adder");
  const Executable shared = compile_text(adder(), kAdd);
  const Buffer a = floats(adder(), {1, 2}), b = floats(adder(), {10, 20});
  std::atomic<int> wrong{0};
  std::vector<std::thread> users;
  for (int t = 0; t < 8; ++t) {
    users.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        const InstancePtr instance = backend_instance(path);
        const Executable own = compile_text(instance, kAdd);
        if (instance != adder()) ++wrong;
        if (run(shared, {&a, &b}) != std::vector<float>{11, 22}) ++wrong;
        if (run(own, {&b, &a}) != std::vector<float>{11, 22}) ++wrong;
      }
    });
  }
  for (std::thread& user : users) user.join();
  CHECK(wrong == 0);
}

TEST_CASE("instance: a plugin with only the required entries gets fallbacks", "[plugin]") {
  const InstancePtr minimal = backend_instance(fake_path("minimal"));
  CHECK(probe(minimal->plugin()).score == 1);
  CHECK(minimal->op_table().empty());
  CHECK(minimal->check(bytes_of_text("anything")).empty());
  CHECK(minimal->api().get_proc({"faster_v1", 9}) == nullptr);
  CHECK(minimal->api().instance_shutdown(nullptr) == nullptr);
  const std::string where = text(" (backend minimal, ", fake_path("minimal"), ")");
  CHECK(error_text<NotImplementedError>([&] { compile_text(minimal, "anything"); }) ==
        text("function: minimal cannot do that", where));
  CHECK(error_text<BackendError>([&] { minimal->allocate(DType::Float32, {}); }) ==
        text("buffer_allocate violated the plugin ABI: succeeded without a buffer", where));
}
