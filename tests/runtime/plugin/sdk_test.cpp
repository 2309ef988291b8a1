// Tests the SDK's wrappers as C calls them: no exception leaves them for any arguments, and outputs
// do not change when they fail.
#include "tests/support/catch.h"

#include "backends/abi/kiln_backend_sdk.h"

#include <memory>
#include <set>
#include <type_traits>
#include <vector>

namespace {

using namespace kiln;
using namespace kiln::sdk;

struct Nothing final : sdk::Instance {
  std::vector<OpSupport> op_table() const override { return {}; }
  std::vector<Unsupported> check(Bytes) const override { throw std::runtime_error("no check"); }
  std::unique_ptr<Executable> compile(const CompileRequest&) override { throw std::bad_alloc(); }
};

std::unique_ptr<sdk::Instance> create(const Options&, const Host&) {
  return std::make_unique<Nothing>();
}
ProbeReport probe(const Options& options) {
  if (options.empty()) return {0, "nothing to probe", {"one", "two"}};
  throw Failure(KILN_CODE_INVALID_ARGUMENT, "no option '" + options[0].first + "'");
}

constexpr Plugin kNothing = {.name = "nothing",
                             .version = "0",
                             .build_id = "",
                             .features = KILN_FEATURE_FORK_SAFE,
                             .create = create,
                             .probe = probe};
constexpr Plugin kNamed = {
    .name = "named",
    .version = "0",
    .build_id = "",
    .features = 0,
    .create = create,
    .probe = probe,
    .option_names = [] { return std::vector<std::string_view>{"speed", "oil"}; }};
constexpr const kiln_backend_api& kApi = sdk::detail::kApi<kNothing>;

/// Code and message of an error, which is destroyed.
std::string told(kiln_error* error) {
  if (error == nullptr) return "ok";
  auto info = abi::fresh<kiln_error_info>();
  kApi.error_read(error, &info);
  const std::string result =
      std::to_string(info.code) + " " + std::string(abi::view_of(info.message));
  kApi.error_destroy(error);
  return result;
}

kiln_instance* make_instance() {
  static const auto host = abi::fresh<kiln_host_api>();
  auto args = abi::fresh<kiln_instance_args>();
  args.host = &host;
  kiln_instance* instance = nullptr;
  REQUIRE(told(kApi.instance_create(&args, &instance)) == "ok");
  return instance;
}

/// A struct with a tail that this version does not know.
template <class T>
struct Longer {
  T known = abi::fresh<T>();
  std::uint64_t tail = 0;
  Longer() { known.struct_size = sizeof(*this); }
};

}  // namespace

TEST_CASE("sdk: large buffers begin at different offsets in their pages") {
  for (const std::int64_t bytes : {std::int64_t{64} << 10, std::int64_t{9} << 20}) {
    const std::int64_t dims[] = {bytes / 4};
    std::set<std::uintptr_t> offsets;
    std::vector<std::unique_ptr<HostBuffer>> buffers;
    for (int i = 0; i < 8; ++i) {
      buffers.push_back(std::make_unique<HostBuffer>(KILN_DTYPE_FLOAT32, dims));
      const auto address = reinterpret_cast<std::uintptr_t>(buffers.back()->data());
      CHECK(address % 64 == 0);
      offsets.insert(address % 4096);
    }
    CHECK(offsets.size() == (abi::has_address_sanitizer() ? 1 : 8));
  }
  const std::int64_t none[] = {0};
  CHECK(HostBuffer(KILN_DTYPE_FLOAT32, none).bytes() == 0);
}

TEST_CASE("SDK: every entry of the table is noexcept or null", "[plugin]") {
  STATIC_REQUIRE(noexcept(sdk::detail::instance_create<kNothing>(nullptr, nullptr)));
  STATIC_REQUIRE(noexcept(sdk::detail::compile(nullptr, nullptr, nullptr)));
  STATIC_REQUIRE(noexcept(sdk::detail::execute(nullptr, nullptr, nullptr)));
  STATIC_REQUIRE(noexcept(sdk::detail::buffer_copy_to_host(nullptr, nullptr, 0, nullptr)));
  STATIC_REQUIRE(noexcept(sdk::detail::event_wait(nullptr, 0, nullptr)));
  STATIC_REQUIRE(noexcept(sdk::detail::answer_query<kNothing>(nullptr, nullptr)));
}

TEST_CASE("SDK: a plugin returns the names of its options", "[plugin]") {
  const kiln_string wanted = abi::string_of(KILN_PROC_OPTION_NAMES);
  CHECK(kApi.get_proc(wanted) == nullptr);
  const kiln_proc proc = sdk::detail::kApi<kNamed>.get_proc(wanted);
  REQUIRE(proc != nullptr);
  const auto list = reinterpret_cast<kiln_option_names_v1_fn>(proc);
  std::string names;
  const auto add = [](void* context, kiln_string name) {
    *static_cast<std::string*>(context) += std::string(abi::view_of(name)) + " ";
  };
  CHECK(told(list(add, &names)) == "ok");
  CHECK(names == "speed oil ");
  CHECK(told(list(nullptr, nullptr)) == "3 on_option is null");
}

TEST_CASE("SDK: null arguments are errors, destroying null does nothing", "[plugin]") {
  kiln_instance* instance = make_instance();
  kiln_buffer* buffer = nullptr;
  kiln_executable* executable = nullptr;
  kiln_event* event = nullptr;
  kiln_array ops{};
  std::uint64_t size = 77;
  std::uint32_t done = 77;
  CHECK(told(kApi.instance_create(nullptr, &instance)) == "3 kiln_instance_args is null");
  CHECK(told(kApi.instance_shutdown(nullptr)) == "3 instance handle is null");
  CHECK(told(kApi.op_table(nullptr, &ops)) == "3 instance handle is null");
  CHECK(told(kApi.op_table(instance, nullptr)) == "3 ops is null");
  CHECK(told(kApi.check(instance, nullptr)) == "3 kiln_check_args is null");
  CHECK(told(kApi.compile(instance, nullptr, &executable)) == "3 kiln_compile_args is null");
  CHECK(told(kApi.executable_info(nullptr, nullptr)) == "3 executable handle is null");
  CHECK(told(kApi.buffer_allocate(instance, nullptr, &buffer)) == "3 kiln_buffer_spec is null");
  CHECK(told(kApi.buffer_import_host(instance, nullptr, &buffer)) == "3 kiln_import_args is null");
  CHECK(told(kApi.buffer_copy_to_host(nullptr, nullptr, 0, &size)) == "3 buffer handle is null");
  CHECK(told(kApi.buffer_info(nullptr, nullptr)) == "3 buffer handle is null");
  CHECK(told(kApi.execute(nullptr, nullptr, &event)) == "3 executable handle is null");
  CHECK(told(kApi.event_wait(nullptr, 0, &done)) == "3 event handle is null");
  CHECK(size == 77);
  CHECK(done == 77);
  CHECK(buffer == nullptr);
  kApi.error_destroy(nullptr);
  kApi.instance_destroy(nullptr);
  kApi.executable_destroy(nullptr);
  kApi.buffer_destroy(nullptr);
  kApi.event_destroy(nullptr);
  kApi.instance_destroy(instance);
}

TEST_CASE("SDK: exceptions of a backend become errors with their text", "[plugin]") {
  kiln_instance* instance = make_instance();
  auto check = abi::fresh<kiln_check_args>();
  check.on_unsupported = [](void*, const kiln_unsupported*) {};
  CHECK(told(kApi.check(instance, &check)) == "13 no check");
  const auto compile = abi::fresh<kiln_compile_args>();
  kiln_executable* executable = nullptr;
  CHECK(told(kApi.compile(instance, &compile, &executable)) == "8 out of memory");
  CHECK(executable == nullptr);
  kApi.instance_destroy(instance);
}

TEST_CASE("SDK: the error for lack of memory allocates nothing", "[plugin]") {
  kiln_error* error = sdk::detail::out_of_memory_error();
  CHECK(told(error) == "8 out of memory");
  CHECK(told(error) == "8 out of memory");
}

TEST_CASE("SDK: short structs read as zero at the end, long ones must be zero there", "[plugin]") {
  kiln_instance* instance = make_instance();
  kiln_buffer* buffer = nullptr;
  Longer<kiln_buffer_spec> spec;
  spec.known.dtype = KILN_DTYPE_FLOAT32;
  CHECK(told(kApi.buffer_allocate(instance, &spec.known, &buffer)) == "ok");
  kApi.buffer_destroy(buffer);
  spec.tail = 1;
  CHECK(told(kApi.buffer_allocate(instance, &spec.known, &buffer)) ==
        "3 kiln_buffer_spec sets a field at byte 40 that this version does not know");

  auto brief = abi::fresh<kiln_buffer_spec>();
  brief.struct_size = offsetof(kiln_buffer_spec, dtype);
  brief.dtype = KILN_DTYPE_FLOAT64;  // beyond its size, so ignored
  CHECK(told(kApi.buffer_allocate(instance, &brief, &buffer)) == "ok");
  auto info = abi::fresh<kiln_buffer_info>();
  CHECK(told(kApi.buffer_info(buffer, &info)) == "ok");
  CHECK(info.dtype == KILN_DTYPE_BOOL);
  CHECK(info.size == 1);

  auto narrow = abi::fresh<kiln_buffer_info>();
  narrow.struct_size = offsetof(kiln_buffer_info, size);
  narrow.size = 99;
  CHECK(told(kApi.buffer_info(buffer, &narrow)) == "ok");
  CHECK(narrow.size == 99);
  CHECK(narrow.struct_size == offsetof(kiln_buffer_info, size));
  narrow.struct_size = 3;
  CHECK(told(kApi.buffer_info(buffer, &narrow)) == "3 no room for the result");
  brief.struct_size = 8;
  CHECK(told(kApi.buffer_allocate(instance, &brief, &buffer)) ==
        "3 kiln_buffer_spec has struct_size 8");
  kApi.buffer_destroy(buffer);
  kApi.instance_destroy(instance);
}

TEST_CASE("SDK: unknown extensions are skipped unless they must be understood", "[plugin]") {
  kiln_instance* instance = make_instance();
  auto extension = abi::fresh<kiln_ext>();
  extension.type_id = 99;
  auto spec = abi::fresh<kiln_buffer_spec>();
  spec.next = &extension;
  kiln_buffer* buffer = nullptr;
  CHECK(told(kApi.buffer_allocate(instance, &spec, &buffer)) == "ok");
  kApi.buffer_destroy(buffer);
  extension.must_understand = 1;
  CHECK(told(kApi.buffer_allocate(instance, &spec, &buffer)) ==
        "3 unknown extension 99 that must be understood");
  kApi.instance_destroy(instance);
}

TEST_CASE("SDK: arrays may have larger elements than this side knows", "[plugin]") {
  Longer<kiln_option> options[2];
  options[0].known.key = abi::string_of("speed");
  options[1].known.key = abi::string_of("oil");
  const kiln_array array{options, 2, sizeof(options[0])};
  const Options read = sdk::detail::read_options(array);
  REQUIRE(read.size() == 2);
  CHECK(read[1].first == "oil");
  CHECK_THROWS_AS(sdk::detail::read_options({nullptr, 1, sizeof(kiln_option)}), abi::BrokenStruct);
  CHECK_THROWS_AS(sdk::detail::read_options({options, 1, 8}), abi::BrokenStruct);
}

TEST_CASE("SDK: dtypes and import semantics outside the tables are errors", "[plugin]") {
  kiln_instance* instance = make_instance();
  kiln_buffer* buffer = nullptr;
  auto spec = abi::fresh<kiln_buffer_spec>();
  spec.dtype = 13;
  CHECK(told(kApi.buffer_allocate(instance, &spec, &buffer)) == "3 element type 13 is not known");
  spec.dtype = 0;
  spec.dims.rank = 2;
  CHECK(told(kApi.buffer_allocate(instance, &spec, &buffer)) == "3 dims are null");
  auto import = abi::fresh<kiln_import_args>();
  import.semantics = KILN_IMPORT_MUTABLE + 1;
  CHECK(told(kApi.buffer_import_host(instance, &import, &buffer)) ==
        "12 import semantics 3 are not known");
  kApi.instance_destroy(instance);
}

TEST_CASE("SDK: a probe reports through callbacks, and fails as an error", "[plugin]") {
  struct Heard {
    std::string reason;
    int details = 0;
  } heard;
  auto args = abi::fresh<kiln_probe_args>();
  args.text_context = &heard;
  args.on_reason = [](void* context, kiln_string text) {
    static_cast<Heard*>(context)->reason = abi::view_of(text);
  };
  args.on_detail = [](void* context, kiln_string) { ++static_cast<Heard*>(context)->details; };
  auto result = abi::fresh<kiln_probe_result>();
  result.score = 9;
  CHECK(told(kApi.probe(&args, &result)) == "ok");
  CHECK(result.score == 0);
  CHECK(heard.reason == "nothing to probe");
  CHECK(heard.details == 2);
  const kiln_option option = sdk::detail::option("speed", "high");
  args.options = abi::array_of(std::span<const kiln_option>(&option, 1));
  CHECK(told(kApi.probe(&args, &result)) == "3 no option 'speed'");
}

TEST_CASE("SDK: the entry rejects hosts that it does not understand", "[plugin]") {
  const kiln_backend_header* header = nullptr;
  auto host = abi::fresh<kiln_host_info>();
  CHECK(sdk::detail::answer_query<kNothing>(&host, &header) == KILN_CODE_INVALID_ARGUMENT);
  CHECK(sdk::detail::answer_query<kNothing>(nullptr, &header) == KILN_CODE_INVALID_ARGUMENT);
  host.magic = KILN_HOST_MAGIC;
  CHECK(sdk::detail::answer_query<kNothing>(&host, nullptr) == KILN_CODE_INVALID_ARGUMENT);
  auto extension = abi::fresh<kiln_ext>();
  extension.must_understand = 1;
  host.next = &extension;
  char reason[12] = "";
  host.reason = reason;
  host.reason_capacity = sizeof(reason);
  CHECK(sdk::detail::answer_query<kNothing>(&host, &header) == KILN_CODE_UNIMPLEMENTED);
  CHECK(std::string(reason) == "the host de");
  CHECK(header == nullptr);
  host.next = nullptr;
  CHECK(sdk::detail::answer_query<kNothing>(&host, &header) == KILN_CODE_OK);
  REQUIRE(header != nullptr);
  CHECK(abi::view_of(header->name) == "nothing");
  CHECK(header->features == KILN_FEATURE_FORK_SAFE);
  CHECK(header->required_api_size == sizeof(kiln_backend_api));
}

namespace {

/// Violates the ABI: compiles to null.
struct Empty final : sdk::Instance {
  std::vector<OpSupport> op_table() const override { return {}; }
  std::vector<Unsupported> check(Bytes) const override { return {}; }
  std::unique_ptr<Executable> compile(const CompileRequest&) override { return nullptr; }
};

std::unique_ptr<sdk::Instance> create_empty(const Options&, const Host&) {
  return std::make_unique<Empty>();
}
std::unique_ptr<sdk::Instance> create_none(const Options&, const Host&) { return nullptr; }

constexpr Plugin kEmpty = {.name = "empty", .version = "0", .build_id = "", .create = create_empty};
constexpr Plugin kNone = {.name = "none", .version = "0", .build_id = "", .create = create_none};
constexpr Plugin kLacking = {.name = "lacking", .version = "0", .build_id = ""};

std::string created(const kiln_backend_api& api, kiln_instance*& instance) {
  static const auto host = abi::fresh<kiln_host_api>();
  auto args = abi::fresh<kiln_instance_args>();
  args.host = &host;
  return told(api.instance_create(&args, &instance));
}

struct NeverOver final : Event {
  bool wait(std::uint64_t) override { return false; }
};

struct NeverEnding final : Executable {
  std::unique_ptr<Event> execute(const Call&) const override {
    return std::make_unique<NeverOver>();
  }
};

}  // namespace

TEST_CASE("SDK: plugins that create nothing fail with a message", "[plugin]") {
  kiln_instance* instance = nullptr;
  CHECK(created(sdk::detail::kApi<kLacking>, instance) ==
        "13 the plugin has no function that creates an instance");
  CHECK(created(sdk::detail::kApi<kNone>, instance) == "13 no instance was created");
  CHECK(instance == nullptr);
  REQUIRE(created(sdk::detail::kApi<kEmpty>, instance) == "ok");
  const auto args = abi::fresh<kiln_compile_args>();
  kiln_executable* executable = nullptr;
  CHECK(told(kApi.compile(instance, &args, &executable)) == "13 no executable was compiled");
  CHECK(executable == nullptr);
  kApi.instance_destroy(instance);
}

TEST_CASE("SDK: a chain of causes has a bounded length", "[plugin]") {
  Failure failure(KILN_CODE_INTERNAL, "the root");
  for (int i = 0; i < 200000; ++i) {
    Failure next(KILN_CODE_INTERNAL, "level " + std::to_string(i));
    failure = next.caused_by(failure);
  }
  kiln_error* const error = sdk::detail::to_error(failure);
  int causes = 0;
  std::string last;
  for (const kiln_error* one = error; one != nullptr; ++causes) {
    auto info = abi::fresh<kiln_error_info>();
    kApi.error_read(one, &info);
    last = abi::view_of(info.message);
    one = info.cause;
  }
  CHECK(told(error) == "13 level 199999");
  CHECK(causes == Failure::kMaxCauses + 1);
  CHECK(last == "the root");
}

TEST_CASE("SDK: a frame does not wait for ever", "[plugin]") {
  const auto io = abi::fresh<kiln_frame_io>();
  const NeverEnding program;
  HostFrame frame(program, FrameIo(io));
  CHECK_THROWS_AS(frame.run(), Failure);
}
